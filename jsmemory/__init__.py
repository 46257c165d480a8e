"""
Durable notes for fleets of LLM agents, on NATS JetStream and on files.

    from jsmemory import Scope, open_store

    store = await open_store({"backend": "file"}, identity="alice")
    scope = Scope()
    await store.create("build", "how to build", "make all", scope=scope)

The contract is here as soon as the package is imported. What opens and connects is loaded
when it is asked for: who only handles stores needs neither NATS nor YAML.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from jsmemory.entries import Entry, Item
from jsmemory.errors import (
    AccessDeniedError,
    ArchiveUnfitError,
    BackendError,
    BackendUnavailableError,
    BucketNotFoundError,
    BucketUnfitError,
    EntryExistsError,
    EntryNotFoundError,
    EntryTooLargeError,
    IncompleteListingError,
    InvalidEntryError,
    InvalidKeyError,
    InvalidOptionsError,
    InvalidRecordError,
    JournalCorruptError,
    JsMemoryError,
    OutcomeUnknownError,
    ReadOnlyStoreError,
    RequestError,
    RunClaimedError,
    RunEndedError,
    RunExistsError,
    RunNotFoundError,
    SetupError,
    StaleEntryError,
    StoreFullError,
    StreamNotFoundError,
    StreamUnfitError,
    TooManyEntriesError,
    UnknownBackendError,
)
from jsmemory.findings import Finding
from jsmemory.limits import (
    MAX_CONTENT_BYTES,
    MAX_DESCRIPTION_LENGTH,
    MAX_ENTRIES,
    MAX_ENTRY_BYTES,
    MAX_HEADER_BYTES,
    MAX_KEY_LENGTH,
    MAX_READ_BYTES,
)
from jsmemory.live import Change, LiveView
from jsmemory.scope import Scope
from jsmemory.store import Info, Store, Terms

if TYPE_CHECKING:
    from jsmemory.backends.file import FileStore
    from jsmemory.backends.in_process import InProcessStore
    from jsmemory.backends.jetstream import JetStreamStore
    from jsmemory.backends.jetstream.recipe import BucketRecipe
    from jsmemory.compacting import Compaction, compact_bucket
    from jsmemory.connecting import connect
    from jsmemory.examining import (
        Check,
        PrefixLine,
        Report,
        Verdict,
        examine_bucket,
        examine_directory,
        examine_journal,
        list_directory_prefixes,
        list_prefixes,
    )
    from jsmemory.journal.file import FileJournal
    from jsmemory.journal.jetstream import JetStreamJournal
    from jsmemory.journal.jetstream.recipe import StreamRecipe
    from jsmemory.journal.journal import HostRecord, Journal, RunLine
    from jsmemory.journal.replay import RunState
    from jsmemory.moving import (
        Moved,
        MovingReport,
        Outcome,
        copy_entries,
        export_archive,
        import_archive,
        import_folder,
    )
    from jsmemory.opening import Configuration, open_store
    from jsmemory.provisioning import (
        Comparison,
        Deviation,
        WorkerPermissions,
        apply_recipe,
        compare_recipe,
        print_recipe,
    )
    from jsmemory.provisioning.cluster import PreparedCluster, prepare_cluster
    from jsmemory.running import Run
    from jsmemory.tools import MemoryTools

    __version__: str

__all__ = [
    "MAX_CONTENT_BYTES",
    "MAX_DESCRIPTION_LENGTH",
    "MAX_ENTRIES",
    "MAX_ENTRY_BYTES",
    "MAX_HEADER_BYTES",
    "MAX_KEY_LENGTH",
    "MAX_READ_BYTES",
    "AccessDeniedError",
    "ArchiveUnfitError",
    "BackendError",
    "BackendUnavailableError",
    "BucketNotFoundError",
    "BucketRecipe",
    "BucketUnfitError",
    "Change",
    "Check",
    "Compaction",
    "Comparison",
    "Configuration",
    "Deviation",
    "Entry",
    "EntryExistsError",
    "EntryNotFoundError",
    "EntryTooLargeError",
    "FileJournal",
    "FileStore",
    "Finding",
    "HostRecord",
    "InProcessStore",
    "IncompleteListingError",
    "Info",
    "InvalidEntryError",
    "InvalidKeyError",
    "InvalidOptionsError",
    "InvalidRecordError",
    "Item",
    "JetStreamJournal",
    "JetStreamStore",
    "Journal",
    "JournalCorruptError",
    "JsMemoryError",
    "LiveView",
    "MemoryTools",
    "Moved",
    "MovingReport",
    "Outcome",
    "OutcomeUnknownError",
    "PrefixLine",
    "PreparedCluster",
    "ReadOnlyStoreError",
    "Report",
    "RequestError",
    "Run",
    "RunClaimedError",
    "RunEndedError",
    "RunExistsError",
    "RunLine",
    "RunNotFoundError",
    "RunState",
    "Scope",
    "SetupError",
    "StaleEntryError",
    "Store",
    "StoreFullError",
    "StreamNotFoundError",
    "StreamRecipe",
    "StreamUnfitError",
    "Terms",
    "TooManyEntriesError",
    "UnknownBackendError",
    "Verdict",
    "WorkerPermissions",
    "apply_recipe",
    "compact_bucket",
    "compare_recipe",
    "connect",
    "copy_entries",
    "examine_bucket",
    "examine_directory",
    "examine_journal",
    "export_archive",
    "import_archive",
    "import_folder",
    "list_directory_prefixes",
    "list_prefixes",
    "open_store",
    "prepare_cluster",
    "print_recipe",
]

_LAZY: Final = {
    "BucketRecipe": "jsmemory.backends.jetstream.recipe",
    "Check": "jsmemory.examining",
    "Compaction": "jsmemory.compacting",
    "Comparison": "jsmemory.provisioning",
    "Configuration": "jsmemory.opening",
    "Deviation": "jsmemory.provisioning",
    "FileJournal": "jsmemory.journal.file",
    "FileStore": "jsmemory.backends.file",
    "HostRecord": "jsmemory.journal.journal",
    "InProcessStore": "jsmemory.backends.in_process",
    "JetStreamJournal": "jsmemory.journal.jetstream",
    "JetStreamStore": "jsmemory.backends.jetstream",
    "Journal": "jsmemory.journal.journal",
    "MemoryTools": "jsmemory.tools",
    "PreparedCluster": "jsmemory.provisioning.cluster",
    "Moved": "jsmemory.moving",
    "MovingReport": "jsmemory.moving",
    "Outcome": "jsmemory.moving",
    "PrefixLine": "jsmemory.examining",
    "Report": "jsmemory.examining",
    "Run": "jsmemory.running",
    "RunLine": "jsmemory.journal.journal",
    "RunState": "jsmemory.journal.replay",
    "StreamRecipe": "jsmemory.journal.jetstream.recipe",
    "WorkerPermissions": "jsmemory.provisioning",
    "Verdict": "jsmemory.examining",
    "apply_recipe": "jsmemory.provisioning",
    "compact_bucket": "jsmemory.compacting",
    "compare_recipe": "jsmemory.provisioning",
    "connect": "jsmemory.connecting",
    "examine_bucket": "jsmemory.examining",
    "examine_directory": "jsmemory.examining",
    "examine_journal": "jsmemory.examining",
    "copy_entries": "jsmemory.moving",
    "export_archive": "jsmemory.moving",
    "import_archive": "jsmemory.moving",
    "import_folder": "jsmemory.moving",
    "list_directory_prefixes": "jsmemory.examining",
    "list_prefixes": "jsmemory.examining",
    "open_store": "jsmemory.opening",
    "prepare_cluster": "jsmemory.provisioning.cluster",
    "print_recipe": "jsmemory.provisioning",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = _version()
    elif name in _LAZY:
        value = getattr(import_module(_LAZY[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("jsmemory")
    except PackageNotFoundError:  # a checkout that was never installed
        return "0+unknown"
