"""
What one worker may do, as the text that a server takes: pure, from names to configuration.

In the flat layout workers share a bucket, each with a prefix. That keeps readers apart and
stops mistakes. It stops no hostile worker: JetStream carries out what it is asked to answer
on a subject of the worker's choice, with the rights of the whole account.

In the isolated layout a memory has an account of its own, and a worker another one, which
imports the services of the memory. An answer then never leaves the worker's account, save
as an answer, and there is nothing in the memory's account but that memory, and its journal.

A journal is one stream for all of its runs: whoever may write to it can go on with each of
them, and spoil each. Workers that do not trust each other have a stream each.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from jsmemory.backends.jetstream.facts import STREAM_PREFIX
from jsmemory.backends.jetstream.options import BUCKET_PATTERN, MAX_BUCKET_LENGTH
from jsmemory.errors import InvalidOptionsError
from jsmemory.journal.jetstream.recipe import LEGAL_NAME, is_stream_name, root_of
from jsmemory.provisioning.worker_names import memory_of, refuse_unless_free, variable_of

API: Final = "$JS.API"
LONGEST_NAME: Final = 180
"""Characters of the name of a memory's account; a subject that begins with it still fits an option."""

_PREFIX: Final = re.compile(r"[A-Za-z0-9_=-]{0,200}")

