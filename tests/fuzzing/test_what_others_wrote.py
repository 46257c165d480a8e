"""
Every parser that reads what others wrote, fed with what is nearly right.

Bytes come from disks, streams, servers and people. Whatever they are, a reader either makes
something of them or refuses them with an error of its own, and shows nothing of them in it.
"""

import asyncio
import base64
import gzip
import io
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nats.aio.msg import Msg

from jsmemory import ArchiveUnfitError, FileJournal, FileStore, InProcessStore, InvalidOptionsError, JsMemoryError, Run
from jsmemory.backends.jetstream import messages, translate
from jsmemory.backends.jetstream.facts import StreamFacts, api_level_of
from jsmemory.backends.jetstream.messages import Message, StoredMessage
from jsmemory.connecting import credentials
from jsmemory.connecting.contexts import read_context, selected_context
from jsmemory.examining.answers import Account, ConsumerPage, Described
from jsmemory.examining.questions import Silence, read
from jsmemory.journal import records
from jsmemory.moving import export_archive, import_archive, import_folder
from jsmemory.moving.archive.unpacking import verify

SECRET: Final = "sesame"
"""Stands in everything that is fed, and must not stand in a refusal."""

FUZZED: Final = settings(
    max_examples=200,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
SOME: Final = settings(FUZZED, max_examples=60)

LONG_NUMBER: Final = "9" * 5_000
"""More digits than Python turns into a number."""


def damaged(*whole: bytes) -> st.SearchStrategy[bytes]:
    """What is right, with pieces cut, put twice, put in another place, or replaced by noise."""
    noise = st.binary(max_size=12) | st.sampled_from(
        [
            b"\n",
            b"\r\n",
            b"---\n",
            b"\0",
            b"{",
            b"}",
            b'"',
            b"null",
            b"-1",
            b"1e999",
            LONG_NUMBER.encode(),
            b"[" * 3_000,
        ]
    )

    @st.composite
    def draw(pick: Callable[[st.SearchStrategy[Any]], Any]) -> bytes:
        text: bytes = pick(st.sampled_from(whole))
        for _ in range(pick(st.integers(0, 4))):
            begin, end = sorted((pick(st.integers(0, len(text))), pick(st.integers(0, len(text)))))
            piece = pick(st.just(b"") | noise | st.just(text[begin:end] * 2) | st.just(text[: end - begin]))
            text = text[:begin] + piece + text[end:]
        return text

    return draw()


def near_json(*whole: object) -> st.SearchStrategy[bytes]:
    """JSON that is right, damaged, or right and of another shape."""
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.just(2**70) | st.floats(allow_nan=False) | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=6,
    )

    @st.composite
    def reshaped(pick: Callable[[st.SearchStrategy[Any]], Any]) -> bytes:
        plain = json.loads(json.dumps(pick(st.sampled_from(whole))))
        for _ in range(pick(st.integers(1, 3))):
            inside = plain
            while isinstance(inside, dict) and inside:
                name = pick(st.sampled_from(sorted(inside)))
                if not isinstance(inside[name], dict) or not inside[name] or pick(st.booleans()):
                    inside[name] = pick(values)
                    break
                inside = inside[name]
        return json.dumps(plain).encode()

    return damaged(*(json.dumps(each).encode() for each in whole)) | reshaped()


# -- What a server says, and what lies in a bucket ----------------------------------------------

INFO: Final = {
    "config": {"name": "KV_team", "subjects": ["$KV.team.>"], "max_age": 0, "num_replicas": 3, "metadata": {"a": "b"}},
    "created": "2026-01-01T00:00:00Z",
    "state": {"messages": 1, "bytes": 9, "first_seq": 1, "last_seq": 1, "subjects": {"$KV.team.a": 1}},
    "cluster": {"name": "c", "leader": "n1", "replicas": [{"name": "n2", "current": True, "active": 5, "lag": 0}]},
    "ts": "2026-01-01T00:00:00Z",
}
REFUSED: Final = {"error": {"code": 400, "err_code": 10071, "description": "wrong last sequence: 7"}, "seq": 0}
KEPT: Final = {"message": {"seq": 3, "data": "YQ==", "hdrs": "TkFUUy8xLjANCg0K", "time": "2026-01-01T00:00:00Z"}}


