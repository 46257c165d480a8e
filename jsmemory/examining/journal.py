"""The examination of a journal's stream."""

import difflib
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from jsmemory.backends.jetstream import translate
from jsmemory.backends.jetstream.facts import StreamFacts
from jsmemory.backends.jetstream.wire import Connection, Wire
from jsmemory.errors import InvalidOptionsError
from jsmemory.examining.answers import Account, Described, Names
from jsmemory.examining.clock import clock
from jsmemory.examining.describing import describe, undescribed
from jsmemory.examining.headroom import headroom
from jsmemory.examining.holding import holding
from jsmemory.examining.kept import Kept
from jsmemory.examining.monitoring import check_address, monitored
from jsmemory.examining.questions import Questions, Silence
from jsmemory.examining.report import Check, Report, Verdict, found, ok
from jsmemory.examining.rights import permissions_command, rights_in_journal
from jsmemory.examining.service import tell_of
from jsmemory.journal.jetstream.recipe import LEGAL_NAME, examine, is_stream_name, missing_stream_cure

_PATIENCE = 2.0
# Seconds for one answer.


async def examine_journal(
    nc: Connection, stream: str, *, monitors: Sequence[str] = (), api_prefix: str | None = None
) -> Report:
    """
    Look at everything that decides whether suspended runs are safe in a stream.

    Writes nothing, and takes as long for a million runs as for one. The names of its checks
    begin with ``journal_``, but for those that tell of the server.

    Args:
        nc: A connection of the host's; never closed here. What is found out about permissions
            is found out about its credentials.
        stream: Its name.
        monitors: Addresses of the servers' monitoring pages, such as ``http://localhost:8222``.
        api_prefix: The subject of the JetStream API; left out, the connection's own or ``$JS.API``.

    Returns:
        A report, also where there is no such stream, or nobody answers.

    Raises:
        InvalidOptionsError: no stream of a journal can be called so, or an address is none.
    """
    if not is_stream_name(stream):
        raise InvalidOptionsError(
            "journal",
            "is no name of a journal's stream",
            f"Use {LEGAL_NAME}.",
        )
    for address in monitors:
        check_address(address)
    wire = Wire(nc, api_prefix or getattr(nc, "jetstream_api_prefix", None) or "$JS.API")
    return Report("jetstream", stream, tuple(await _all(stream, Questions(wire, _PATIENCE), nc.max_payload, monitors)))


async def _all(stream: str, questions: Questions, max_payload: int, monitors: Sequence[str]) -> list[Check]:
    service = await questions.ask("INFO", Account)
    if (check := tell_of(service)).verdict is Verdict.FAULT:
        return [check]
    kept = Kept.as_journal(stream)
    description = await describe(kept, questions)
    raw, described = description.raw, description.said
    if not (isinstance(described, Described) and isinstance(raw, bytes)):
        return [check, await _unseen(kept, described, questions), *await monitored(monitors, 1)]
    account = service if isinstance(service, Account) else None
    held = holding(kept, described, connected_to=questions.wire.server_name)
    is_served = all(each.verdict is not Verdict.UNANSWERED for each in held)
    checks = [
        _configuration(raw, max_payload),
        ok("runs", f"{described.state.num_subjects:,} with {described.state.messages:,} records"),
        *held,
        *(each for each in headroom(kept, described, account) if each.name != "consumers"),
        *(await rights_in_journal(stream, questions) if is_served else ()),
    ]
    return [
        check,
        *map(_named, checks),
        clock(described.ts, description.sent, description.received),
        *await monitored(monitors, described.config.num_replicas),
    ]


def _configuration(raw: bytes, max_payload: int) -> Check:
    findings = examine(msgspec.json.decode(raw, type=StreamFacts), max_payload=max_payload)
    if findings:
        words = f"it would lose or refuse records: {len(findings)} reason{'s' if len(findings) > 1 else ''}"
        return Check("configuration", Verdict.FAULT, words, findings)
    return ok("configuration", "on disk, keeps every record, takes every legal one")


async def _unseen(kept: Kept, described: object, questions: Questions) -> Check:
    stream = kept.stream
    if isinstance(described, translate.ApiError) and described.err_code == translate.STREAM_NOT_FOUND:
        names = await questions.ask("STREAM.NAMES", Names, {"subject": "jsmemory.journal.>"})
        close = difflib.get_close_matches(stream, (names.streams or ()) if isinstance(names, Names) else (), 1)
        hint = f" There is one called {close[0]}." if close else ""
        return found(
            "journal",
            Verdict.FAULT,
            "stream_not_found",
            f"There is no stream {stream}.{hint}",
            missing_stream_cure(stream, is_clustered=questions.wire.is_clustered),
        )
    if described is Silence.DENIED:
        subject = questions.wire.api_subject(f"STREAM.INFO.{stream}")
        return found(
            "journal",
            Verdict.DENIED,
            "may_not_examine",
            "These credentials may not see how the stream is set up, or it is called otherwise: they cannot open it.",
            f'grant them publish to "{subject}"; all that a worker needs is printed by: '
            f"{permissions_command(questions, journal=stream)}",
        )
    return undescribed(kept, described)


def _named(check: Check) -> Check:
    # Beside those of a bucket, they must be told apart.
    return check if check.name.startswith(("journal_", "account_")) else replace(check, name=f"journal_{check.name}")
