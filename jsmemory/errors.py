"""
Every error that jsmemory raises: three branches for three reactions.

    JsMemoryError
    ├── RequestError               cannot be met as put; nothing was written: tell the caller
    │   ├── InvalidKeyError            (also ValueError)
    │   ├── InvalidEntryError          (also ValueError)
    │   ├── EntryTooLargeError
    │   ├── EntryExistsError
    │   ├── EntryNotFoundError         (also LookupError)
    │   ├── StaleEntryError
    │   ├── StoreFullError
    │   ├── ReadOnlyStoreError
    │   ├── ArchiveUnfitError
    │   ├── InvalidRecordError         (also ValueError)
    │   ├── RunExistsError
    │   ├── RunNotFoundError           (also LookupError)
    │   ├── RunClaimedError
    │   └── RunEndedError
    ├── BackendError               the world failed: retry, or fail the turn
    │   ├── BackendUnavailableError    nothing was written; retryable
    │   ├── AccessDeniedError
    │   ├── OutcomeUnknownError
    │   ├── IncompleteListingError     retryable
    │   ├── TooManyEntriesError
    │   └── JournalCorruptError
    └── SetupError                 from opening and preflight only: stop at start-up
        ├── UnknownBackendError
        ├── InvalidOptionsError
        ├── BucketNotFoundError
        ├── BucketUnfitError
        ├── StreamNotFoundError
        └── StreamUnfitError

An error holds its facts in ``args``, so that it survives pickling, and words them in
``__str__``. A message ends with the remedy, and holds no path, URL, credential, content
or text of a foreign exception: it may be shown to a model.
"""

from collections.abc import Iterable
from typing import ClassVar, Literal

from jsmemory.findings import Finding
from jsmemory.limits import MAX_CONTENT_BYTES, MAX_ENTRIES

StaleReason = Literal["unread", "changed"]
ClaimReason = Literal["held", "lost"]
EndReason = Literal["completed", "left", "rotated"]


class JsMemoryError(Exception):
    """The root: catch it to catch everything that jsmemory raises on purpose."""

    code: ClassVar[str] = "error"
    """A stable word for programs; it does not change between releases."""

    retryable: ClassVar[bool] = False
    """True where the same call, unchanged, may succeed later and nothing was written."""


# -- The request: cannot be met as put; nothing was written ---------------------------------


class RequestError(JsMemoryError):
    """The call cannot be met as it was put, and nothing was written."""

    code = "request"


class InvalidKeyError(RequestError, ValueError):
    """The key is outside the grammar, or cannot be kept under its name; or a prefix cannot be one."""

    code = "invalid_key"

    def __init__(
        self,
        problem: str,
        remedy: str = (
            "Use 1 to 200 characters out of A-Z a-z 0-9 . _ = - with no dot at either end and no two dots in a row."
        ),
    ) -> None:
        super().__init__(problem, remedy)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.problem}. {self.remedy}"


class InvalidEntryError(RequestError, ValueError):
    """The description or the content is no text that can be stored."""

    code = "invalid_entry"

    def __init__(self, field: Literal["description", "content"], problem: str, remedy: str) -> None:
        super().__init__(field, problem, remedy)
        self.field = field
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"The {self.field} {self.problem}. {self.remedy}"


class EntryTooLargeError(RequestError):
    """The content is longer than an entry may be; or another program has stored more than is ever read."""

    code = "entry_too_large"

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(size, limit)
        self.size = size
        self.limit = limit

    def __str__(self) -> str:
        if self.limit > MAX_CONTENT_BYTES:
            return (
                f"What is stored has {self.size} bytes, and no more than {self.limit} are read. "
                "Another program wrote it: split it over several keys, or delete it."
            )
        return (
            f"The content has {self.size} bytes of UTF-8 and an entry holds {self.limit}. "
            "Shorten it, or split it over several keys."
        )


class EntryExistsError(RequestError):
    """A create met an entry that is already there."""

    code = "entry_exists"

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key

    def __str__(self) -> str:
        return f"An entry {self.key!r} exists already. Read it, then update it, or choose another key."


class EntryNotFoundError(RequestError, LookupError):
    """No entry is stored under the key."""

    code = "entry_not_found"

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key

    def __str__(self) -> str:
        return f"There is no entry {self.key!r}. List the store to see its keys, or create the entry."


