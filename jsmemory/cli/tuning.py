"""What ``jsmemory bench`` can be told: what is taken where nothing is, and what each option is about."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from jsmemory import MAX_CONTENT_BYTES, MAX_ENTRIES
from jsmemory.cli.exits import UsageRefused


class Replicas(StrEnum):
    """How many servers hold a bucket."""

    ONE = "1"
    THREE = "3"
    FIVE = "5"


class Mode(StrEnum):
    """What is measured; each value says when in words."""

    OPERATIONS = "without --scale and --throughput"
    SCALE = "with --scale"
    THROUGHPUT = "with --throughput"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """
    The options, as they are where they are left out.

    Attributes:
        rounds: How often each call is timed.
        size: Bytes of a content.
        entries: How many entries are listed, and copied.
        entry_size: Bytes of the content of each.
        sizes: Entries of the buckets, with commas between.
        runs: In one process, with commas between.
        processes: Of 64 runs, with commas between.
        seconds: For how long each load is measured.
        replicas: Of the buckets.
        durable: Whether the servers sync before they acknowledge.
    """

    rounds: int = 1000
    size: int = 4096
    entries: int = MAX_ENTRIES
    entry_size: int = MAX_CONTENT_BYTES
    sizes: str = "1000,100000,1000000"
    runs: str = "1,8,64,512"
    processes: str = "1,2,4,8"
    seconds: float = 10.0
    replicas: Replicas = Replicas.ONE
    durable: bool = False


USUAL: Final = Tuning()

_ABOUT: Final[Mapping[str, Collection[Mode]]] = MappingProxyType(
    {
        "rounds": (Mode.OPERATIONS, Mode.SCALE),
        "size": (Mode.OPERATIONS, Mode.THROUGHPUT),
        "entries": (Mode.OPERATIONS,),
        "entry_size": (Mode.OPERATIONS,),
        "sizes": (Mode.SCALE,),
        "runs": (Mode.THROUGHPUT,),
        "processes": (Mode.THROUGHPUT,),
        "seconds": (Mode.THROUGHPUT,),
        "replicas": (Mode.SCALE, Mode.THROUGHPUT),
        "durable": (Mode.SCALE, Mode.THROUGHPUT),
    }
)


def tuned(modes: Collection[Mode], **given: Any) -> Tuning:
    """
    Take the options that were given.

    An option that is left aside silently lets people believe in what it says.

    Args:
        modes: What is to be measured.
        given: The options by their names in `Tuning`; None where nothing was given.

    Raises:
        UsageRefused: one is about nothing of what is to be measured.
    """
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in chosen:
        if not set(_ABOUT[name]) & set(modes):
            flag = f"--{name.replace('_', '-')}"
            raise UsageRefused(
                f"{flag} counts {', or '.join(_ABOUT[name])}, and so for nothing here. Leave out {flag}."
            )
    return Tuning(**chosen)
