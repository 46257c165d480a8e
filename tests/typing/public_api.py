"""Every public name as a caller uses it. Type-checked strictly by the test beside it, and never run."""

from pathlib import Path
from typing import assert_type

from nats.aio.client import Client

import jsmemory
from jsmemory import (
    MAX_CONTENT_BYTES,
    MAX_DESCRIPTION_LENGTH,
    MAX_ENTRIES,
    MAX_ENTRY_BYTES,
    MAX_HEADER_BYTES,
    MAX_KEY_LENGTH,
    MAX_READ_BYTES,
    AccessDeniedError,
    ArchiveUnfitError,
    BackendError,
    BackendUnavailableError,
    BucketNotFoundError,
    BucketRecipe,
    BucketUnfitError,
    Change,
    Check,
    Compaction,
    Comparison,
    Configuration,
    Deviation,
    Entry,
    EntryExistsError,
    EntryNotFoundError,
    EntryTooLargeError,
    FileJournal,
    FileStore,
    Finding,
    HostRecord,
    IncompleteListingError,
    Info,
    InProcessStore,
    InvalidEntryError,
    InvalidKeyError,
    InvalidOptionsError,
    InvalidRecordError,
    Item,
    JetStreamJournal,
    JetStreamStore,
    Journal,
    JournalCorruptError,
    JsMemoryError,
    LiveView,
    MemoryTools,
    Moved,
    MovingReport,
    Outcome,
    OutcomeUnknownError,
    PrefixLine,
    PreparedCluster,
    ReadOnlyStoreError,
    Report,
    RequestError,
    Run,
    RunClaimedError,
    RunEndedError,
    RunExistsError,
    RunLine,
    RunNotFoundError,
    RunState,
    Scope,
    SetupError,
    StaleEntryError,
    Store,
    StoreFullError,
    StreamNotFoundError,
    StreamRecipe,
    StreamUnfitError,
    Terms,
    TooManyEntriesError,
    UnknownBackendError,
    Verdict,
    WorkerPermissions,
    apply_recipe,
    compact_bucket,
    compare_recipe,
    connect,
    copy_entries,
    examine_bucket,
    examine_directory,
    examine_journal,
    export_archive,
    import_archive,
    import_folder,
    list_directory_prefixes,
    list_prefixes,
    open_store,
    prepare_cluster,
    print_recipe,
)

HEADER_AND_CONTENT: int = MAX_HEADER_BYTES + MAX_CONTENT_BYTES
LIMITS: tuple[int, ...] = (MAX_KEY_LENGTH, MAX_DESCRIPTION_LENGTH, MAX_ENTRIES, MAX_ENTRY_BYTES, HEADER_AND_CONTENT)
READ_AT_MOST: int = MAX_READ_BYTES


async def use(store: Store, scope: Scope | None) -> None:
    assert_type(store.info(), Info)
    assert_type(store.terms(), Terms)
    assert_type(await store.list(), tuple[Item, ...])
    entry = await store.read("key", scope=scope)
    assert_type(entry, Entry)
    description, content = entry
    assert_type(description, str)
    assert_type(content, str)
    assert_type(await store.create("key", description, content, scope=None), None)
    assert_type(await store.update("key", description, content, scope=scope), None)
    assert_type(await store.delete("key", scope=scope), bool)
    await store.read("key")  # type: ignore[call-arg]
    await store.read("key", scope)  # type: ignore[call-arg]


async def look_on(store: Store) -> None:
    async with store.live() as view:
        assert_type(view, LiveView)
        assert_type(await view.list(), tuple[Item, ...])
        assert_type(await view.count(), int)
        assert_type(view.shows(store.keyspace_names()), bool)
        assert_type(view.trouble, JsMemoryError | None)
        async for change in view.changes(initial=True):
            assert_type(change, Change)
            assert_type(change.revision, str | None)
            change.key = "other"  # type: ignore[misc]


async def open_in_every_way(client: Client, text: str) -> None:
    assert_type(await open_store({"backend": "file"}, identity="alice"), Store)
    configuration = Configuration.of(text)
    assert_type(configuration, Configuration)
    await open_store(configuration, identity="alice", base_dir=Path("notes"))
    await open_store(text, identity="alice", nats=client, base_dir="notes")
    await open_store({}, identity="alice", store=InProcessStore())
    await open_store({})  # type: ignore[call-arg]
    await open_store({}, identity=None)  # type: ignore[arg-type]
    configuration.enabled = False  # type: ignore[misc]
    assert_type(await FileStore.open(Path("notes"), prefix="alice"), FileStore)
    assert_type(await JetStreamStore.bind(client, "team", "alice"), JetStreamStore)
    async with connect() as connection:
        await JetStreamStore.bind(connection, "team")
        await open_store(text, identity="alice", nats=connection)


async def mount(store: Store, scope: Scope) -> list[dict[str, object]]:
    tools = MemoryTools(store, scope, read_only=True, no_index=True)
    assert_type(f"{tools.system_note()} {await tools.index()}", str)
    assert_type((await tools.call("memory_read", {"key": "key"})).code, str)
    for tool in tools.specs():
        assert_type(tool.name + tool.description, str)
        assert_type((await tool({"key": "key"})).is_error, bool)
    MemoryTools(store)  # type: ignore[call-arg]
    MemoryTools(store, None)  # type: ignore[arg-type]
    await tools.dispatch({"name": "memory_list", "arguments": {}})
    return [*tools.for_anthropic(), *tools.for_openai(), *tools.for_openai_responses(), *tools.for_json_schema()]


