"""``jsmemory compact``: remove what is left of keys that were deleted some time ago."""

import re
from typing import Annotated, Any, Final

import typer

import jsmemory
from jsmemory import Compaction
from jsmemory.cli import screen
from jsmemory.cli.choosing import CONNECT_S, FILE, Chosen, check, choose
from jsmemory.cli.exits import UsageRefused
from jsmemory.cli.options import Choice, takes
from jsmemory.cli.progressing import Progressed, go_through

EXAMPLES: Final = (
    "jsmemory compact --bucket team",
    "jsmemory compact --bucket team --prefix alice --older-than 7d --dry-run",
    "jsmemory compact --bucket team --limit 100000 --at-most 60 --json",
)

_AGE: Final = re.compile(r"(?:(\d+(?:\.\d+)?)([smhdw]))+")
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


@takes(
    "backend",
    "bucket",
    "prefix",
    "directory",
    "config",
    "context",
    "server",
    "as_json",
    why="It removes what is left of deleted keys, whosesoever they were.",
)
def compact(
    choice: Choice,
    older_than: Annotated[
        str, typer.Option(metavar="AGE", help="How old it must be: 90s, 30m, 12h, 7d, or 1h30m.")
    ] = "30m",
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="How many markers to remove at most.")] = None,
    at_most: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.1, help="Seconds after which no further one is removed.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count only, and tell what would be removed.")] = False,
) -> None:
    """
    Remove the markers that deletes have left in a bucket, or in one --prefix of it; never a value.

    A marker takes a message of the bucket, and every listing passes it by. What was deleted
    just now is still needed, and stays: see --older-than. The bucket may be in use meanwhile.
    Stopped at any point, it leaves the bucket whole, and goes on when it is run again.

    An operator's act: it takes the right to purge the bucket (STREAM.PURGE), which no worker
    has. Files keep no markers.
    """
    chosen = choose(choice)
    seconds = seconds_of(older_than)
    if chosen.configuration.read_only and not dry_run:
        raise UsageRefused("The configuration is for reading only. Name another (--config FILE), or add --dry-run.")
    if not chosen.is_jetstream:
        _tell_of_files(chosen, as_json=choice.as_json)
        return
    check(chosen, choice)
    options = chosen.configuration.options
    reached = Compaction()

    async def work(on_progress: Progressed) -> Compaction:
        def show(compaction: Compaction) -> None:
            nonlocal reached
            reached = compaction
            on_progress(compaction.seen, compaction.total)

        async with jsmemory.connect(
            choice.context, choice.server, name="jsmemory compact", first_connect_timeout=CONNECT_S
        ) as nats:
            return await jsmemory.compact_bucket(
                nats,
                chosen.bucket or "",
                options.get("prefix"),
                older_than=seconds,
                limit=limit,
                at_most=at_most,
                dry_run=dry_run,
                api_prefix=options.get("api_prefix"),
                on_progress=show,
            )

    def left() -> str:
        return (
            f"{_markers(reached.removed)} removed, and the bucket is whole; "
            "run the same command again, and it goes on from there."
        )

    compaction = go_through("Compacting", ("name", "names"), left, work)
    if choice.as_json:
        screen.put_json(_plain(compaction))
    else:
        _tell(compaction, older_than)


def seconds_of(age: str) -> float:
    if not _AGE.fullmatch(age):
        raise UsageRefused(f"The age {age} cannot be read. Use a number and s, m, h, d or w: --older-than 30m.")
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(age))


def _tell_of_files(chosen: Chosen, *, as_json: bool) -> None:
    if chosen.configuration.backend not in (None, FILE):
        raise UsageRefused("Only buckets keep markers of what was deleted. Name one: --bucket NAME.")
    if as_json:
        screen.put_json(_plain(Compaction(is_whole=True)))
    else:
        screen.talk(
            "Files keep no markers of what was deleted: there is nothing to compact. For a bucket: --bucket NAME."
        )


def _tell(compaction: Compaction, older_than: str) -> None:
    would = "Of a dry run: " if compaction.is_dry_run else ""
    screen.talk(f"{would}{_markers(compaction.removed)} removed, of {compaction.seen:,} names.")
    if compaction.young:
        screen.talk(f"{compaction.young:,} stay, since they are not {older_than} old.")
    if compaction.odd:
        screen.talk(
            f"{compaction.odd:,} stay, since a name that is * or > in part stands for others too. "
            "No store writes such a thing; whoever did has to remove it by hand."
        )
    if not compaction.is_whole:
        screen.talk("There are more. Run the same command again, and it goes on from there.")


def _markers(count: int) -> str:
    return f"{count:,} marker{' was' if count == 1 else 's were'}"


def _plain(compaction: Compaction) -> dict[str, Any]:
    return {
        "dry_run": compaction.is_dry_run,
        "seen": compaction.seen,
        "removed": compaction.removed,
        "young": compaction.young,
        "odd": compaction.odd,
        "whole": compaction.is_whole,
    }
