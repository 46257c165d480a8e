"""How a bucket is set up: what preflight refuses, and what it only has an opinion about."""

from collections.abc import Iterator

from jsmemory.backends.jetstream.facts import StreamFacts
from jsmemory.backends.jetstream.preflight import examine
from jsmemory.examining.answers import Described
from jsmemory.examining.kept import Kept
from jsmemory.examining.report import Check, Verdict, found, ok, unknown

_SECOND = 1_000_000_000
_LONG_WINDOW = 3600 * _SECOND


def configuration(facts: StreamFacts, described: Described, *, max_payload: int, api_level: int | None) -> list[Check]:
    """What is to be said of a bucket's settings, and of the server's."""
    findings = examine(facts, max_payload=max_payload, api_level=api_level)
    if findings:
        words = f"it would lose or refuse entries: {len(findings)} reason{'s' if len(findings) > 1 else ''}"
        first = Check("configuration", Verdict.FAULT, words, findings)
    else:
        first = ok("configuration", "no TTL, on disk, takes every legal entry")
    if api_level is None:
        first = first if findings else unknown("configuration", f"{first.said}; the server's release was not told")
    return [first, *_opinions(Kept.as_bucket(facts.bucket), described)]


def _opinions(kept: Kept, described: Described) -> Iterator[Check]:
    config = described.config
    yield _rollups(kept, described)
    if config.allow_direct:
        yield ok("direct_reads", "on")
    else:
        yield found(
            "direct_reads",
            Verdict.ADVICE,
            "direct_reads_off",
            "Direct reads are off: every read asks the leader, with a right that shows all keys of the bucket.",
            kept.edit("--allow-direct"),
        )
    if config.republish:
        yield found(
            "copies",
            Verdict.ADVICE,
            "bucket_republished",
            "Every memory is published once more, to whoever subscribes.",
            kept.edit("--no-republish"),
        )
    if config.max_msgs_per_subject == 1:
        yield ok("history", "one value a key")
    else:
        values = "all values" if config.max_msgs_per_subject < 1 else f"{config.max_msgs_per_subject} values"
        yield found(
            "history",
            Verdict.ADVICE,
            "history_kept",
            f"The bucket keeps {values} of a key: text that agents have replaced or deleted can still be read.",
            kept.edit("--max-msgs-per-subject=1"),
        )
    window = f"{config.duplicate_window / _SECOND:g} s"
    if config.duplicate_window <= _LONG_WINDOW:
        yield ok("duplicate_window", f"{window}; nothing here relies on it")
    else:
        yield found(
            "duplicate_window",
            Verdict.ADVICE,
            "duplicate_window_long",
            f"The server remembers ids of messages for {window}, which takes memory, and nothing here relies on it.",
            kept.edit("--dupe-window=2m"),
        )


def _rollups(kept: Kept, described: Described) -> Check:
    if not described.config.allow_rollup_hdrs:
        return ok("roll_ups", "off")
    # A server that places markers of its own turns them on again, without a word.
    first = ("--subject-del-markers-ttl=0s",) if described.config.subject_delete_marker_ttl else ()
    return found(
        "roll_ups",
        Verdict.ADVICE,
        "roll_ups_allowed",
        "One message with a roll-up header wipes the bucket, and whoever may write to it can send one.",
        kept.edit(*first, "--no-allow-rollup"),
        said="on",
    )
