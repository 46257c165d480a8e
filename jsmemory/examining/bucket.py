"""The examination of a bucket, from the account to the last marker."""

import asyncio
import difflib
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Final

from jsmemory.backends.jetstream import translate
from jsmemory.backends.jetstream.facts import STREAM_PREFIX, StreamFacts
from jsmemory.backends.jetstream.recipe import BucketRecipe, missing_bucket_cure
from jsmemory.backends.jetstream.store import JetStreamStore
from jsmemory.backends.jetstream.wire import Connection, Wire
from jsmemory.errors import InvalidOptionsError
from jsmemory.examining.answers import Account, Described, Names
from jsmemory.examining.census import Census, entries
from jsmemory.examining.clock import clock
from jsmemory.examining.configuration import configuration
from jsmemory.examining.consumers import consumers
from jsmemory.examining.describing import describe, undescribed
from jsmemory.examining.headroom import headroom
from jsmemory.examining.holding import holding
from jsmemory.examining.kept import Kept
from jsmemory.examining.monitoring import check_address, monitored
from jsmemory.examining.probing import probe
from jsmemory.examining.questions import Questions, Silence
from jsmemory.examining.report import Check, Report, Verdict, found, ok, unknown
from jsmemory.examining.rights import rights
from jsmemory.examining.sampling import SAMPLE, look_at_unlooked, sample
from jsmemory.examining.service import tell_of
from jsmemory.examining.walking import walk
from jsmemory.keys import Prefix
from jsmemory.store import Store

PATIENCE: Final = 2.0
"""Seconds for one answer."""

WALKED: Final = 5_000
"""Names up to which a bucket is gone through; beyond, it is sampled."""

PROBED: Final = "jsmemory-doctor"
"""The prefix that is written to where none was named: nobody's, and not the bucket as a whole."""

_LARGEST: Final = 8
# Prefixes of a large bucket that are counted: those that a sample meets most often.


async def examine_bucket(
    nc: Connection,
    bucket: str,
    prefix: str | None = None,
    *,
    monitors: Sequence[str] = (),
    thorough: bool = False,
    read_only: bool = False,
    write_probe: bool = False,
    api_prefix: str | None = None,
) -> Report:
    """
    Look at everything that decides whether memory is safe in a bucket.

    Writes nothing, unless told. Takes about as long, and as much memory, for a bucket of a
    million entries as for one of a thousand.

    Args:
        nc: A connection of the host's; never closed here. What is found out about permissions
            is found out about its credentials.
        bucket: Its name.
        prefix: The namespace of one agent, looked at in full; ``""`` for the flat keyspace, None
            for the bucket as its operator sees it.
        monitors: Addresses of the servers' monitoring pages, such as ``http://localhost:8222``.
        thorough: Go through every name of the bucket, however many there are.
        read_only: The credentials are only for reading: that they cannot write is no finding.
        write_probe: Write one entry, and delete it.
        api_prefix: The subject of the JetStream API; left out, the connection's own or ``$JS.API``.

    Returns:
        A report, also where there is no such bucket, or nobody answers.

    Raises:
        InvalidOptionsError: no bucket can be called so, or an address is none.
        InvalidKeyError: `prefix` is no single token.
    """
    try:
        BucketRecipe(bucket=bucket)
    except ValueError as fault:
        raise InvalidOptionsError("bucket", "is no name of a bucket", str(fault)) from None
    Prefix(prefix or "")
    for address in monitors:
        check_address(address)
    wire = Wire(nc, api_prefix or getattr(nc, "jetstream_api_prefix", None) or "$JS.API")
    examination = _Examination(
        wire, Questions(wire, PATIENCE), bucket, prefix, thorough=thorough, read_only=read_only, api_prefix=api_prefix
    )
    checks = await examination.all(monitors)
    if write_probe and examination.is_there:
        checks.append(await probe(examination.open()))
    return Report("jetstream", bucket, tuple(checks))


