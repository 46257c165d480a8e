"""What an operator may say about memory."""

from collections.abc import Mapping
from typing import Any

import msgspec

from jsmemory.errors import InvalidOptionsError
from jsmemory.opening.checking import checked
from jsmemory.opening.decoding import decode
from jsmemory.opening.reading import read_yaml


class Configuration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The block of a host's configuration that is about memory. Made by `of`.

    Attributes:
        enabled: Whether there is memory at all. A host asks before it opens a store.
        backend: The registered name of a backend; None names none, and `open_store` then opens
            ``file``, or takes the store that it was given.
        read_only: Whether creating, updating and deleting are refused. For an endpoint that
            takes prompts from strangers: they could plant what a later run takes for its own
            note. Runs on the store that `open_store` gives offer no tools that write.
        no_index: Whether a run starts without an index of what is stored. Runs on the store
            that `open_store` gives do so, unless their host says otherwise.
        options: What the backend is told; strict, the backend says what it knows.
    """

    enabled: bool = True
    backend: str | None = None
    read_only: bool = False
    no_index: bool = False
    options: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, given: "Configuration | Mapping[str, Any] | str") -> "Configuration":
        """
        Check what an operator wrote.

        Args:
            given: A mapping, or YAML text of at most 65,536 characters. A path is neither: the
                host reads the file. A Configuration comes back as it is.

        Raises:
            InvalidOptionsError: names the option, and what it may be.
        """
        if isinstance(given, Configuration):
            return given
        data = read_yaml(given) if isinstance(given, str) else given
        if not isinstance(data, Mapping):
            raise InvalidOptionsError(
                "configuration", "is no mapping", "Give a mapping or the text of one in YAML, not the name of a file."
            )
        return decode(data, cls, at="")

    def check(self, identity: str) -> None:
        """
        Check all that can be checked without opening anything: the backend, its options, the prefix.

        A host does it before it connects, so that a mistyped option is not hidden behind a
        server that does not answer.

        Args:
            identity: Who remembers.

        Raises:
            UnknownBackendError: nobody registered the backend that is named; lists the known ones.
            InvalidOptionsError: an option is unknown or wrong, the identity cannot be a
                prefix, or memory is disabled.
        """
        self.refuse_disabled()
        checked(self.backend, self.options, identity)

    def refuse_disabled(self) -> None:
        """
        Refuse to go on where there is no memory.

        Raises:
            InvalidOptionsError: memory is disabled.
        """
        if not self.enabled:
            raise InvalidOptionsError(
                "enabled", "is false, so there is no store to open", "Set it to true, or ask for it before opening."
            )