class StaleEntryError(RequestError):
    """
    An update without authority: the scope has not read the value that is stored now.

    Attributes:
        reason: ``unread``, the scope holds no revision of the key; ``changed``, somebody
            replaced or deleted the value since the scope saw it.
    """

    code = "stale_entry"

    def __init__(self, key: str, reason: StaleReason) -> None:
        super().__init__(key, reason)
        self.key = key
        self.reason: StaleReason = reason

    def __str__(self) -> str:
        if self.reason == "unread":
            return f"This run has not read {self.key!r}, so it may not overwrite it. Read it, then update."
        return f"{self.key!r} was changed since this run read it. Read it again, then update."


class StoreFullError(RequestError):
    """The store holds as many entries as it may."""

    code = "store_full"

    def __init__(self, limit: int = MAX_ENTRIES) -> None:
        super().__init__(limit)
        self.limit = limit

    def __str__(self) -> str:
        return f"The store holds its {self.limit} entries. Delete one that is no longer needed, or update one."


class ReadOnlyStoreError(RequestError):
    """A write met a store that was opened for reading."""

    code = "read_only"

    def __str__(self) -> str:
        return "This memory is read-only, nothing was written. Open it without read_only to write."


class ArchiveUnfitError(RequestError):
    """
    An archive was refused before anything of it was stored.

    Attributes:
        findings: What is wrong with it, each with what to do.
    """

    code = "archive_unfit"

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(self.findings)

    def __str__(self) -> str:
        return "The archive is unfit, nothing was written. " + _worded(self.findings)


class InvalidRecordError(RequestError, ValueError):
    """What a host gave to keep in a journal cannot be kept there."""

    code = "invalid_record"

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem, remedy)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"The record {self.problem}. {self.remedy}"


class RunExistsError(RequestError):
    """A run was to be started under a name that the journal has already."""

    code = "run_exists"

    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.run_id = run_id

    def __str__(self) -> str:
        return f"The journal holds a run {self.run_id!r} already. Resume it, or start one under another name."


class RunNotFoundError(RequestError, LookupError):
    """The journal holds no run of that name."""

    code = "run_not_found"

    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.run_id = run_id

    def __str__(self) -> str:
        return f"The journal holds no run {self.run_id!r}. List its runs, or start this one."


class RunClaimedError(RequestError):
    """
    The run belongs to another process.

    Attributes:
        reason: ``held``, another process has it, or was quicker to resume it; ``lost``, this
            process had it, and another one has taken it over since.
    """

    code = "run_claimed"

    def __init__(self, run_id: str, reason: ClaimReason = "held") -> None:
        super().__init__(run_id, reason)
        self.run_id = run_id
        self.reason: ClaimReason = reason

    def __str__(self) -> str:
        if self.reason == "lost":
            return f"Another process has taken over the run {self.run_id!r}. Stop this one."
        return (
            f"The run {self.run_id!r} belongs to another process, which has not suspended it. "
            "Wait until it does; only if that process is dead, take the run over."
        )


class RunEndedError(RequestError):
    """
    The run is over, or what was asked for belongs to a part of it that is.

    Attributes:
        reason: ``completed``, its journal says that there is nothing to go on with; ``left``,
            this process has suspended or ended it, and its tools with it; ``rotated``, only
            the conversation that the tools were for is over.
    """

    code = "run_ended"

    def __init__(self, run_id: str, reason: EndReason = "completed") -> None:
        super().__init__(run_id, reason)
        self.run_id = run_id
        self.reason: EndReason = reason

    def __str__(self) -> str:
        if self.reason == "rotated":
            return f"A new conversation of the run {self.run_id!r} has begun, nothing was done. Use its tools."
        if self.reason == "left":
            return f"The run {self.run_id!r} has been left, nothing was done. Resume it to go on."
        return f"The run {self.run_id!r} was completed. Start another one."


# -- The backend: the world failed ----------------------------------------------------------


class BackendError(JsMemoryError):
    """The backend could not do its part."""

    code = "backend"


class BackendUnavailableError(BackendError):
    """
    The backend did not answer, or could not act; nothing was written.

    That holds for every call that raises it. The message says so only where a write was asked
    for: a sentence about writing would puzzle whoever wanted to read, or to connect.
    """

    code = "backend_unavailable"
    retryable = True

    def __init__(self, problem: str, remedy: str = "Try again in a moment.") -> None:
        super().__init__(problem, remedy)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.problem} {self.remedy}"


class AccessDeniedError(BackendError):
    """
    The credentials in use lack a permission.

    Attributes:
        permission: What is missing, e.g. ``publish to $KV.team.alice.>``.
    """

    code = "access_denied"

    def __init__(self, permission: str) -> None:
        super().__init__(permission)
        self.permission = permission

    def __str__(self) -> str:
        return f"The backend refused access. Ask its operator for the permission: {self.permission}."