@dataclass
class _Examination:
    wire: Wire
    questions: Questions
    bucket: str
    prefix: str | None
    thorough: bool
    read_only: bool
    api_prefix: str | None
    is_there: bool = False
    may_describe: bool = False

    @property
    def stream(self) -> str:
        return f"{STREAM_PREFIX}{self.bucket}"

    @property
    def place(self) -> str:
        """The options that choose this store on our command line."""
        prefix = "" if self.prefix is None else f" --prefix {self.prefix or repr('')}"
        return f"--bucket {self.bucket}{prefix}"

    def open(self) -> Awaitable[Store]:
        """The store as a worker with these credentials opens it."""
        prefix = PROBED if self.prefix is None else self.prefix
        return JetStreamStore.bind(
            self.wire.connection, self.bucket, prefix, preflight=self.may_describe, api_prefix=self.api_prefix
        )

    async def all(self, monitors: Sequence[str]) -> list[Check]:
        service = await self.questions.ask("INFO", Account)
        if (check := tell_of(service)).verdict is Verdict.FAULT:
            return [check]
        account = service if isinstance(service, Account) else None
        kept = Kept.as_bucket(self.bucket)
        description = await describe(kept, self.questions)
        raw, described = description.raw, description.said
        if isinstance(described, translate.ApiError) and described.err_code == translate.STREAM_NOT_FOUND:
            return [check, await self._missing()]
        self.is_there = self.may_describe = isinstance(described, Described)
        if isinstance(described, Described) and isinstance(raw, bytes):
            held = holding(kept, described, connected_to=self.wire.server_name)
            checks = [
                check,
                *configuration(
                    StreamFacts.of(raw),
                    described,
                    max_payload=self.wire.connection.max_payload,
                    api_level=None if account is None else account.api.level,
                ),
                *held,
                *headroom(kept, described, account),
                clock(described.ts, description.sent, description.received),
            ]
            if all(each.verdict is not Verdict.UNANSWERED for each in held):
                # Together, since where a server is away each of them waits for it.
                left_behind, granted = await asyncio.gather(consumers(self.bucket, self.questions), self._rights())
                checks += [left_behind, *granted]
        elif described is Silence.DENIED:
            self.is_there = True
            checks = [check, self._unseen(), *await self._rights()]
        else:
            # Nobody leads it: every further question would wait in vain.
            return [check, undescribed(kept, described), *await monitored(monitors, 1)]
        if all(each.verdict is not Verdict.UNANSWERED for each in checks):
            checks += await self._contents(described if isinstance(described, Described) else None)
        replicas = described.config.num_replicas if isinstance(described, Described) else 1
        return [*checks, *await monitored(monitors, replicas)]

    async def _rights(self) -> list[Check]:
        return await rights(self.bucket, self.prefix, self.questions, read_only=self.read_only)

    async def _missing(self) -> Check:
        names = await self.questions.ask("STREAM.NAMES", Names, {"subject": "$KV.>"})
        known = [each.removeprefix(STREAM_PREFIX) for each in (names.streams or ())] if isinstance(names, Names) else []
        close = difflib.get_close_matches(self.bucket, known, 1)
        hint = f" There is one called {close[0]}." if close else ""
        return found(
            "bucket",
            Verdict.FAULT,
            "bucket_not_found",
            f"There is no bucket {self.bucket}.{hint}",
            missing_bucket_cure(self.bucket, is_clustered=self.wire.is_clustered),
        )

    def _unseen(self) -> Check:
        return found(
            "configuration",
            Verdict.ADVICE,
            "may_not_examine",
            "These credentials may not see how the bucket is set up, or it is called otherwise: not looked at.",
            "run the check with its operator's credentials; a store is opened with preflight off: --no-preflight",
        )

    # -- What is in it ----------------------------------------------------------------------

    async def _contents(self, described: Described | None) -> list[Check]:
        messages = described.state.messages if described is not None else 0
        if described is not None and not self.prefix and messages > WALKED and not self.thorough:
            return await self._sampled(described)
        census = Census(self.prefix)
        at_most = None if self.thorough else WALKED
        ended = await walk(self.wire, self.bucket, self.prefix or "", census.take, at_most=at_most, patience=PATIENCE)
        if isinstance(ended, Silence):
            return [self._unseen_contents(ended)]
        await look_at_unlooked(self.bucket, census, self.questions)
        checks = census.checks(self.bucket, self.place)
        if self.prefix is None:
            checks = [*self._fullest(census.by_prefix), *checks]
        if not ended:
            checks.append(unknown("contents", f"the first {census.total:,} names were looked at; all with --thorough"))
        return checks

    async def _sampled(self, described: Described) -> list[Check]:
        census = Census(self.prefix, is_sample=True)
        silence = await sample(self.bucket, described.state, census, self.questions)
        if silence is not None:
            return [self._unseen_contents(silence)]
        checks = [unknown("contents", f"{SAMPLE} of {described.state.messages:,} were drawn; all with --thorough")]
        if self.prefix is None:
            checks += self._fullest(await self._counted(census.by_prefix))
        return [*checks, *(check for check in census.checks(self.bucket, self.place) if check.name != "entries")]

    def _unseen_contents(self, silence: Silence) -> Check:
        if silence is Silence.DENIED:
            return unknown("contents", "the credentials may not look at them")
        return found(
            "contents",
            Verdict.UNANSWERED,
            "contents_unanswered",
            "What is in the bucket could not be looked at: the answer broke off, or nobody gave one.",
            f"look again in a moment; if it stays so, see who serves it: nats stream info {self.stream}",
        )

    async def _counted(self, met: dict[str, int]) -> dict[str, int]:
        """The prefixes that a sample met most often, with what the server counts in them; markers too."""
        largest = sorted((token for token in met if token), key=lambda token: -met[token])[:_LARGEST]
        counts = {}
        for token in largest:
            asked = {"subjects_filter": f"$KV.{self.bucket}.{token}.>"}
            answer = await self.questions.ask(f"STREAM.INFO.{self.stream}", Described, asked)
            if isinstance(answer, Described):
                counts[token] = max(answer.total, len(answer.state.subjects or ()))
        return counts

    def _fullest(self, counts: dict[str, int]) -> list[Check]:
        if not counts:
            return [ok("fullest", "no entries")]
        token = max(counts, key=lambda each: counts[each])
        place = f"--bucket {self.bucket} --prefix {token or repr('')}"
        check = entries(token, counts[token], place, name="fullest")
        return [check if check.findings else ok("fullest", f"{token or 'the flat keyspace'}: {check.said}")]