@FUZZED
@given(near_json(INFO, REFUSED, KEPT, {"stream": "KV_team", "seq": 1}))
def test_an_answer_of_the_server_is_read_or_is_none(answer: bytes) -> None:
    """A proxy's page in the place of an answer would end a worker."""
    decoded = translate.decode(answer)
    if decoded.error is not None:
        assert isinstance(translate.refusal(decoded.error), JsMemoryError)
        assert decoded.error.last_sequence is None or decoded.error.last_sequence >= 0
    if decoded.message is not None:
        assert Message.from_leader_get(decoded.message).sequence == decoded.message.seq
    for reader in (StreamFacts.of, api_level_of):
        with suppress(msgspec.DecodeError):
            reader(answer)
    for kind in (Described, Account, ConsumerPage):
        assert isinstance(read(answer, kind), kind | translate.ApiError | Silence)


HEADERS: Final = (
    messages.EXPECTED,
    messages.EXPECTED_WITHIN,
    messages.OPERATION,
    messages.PREVIOUS,
    messages.DESCRIPTION,
    messages.KV_OPERATION,
    messages.MARKER_REASON,
    messages.NEW,
    messages.SOURCE,
    "Nats-Time-Stamp",
    "Status",
)
TEXTS: Final = st.text(max_size=12) | st.sampled_from(
    [
        "",
        "-1",
        "0",
        "7",
        "\u0664\u0662",
        "1e3",
        "0-6",
        "0-7",
        "7-7",
        f"0-{LONG_NUMBER}",
        LONG_NUMBER,
        "\u0664" * 5_000,
        "DEL",
        "PURGE",
        "%zz",
        "%ff%00",
        "*",
        "404",
    ]
)


@FUZZED
@given(st.dictionaries(st.sampled_from(HEADERS) | st.text(max_size=6), TEXTS), st.binary(max_size=40))
def test_no_header_of_another_program_makes_a_read_raise(headers: dict[str, str], value: bytes) -> None:
    """Anybody who may write to the bucket could make a key that nobody can read, replace or delete."""
    delivered = Msg(None, subject="inbox", data=value, headers={**headers, "Nats-Sequence": "7"})  # type: ignore[arg-type]
    message = Message.from_direct_get(delivered)
    assert message is not None
    assert message.sequence == 7
    assert message.value in (None, value)
    messages.decode_description(headers.get(messages.DESCRIPTION, ""))


@FUZZED
@given(damaged(b"NATS/1.0\r\nJsm-Op: abc\r\nNats-Expected-Last-Subject-Sequence: 7\r\n\r\n", b"", b"NATS/1.0"))
def test_no_block_of_headers_makes_a_read_raise(block: bytes) -> None:
    """As above, for what the leader answers."""
    stored = msgspec.json.decode(json.dumps({"seq": 7, "hdrs": base64.b64encode(block).decode()}), type=StoredMessage)
    assert Message.from_leader_get(stored).sequence == 7


# -- Journals ------------------------------------------------------------------------------------


async def journal_of_a_run(folder: Path) -> bytes:
    store, journal = InProcessStore(), await FileJournal.open(folder)
    async with Run.start(store, journal, "night", about={"why": SECRET}) as run:
        await run.record("message", {"content": SECRET})
        await run.tools.call("memory_write", {"key": "k", "description": "d", "content": "c"})
        await run.suspend()
    return (folder / "night.jsonl").read_bytes()


@contextmanager
def may_be_refused(kind: type[JsMemoryError], secret: str = SECRET) -> Iterator[None]:
    """Let a block end with a refusal, but not with one that shows what was fed."""
    try:
        yield
    except JsMemoryError as refusal:
        shown = str(refusal)
        if not isinstance(refusal, kind) or secret in shown:
            raise


def run_once(make: Callable[[Path], Any]) -> Any:
    """What a coroutine makes in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(make(Path(folder)))


JOURNAL: Final[bytes] = run_once(journal_of_a_run)


@SOME
@given(damaged(JOURNAL))
def test_a_damaged_journal_is_refused_or_goes_on(text: bytes) -> None:
    """A resume that fails with a traceback fails again tomorrow; one that goes on must not glue lines."""

    async def try_it(folder: Path) -> None:
        (folder / "night.jsonl").write_bytes(text)
        journal = await FileJournal.open(folder)
        assert len(await journal.runs()) <= 1
        with may_be_refused(JsMemoryError):
            async with Run.resume(InProcessStore(), journal, "night") as run:
                await run.suspend()
            assert (await journal.state("night")).status == "suspended"

    run_once(try_it)


@FUZZED
@given(damaged(*JOURNAL.splitlines(keepends=True)))
def test_a_line_of_a_journal_is_a_record_or_none(line: bytes) -> None:
    """The same lines come out of a stream, where others can publish."""
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        assert isinstance(records.decode(line), records.Record)


# -- What is configured for a connection ---------------------------------------------------------

CONTEXT: Final = {
    "url": "nats://h:4222",
    "user": "u",
    "password": SECRET,
    "tls_first": True,
    "inbox_prefix": "_INBOX_a",
}


@FUZZED
@given(near_json(CONTEXT), damaged(b"team\n"))
def test_a_context_is_read_or_refused(context: bytes, selected: bytes) -> None:
    """A context comes from another program, which may be newer than this one."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "nats" / "context"
        kept.mkdir(parents=True)
        (kept / "team.json").write_bytes(context)
        (kept.parent / "context.txt").write_bytes(selected)
        environment = {"XDG_CONFIG_HOME": folder}
        for reader in (lambda: read_context("team", environment), lambda: selected_context(environment)):
            with may_be_refused(InvalidOptionsError):
                reader()


