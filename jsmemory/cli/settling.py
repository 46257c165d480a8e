"""What a cluster on this machine has been told once, and keeps: its bucket and its ports."""

import errno
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from jsmemory.cli.exits import SetupRefused
from jsmemory.cli.nodes import NODES, Place, drawn_places, places_from

FILE: Final = "local.json"
CUSTOMARY_PORT: Final = 4222


@dataclass(frozen=True, slots=True)
class Settled:
    """
    What is told once.

    Attributes:
        bucket: The bucket that the cluster is for.
        places: Where the nodes listen, in their order.
    """

    bucket: str
    places: tuple[Place, ...]

    def keep(self, folder: Path) -> None:
        """Put it down in the folder of the cluster."""
        (folder / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(self)) + b"\n")


def settle(folder: Path, *, bucket: str | None, port: int | None, default: str) -> Settled:
    """
    What holds now: what is told, else what was told before, else what is customary.

    Args:
        folder: Of the cluster; it need not be there.
        bucket: What is told, if anything is.
        port: Where clients connect to the first node, if it is told; 0 draws free ports for all.
        default: The bucket where none was ever told.

    Raises:
        SetupRefused: what was put down cannot be read.
    """
    held = _recall(folder)
    if port is not None:
        places = tuple(places_from(port) if port else drawn_places())
    else:
        places = held.places if held else tuple(places_from(CUSTOMARY_PORT))
    return Settled(bucket or (held.bucket if held else default), places)


def _recall(folder: Path) -> Settled | None:
    file = folder / FILE
    try:
        held = msgspec.json.decode(file.read_bytes(), type=Settled)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as refusal:
        if refusal.errno == errno.ENAMETOOLONG:
            # Whoever makes the folder is told that it cannot be.
            return None
        held = None
    except msgspec.DecodeError:
        held = None
    if held is None or len(held.places) != NODES:
        raise SetupRefused(f"The file {file} cannot be read. Remove it, and name --bucket and --port again.")
    return held