class OutcomeUnknownError(BackendError):
    """
    A write was sent, its answer was lost, and the backend could not be asked in time.

    The write may have landed, or may yet land; it can never overwrite a newer value.
    """

    code = "outcome_unknown"

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key

    def __str__(self) -> str:
        return f"It is not known whether the write of {self.key!r} landed. Read it before deciding anything."


class IncompleteListingError(BackendError):
    """A complete listing could not be had, most often not in time; a part of one is never given."""

    code = "incomplete_listing"
    retryable = True

    def __init__(
        self,
        problem: str = "The entries could not be listed completely in time.",
        remedy: str = "Try again in a moment.",
    ) -> None:
        super().__init__(problem, remedy)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.problem} {self.remedy}"


class TooManyEntriesError(BackendError):
    """There is more in the keyspace than a live view keeps in memory. A listing is no less complete for it."""

    code = "too_many_entries"

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit

    def __str__(self) -> str:
        return (
            f"There are more than {self.limit:,} entries, and a live view keeps no more. "
            "List them instead, or view one prefix of the bucket."
        )


class JournalCorruptError(BackendError):
    """
    The journal of a run holds what no run has written; nothing was taken from it.

    Attributes:
        record: Which record of the run, counted from 1.
        position: Where it is: the byte in a file, the sequence in a stream.
        problem: What is wrong with it.
    """

    code = "journal_corrupt"

    def __init__(self, run_id: str, record: int, position: int, problem: str) -> None:
        super().__init__(run_id, record, position, problem)
        self.run_id = run_id
        self.record = record
        self.position = position
        self.problem = problem

    def __str__(self) -> str:
        return (
            f"The journal of the run {self.run_id!r} cannot be read: record {self.record}, at position "
            f"{self.position}, {self.problem}. Keep it for whoever looks into it, and start another run."
        )


# -- Setup: from opening and preflight only -------------------------------------------------


class SetupError(JsMemoryError):
    """The store cannot be opened as configured."""

    code = "setup"


class UnknownBackendError(SetupError):
    """The configuration names a backend that nobody registered."""

    code = "unknown_backend"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.known = tuple(known)
        super().__init__(name, self.known)

    def __str__(self) -> str:
        return f"There is no backend {self.name!r}. Use one of: {', '.join(self.known)}."


class InvalidOptionsError(SetupError):
    """
    An option is unknown, of a wrong type or out of range.

    Attributes:
        option: Its name, dotted where it is nested, e.g. ``options.bucket``.
    """

    code = "invalid_options"

    def __init__(self, option: str, problem: str, remedy: str) -> None:
        super().__init__(option, problem, remedy)
        self.option = option
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"Option {self.option!r} {self.problem}. {self.remedy}"


class BucketNotFoundError(SetupError):
    """The bucket does not exist; a backend binds to a bucket and never makes one."""

    code = "bucket_not_found"

    def __init__(self, bucket: str, cure: str) -> None:
        super().__init__(bucket, cure)
        self.bucket = bucket
        self.cure = cure

    def __str__(self) -> str:
        return f"There is no bucket {self.bucket!r}. Its operator makes it with: {self.cure}"


def _worded(findings: Iterable[Finding]) -> str:
    """All problems, and each cure once: one command often mends several."""
    problems: dict[str, list[str]] = {}
    for finding in findings:
        problems.setdefault(finding.cure, []).append(finding.problem)
    return " ".join(f"{' '.join(each)} Cure: {cure}" for cure, each in problems.items())


class BucketUnfitError(SetupError):
    """The bucket, as configured, would lose or refuse entries."""

    code = "bucket_unfit"

    def __init__(self, bucket: str, findings: Iterable[Finding]) -> None:
        self.bucket = bucket
        self.findings = tuple(findings)
        super().__init__(bucket, self.findings)

    def __str__(self) -> str:
        return f"The bucket {self.bucket!r} is unfit for memory. " + _worded(self.findings)


class StreamNotFoundError(SetupError):
    """The stream does not exist; a journal binds to a stream and never makes one."""

    code = "stream_not_found"

    def __init__(self, stream: str, cure: str) -> None:
        super().__init__(stream, cure)
        self.stream = stream
        self.cure = cure

    def __str__(self) -> str:
        return f"There is no stream {self.stream!r}. Its operator makes it with: {self.cure}"


class StreamUnfitError(SetupError):
    """The stream, as configured, would lose or refuse the records of runs."""

    code = "stream_unfit"

    def __init__(self, stream: str, findings: Iterable[Finding]) -> None:
        self.stream = stream
        self.findings = tuple(findings)
        super().__init__(stream, self.findings)

    def __str__(self) -> str:
        return f"The stream {self.stream!r} is unfit for a journal. " + _worded(self.findings)