SEED: Final = "SUAPM67TC4RHQLKBX55NIQXSMATZDOZK6FNEOSS36CAYA7F7TY66LP4BOM"
CREDS: Final = credentials.joined_credentials(b"ey.ey.sig", "jwt", SEED.encode(), "seed").encode()


@FUZZED
@given(damaged(CREDS, SEED.encode()))
def test_credentials_are_read_or_refused(data: bytes) -> None:
    """What is refused must not be shown: it may be right but for one letter."""
    for reader in (credentials.user_credentials, credentials.nkey_seed):
        with may_be_refused(InvalidOptionsError, SEED[:12]):
            reader(data, "creds")


# -- What is moved -------------------------------------------------------------------------------


async def archive_of_notes(folder: Path) -> bytes:
    store = InProcessStore()
    for key in ("a", "b.c"):
        await store.create(key, f"about {SECRET}", f"{SECRET} {key}\n" * 20, scope=None)
    await export_archive(store, folder / "a.tar.gz")
    return (folder / "a.tar.gz").read_bytes()


ARCHIVE: Final[bytes] = run_once(archive_of_notes)
INSIDE: Final = gzip.decompress(ARCHIVE)


@SOME
@given(damaged(ARCHIVE) | damaged(INSIDE).map(gzip.compress))
def test_a_damaged_archive_is_refused_and_nothing_of_it_is_taken(data: bytes) -> None:
    """Half an archive that is taken for a whole one is a loss that nobody notices."""
    with may_be_refused(ArchiveUnfitError):
        # What is as it was, in other words.
        assert len(verify(io.BytesIO(data)).files) == 2

    async def try_it(folder: Path) -> None:
        (folder / "a.tar.gz").write_bytes(data)
        store = InProcessStore()
        try:
            await import_archive(folder / "a.tar.gz", store)
        except JsMemoryError:
            assert await store.list() == ()
        else:
            assert {item.key for item in await store.list()} == {"a", "b.c"}

    run_once(try_it)


NOTE: Final = b"---\ndescription: 'of the note'\ntags: [a, b]\n---\n\n# Heading\n\ntext\n"


@SOME
@given(damaged(NOTE) | st.binary(max_size=60), st.text(min_size=1, max_size=12).filter(lambda name: "/" not in name))
def test_a_folder_of_anything_is_imported_or_reported(data: bytes, name: str) -> None:
    """People have files that nobody thought of, and must be told of each that was left behind."""

    async def try_it(folder: Path) -> None:
        try:
            (folder / f"{name}.md").write_bytes(data)
        except (OSError, ValueError):
            return
        store = InProcessStore()
        report = await import_folder(folder, store)
        assert len(report.moved) == 1
        for item in await store.list():
            text = (await store.read(item.key, scope=None)).content
            assert text in data.decode("utf-8-sig")

    run_once(try_it)


@SOME
@given(damaged(NOTE), st.sampled_from(["k.md", ".realm", ".lock", ".k.md.tmp", "K.md", "k..md", "k.md~"]))
def test_a_store_opens_over_whatever_lies_in_its_directory(data: bytes, name: str) -> None:
    """One file that somebody put there would take all notes away."""

    async def try_it(folder: Path) -> None:
        await (await FileStore.open(folder)).create("mine", "d", "text", scope=None)
        (folder / name).write_bytes(data)
        # Only what says which keyspace it is may be refused, since authority depends on it.
        with may_be_refused(JsMemoryError) if name == ".realm" else nullcontext():
            store = await FileStore.open(folder)
            assert "mine" in {item.key for item in await store.list()}
            assert (await store.read("mine", scope=None)).content == "text"

    run_once(try_it)


@pytest.mark.parametrize("reader", [records.decode, StreamFacts.of, api_level_of])
def test_json_that_nests_without_end_is_refused(reader: Callable[[bytes], object]) -> None:
    """A parser that recurses takes the process down with it."""
    with pytest.raises((msgspec.DecodeError, RecursionError)):
        reader(b'{"config":' + b"[" * 100_000)