MEMORY_LIMITS: Final = {"max_mem": "1MB", "max_file": "512MB", "max_streams": 2, "max_consumers": 100}
"""
Of the account of one memory: its bucket, and the stream of a journal. A full store has some
75 MB, and three replicas of that count three times. A cluster sets nothing aside for it; a server
alone does, and does not start where the accounts' limits are more than its own, so it is not much
more. A listing takes a consumer, and a process with a live view keeps one.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPermissions:
    """
    The rights of one worker to the notes of one prefix, and to a journal, and not one more.

    Args:
        bucket: The bucket, 1 to 200 characters out of ``A-Z a-z 0-9 _ -``.
        prefix: The namespace in it, one token; ``""`` for the whole bucket.
        worker: Who gets the rights, 1 to 100 characters out of ``A-Z a-z 0-9 _ = -``, no sign
            first. Left out, it is called like its prefix, or like the bucket; ``_reader``
            is added where it only reads. What the cluster itself or a memory's account is called
            is not free.
        read_only: No right to store a note; its runs are recorded all the same.
        isolated: An account for the memory and one for the worker, against a hostile worker;
            else a user of the account that holds the bucket.
        journal: The stream that its runs are recorded in; ``""`` for none. Isolated, it lies in
            the account of the memory, and is the same for all who share that.

    Raises:
        InvalidOptionsError: a name is none, or is not free.
    """

    bucket: str
    prefix: str
    worker: str = ""
    read_only: bool = False
    isolated: bool = False
    journal: str = ""

    def __post_init__(self) -> None:
        if len(self.bucket) > MAX_BUCKET_LENGTH or not re.search(BUCKET_PATTERN, self.bucket):
            raise InvalidOptionsError(
                "bucket", "is no name of a bucket", f"Use 1 to {MAX_BUCKET_LENGTH} characters out of A-Z a-z 0-9 _ -."
            )
        if not _PREFIX.fullmatch(self.prefix):
            raise InvalidOptionsError(
                "prefix", "is no single token", "Use up to 200 characters out of A-Z a-z 0-9 _ = -, without a dot."
            )
        if not self.worker:
            object.__setattr__(self, "worker", (self.prefix or self.bucket) + ("_reader" if self.read_only else ""))
        refuse_unless_free(self.worker)
        if self.journal and not is_stream_name(self.journal):
            raise InvalidOptionsError(
                "journal",
                "is no name of a journal's stream",
                f"Use {LEGAL_NAME}.",
            )
        if self.isolated and len(self.memory) > LONGEST_NAME:
            raise InvalidOptionsError("prefix", "is too long together with the bucket", "Give one of them less.")

    # -- Names ------------------------------------------------------------------------------

    @property
    def memory(self) -> str:
        """The account that holds an isolated memory, and its operator's user in it."""
        return memory_of(self.bucket, self.prefix)

    @property
    def inbox_prefix(self) -> str:
        """The first token of where the worker's answers come back; no other user may listen there."""
        return f"_INBOX_{self.worker}"

    @property
    def api_prefix(self) -> str:
        """The subject that the worker finds the JetStream API under."""
        return ".".join(filter(None, ("MEMORY", self.bucket, self.prefix, "API"))) if self.isolated else API

    @property
    def options(self) -> dict[str, Any]:
        """
        The options that the worker opens its store with.

        In a bucket that others share it may not ask for the configuration, which shows their
        keys, and so opens the store with preflight off.
        """
        return {"bucket": self.bucket, "prefix": self.prefix, "preflight": self.isolated}

    @property
    def opening(self) -> dict[str, Any]:
        """The configuration that the worker's host opens its store with."""
        return {"backend": "jetstream", "options": self.options}

    # -- Rights -----------------------------------------------------------------------------

    def services(self, *, read_only: bool) -> tuple[str, ...]:
        """What a store and a journal ask of JetStream: the subjects in the account that holds the bucket."""
        stream = f"{STREAM_PREFIX}{self.bucket}"
        keys = ".".join(filter(None, ("$KV", self.bucket, self.prefix, ">")))
        asked = [
            f"{API}.DIRECT.GET.{stream}.{keys}",
            f"{API}.CONSUMER.CREATE.{stream}.*.{keys}",
            f"{API}.CONSUMER.MSG.NEXT.{stream}.*",
            f"{API}.CONSUMER.DELETE.{stream}.*",
        ]
        if self.isolated:
            # They show all that is in an account: here, only what the worker may read anyway.
            asked += [f"{API}.INFO", f"{API}.STREAM.INFO.{stream}", f"{API}.STREAM.MSG.GET.{stream}"]
        return (*asked, *self._recording) if read_only else (keys, *asked, *self._recording)

    @property
    def _recording(self) -> tuple[str, ...]:
        """What a journal asks; any run is any worker's to go on with, so it is all of them."""
        if not self.journal:
            return ()
        operations = ("STREAM.INFO", "STREAM.MSG.GET", "DIRECT.GET")
        return (f"{root_of(self.journal)}>", *(f"{API}.{operation}.{self.journal}" for operation in operations))

    @property
    def publish(self) -> tuple[str, ...]:
        """The subjects that the worker may publish to."""
        return tuple(self._local(subject) for subject in self.services(read_only=self.read_only))

    @property
    def subscribe(self) -> tuple[str, ...]:
        """The subjects that the worker may listen to."""
        return (f"{self.inbox_prefix}.>",)

    def _local(self, subject: str) -> str:
        return f"{self.api_prefix}{subject.removeprefix(API)}" if subject.startswith(f"{API}.") else subject

    # -- As text ----------------------------------------------------------------------------

    def configuration(self) -> str:
        """
        The lines for a server's configuration: an element of ``users``, or elements of ``accounts``.

        Passwords are taken from the environment that the server starts in; one that is missing
        keeps it from starting.
        """
        if self.isolated:
            about = [
                "# For the accounts of a server: accounts { include ./this-file.conf }",
                "# On the host of the memory's operator:",
                f'#   nats context add {self.memory} --server="$NATS_URL" --user={self.memory} '
                f'--password="{variable_of(self.memory)}"',
            ]
        else:
            about = [
                "# For the users of the account that holds the bucket. It keeps workers apart and stops",
                "# mistakes; a hostile worker is stopped only by the isolated layout.",
            ]
        lines = self._accounts() if self.isolated else self._user()
        return "\n".join([*self._about(), *about, *self._opening(self.nats_context()), "", *lines, ""])

    def nats_auth(self) -> str:
        """
        The lines that give the rights where users have JWTs, for a shell and the nats command line.

        It can make no export whose service answers more than once, as listings need. So here
        the isolated worker is a user of the memory's own account, where it can harm no other.
        """
        flags = [f"--pub-allow='{subject}'" for subject in self.services(read_only=self.read_only)]
        flags += [f"--sub-allow='{subject}'" for subject in self.subscribe]
        flags += [f"--credential={self.worker}.creds", "--defaults"]
        account = self.memory if self.isolated else '"${ACCOUNT:?is the account that holds the bucket}"'
        lines = [f"nats auth user add {self.worker} {account} {' '.join(flags)}"]
        if self.isolated:
            memory, disk, streams, consumers = MEMORY_LIMITS.values()
            limits = f"--js-memory={memory} --js-disk={disk} --js-streams={streams} --js-consumers={consumers}"
            lines = [
                "# The memory, and its operator, who makes the bucket.",
                *_unless_there("account", account, f"--jetstream {limits}"),
                *_unless_there("user", f"{account} {account}", f"--credential={account}.creds"),
                "# The worker.",
                *lines,
            ]
        about = ["# For servers whose users have JWTs, in a shell. ACCOUNT names the account of the bucket."]
        if self.isolated:
            about = [
                "# For servers whose users have JWTs, in a shell. Where a resolver keeps the accounts, then:",
                f"#   nats auth account push {account}",
            ]
            if self.read_only:
                about += ["# A hostile reader is stopped from writing only by a server's configuration."]
        return "\n".join([*self._about(), *about, *self._opening(self.nats_context(with_jwt=True)), "", *lines, ""])

    def nats_context(self, *, with_jwt: bool = False) -> str:
        """The line with which the worker's host gets to know the server, for the nats command line."""
        # A context is used from every folder, so it names the file in full.
        who = (
            f'--creds="$PWD/{self.worker}.creds"'
            if with_jwt
            else f'--user={self.worker} --password="{variable_of(self.worker)}"'
        )
        api = f" --js-api-prefix={self.api_prefix}" if self.isolated and not with_jwt else ""
        return f'nats context add {self.worker} --server="$NATS_URL" {who} --inbox-prefix={self.inbox_prefix}{api}'

    def _about(self) -> list[str]:
        what = f"the prefix {self.prefix} of the bucket {self.bucket}" if self.prefix else f"the bucket {self.bucket}"
        recorded = f", records runs in {self.journal}" if self.journal else ""
        may = "reads" if self.read_only else "reads and writes"
        return [f"# {self.worker} {may} {what}{recorded}, and does nothing else."]

    def _opening(self, context: str) -> list[str]:
        secured = '#   where servers have TLS, with this too: --tlsca="$NATS_CA"'
        lines = ["# On its host:", f"#   {context}", secured, f"#   jsmemory.yaml: {json.dumps(self.opening)}"]
        return [*lines, f"#   its runs: jsmemory run --journal {self.journal} --run-id NAME"] if self.journal else lines

    def _user(self) -> list[str]:
        return [
            "{",
            f'  user: "{self.worker}"',
            f"  password: {variable_of(self.worker)}",
            "  permissions: {",
            *_array("publish", (f'"{subject}"' for subject in self.publish), indent="    "),
            *_array("subscribe", (f'"{subject}"' for subject in self.subscribe), indent="    "),
            "  }",
            "}",
        ]

    def _accounts(self) -> list[str]:
        limits = ", ".join(f"{name}: {limit}" for name, limit in MEMORY_LIMITS.items())
        of_many_answers = {
            f"{API}.CONSUMER.MSG.NEXT.{STREAM_PREFIX}{self.bucket}.*",
            f"{API}.DIRECT.GET.{self.journal}",
        }
        exports = [
            f'{{ service: "{it}"{", response_type: stream" if it in of_many_answers else ""} }}'
            for it in self.services(read_only=False)
        ]
        imports = [
            f'{{ service: {{ account: "{self.memory}", subject: "{it}" }}, to: "{self._local(it)}" }}'
            for it in self.services(read_only=self.read_only)
        ]
        return [
            "# The memory, and its operator, who makes the bucket. For all who share it these lines are",
            "# the same, and may be there more than once. Nothing else may live in this account.",
            *(["# So print each of them with this journal."] if self.journal else []),
            f'"{self.memory}": {{',
            f"  jetstream: {{ {limits} }}",
            f'  users: [ {{ user: "{self.memory}", password: {variable_of(self.memory)} }} ]',
            *_array("exports", exports, indent="  "),
            "}",
            "# The worker.",
            f'"{self.worker}": {{',
            "  users: [",
            *(f"    {line}" for line in self._user()),
            "  ]",
            *_array("imports", imports, indent="  "),
            "}",
        ]


def _array(name: str, elements: Iterable[str], *, indent: str) -> list[str]:
    return [f"{indent}{name}: [", *(f"{indent}  {element}" for element in elements), f"{indent}]"]


def _unless_there(kind: str, name: str, flags: str) -> list[str]:
    return [
        f"nats auth {kind} info {name} >/dev/null 2>&1 ||",
        f"  nats auth {kind} add {name} {flags} --defaults",
    ]