async def run_and_resume(client: Client, store: Store) -> None:
    journals: tuple[Journal, ...] = (await FileJournal.open("runs"), await JetStreamJournal.bind(client, "runs"))
    for journal in journals:
        async with Run.start(store, journal, "night", about={"model": "m"}, read_only=True) as run:
            assert_type(run, Run)
            assert_type(run.tools, MemoryTools)
            assert_type(await run.index(), str)
            assert_type(await run.rotate(), MemoryTools)
            assert_type(await run.suspend(), None)
        async with Run.resume(store, journal, "night", take_over=True) as run:
            assert_type(run.state, RunState | None)
            assert_type(run.warning, str | None)
            assert_type(run.scope, Scope)
            await run.record("message", {})
        async for record in journal.history("night"):
            assert_type(record, HostRecord)
        assert_type(await journal.runs(), tuple[RunLine, ...])


def prepare() -> PreparedCluster:
    prepared = prepare_cluster("cluster", hosts=["memory.example.org"])
    assert_type(prepared.notes, tuple[str, ...])
    assert_type(prepared.password("sys"), str)
    assert_type(prepared.variables("n1", listen="", monitor="", routes=["", "", ""]), dict[str, str])
    return prepared


async def examine(client: Client) -> Verdict:
    report = await examine_bucket(client, "team", "alice", monitors=["http://localhost:8222"], write_probe=True)
    assert_type(report, Report)
    assert_type(report.checks, tuple[Check, ...])
    assert_type(report.findings, tuple[Finding, ...])
    assert_type(await examine_journal(client, "runs", monitors=["http://localhost:8222"]), Report)
    return (await examine_directory(Path("notes"), read_only=True)).verdict


async def name_prefixes(client: Client) -> int:
    lines = await list_prefixes(client, "team") + await list_directory_prefixes(Path("notes"))
    assert_type(lines, tuple[PrefixLine, ...])
    return sum(line.entries for line in lines)


async def compact(client: Client) -> int:
    compaction = await compact_bucket(client, "team", "alice", older_than=60, limit=5, at_most=9.5, on_progress=print)
    assert_type(compaction, Compaction)
    assert_type(compaction.is_whole and compaction.is_dry_run, bool)
    await compact_bucket(client, "team", "alice", True)  # type: ignore[call-arg]
    return compaction.removed + compaction.young


async def provision(client: Client) -> str:
    recipe = BucketRecipe(bucket="team", replicas=3, max_bucket_size=BucketRecipe.room_for(50), allow_rollup=False)
    compared = await compare_recipe(client, recipe)
    assert_type(compared, Comparison)
    assert_type(compared.deviations, tuple[Deviation, ...])
    assert_type((await apply_recipe(client, StreamRecipe(stream="runs"))).is_made, bool)
    BucketRecipe(bucket="team", replicas=2)  # type: ignore[arg-type]
    print_recipe(recipe, "helm")  # type: ignore[arg-type]
    return print_recipe(recipe, "terraform")


def lock_down() -> dict[str, object]:
    worker = WorkerPermissions(bucket="team", prefix="alice", worker="reader", read_only=True, isolated=True)
    assert_type(worker.publish + worker.subscribe, tuple[str, ...])
    assert_type(worker.configuration() + worker.nats_auth() + worker.nats_context(with_jwt=True), str)
    WorkerPermissions("team", "alice")  # type: ignore[call-arg]
    return worker.options


async def move(here: Store, there: Store) -> dict[Outcome, int]:
    report = await copy_entries(here, there, overwrite=True, dry_run=True, at_once=4, on_progress=print)
    assert_type(report, MovingReport)
    assert_type(report.moved + report.uncarried + report.renamed, tuple[Moved, ...])
    for moved in report.moved:
        assert_type(moved.outcome, Outcome)
        assert_type(moved.origin + moved.key + moved.code + moved.reason, str)
    await export_archive(here, Path("backup.tar.gz"), overwrite=True)
    await import_archive("backup.tar.gz", there, dry_run=True)
    assert_type((await import_folder("notes", there)).is_dry_run, bool)
    await copy_entries(here, there, True)  # type: ignore[call-arg]
    return report.counts


def react(error: JsMemoryError) -> str:
    assert_type(error.code, str)
    assert_type(error.retryable, bool)
    match error:
        case InvalidKeyError() | InvalidEntryError():
            assert_type(error.problem, str)
        case EntryTooLargeError() | StoreFullError() | TooManyEntriesError():
            assert_type(error.limit, int)
        case EntryExistsError() | EntryNotFoundError() | StaleEntryError() | OutcomeUnknownError():
            assert_type(error.key, str)
        case ReadOnlyStoreError() | IncompleteListingError():
            pass
        case BackendUnavailableError():
            assert_type(error.remedy, str)
        case AccessDeniedError():
            assert_type(error.permission, str)
        case ArchiveUnfitError():
            assert_type(error.findings, tuple[Finding, ...])
        case UnknownBackendError():
            assert_type(error.known, tuple[str, ...])
        case InvalidOptionsError():
            assert_type(error.option, str)
        case InvalidRecordError():
            assert_type(error.remedy, str)
        case RunExistsError() | RunNotFoundError() | RunClaimedError() | RunEndedError():
            assert_type(error.run_id, str)
        case JournalCorruptError():
            assert_type((error.record, error.position), tuple[int, int])
        case BucketNotFoundError() | StreamNotFoundError():
            assert_type(error.cure, str)
        case BucketUnfitError() | StreamUnfitError():
            assert_type(error.findings, tuple[Finding, ...])
        case RequestError() | BackendError() | SetupError():
            pass
    return jsmemory.__version__
