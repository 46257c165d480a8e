"""Where settings come from, and which of them are looked at."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from jsmemory.connecting.contexts import read_context, selected_context

VARIABLES: Final = {
    "url": "NATS_URL",
    "user": "NATS_USER",
    "password": "NATS_PASSWORD",
    "token": "NATS_TOKEN",
    "creds": "NATS_CREDS",
    "nkey": "NATS_NKEY",
    "user_jwt": "NATS_JWT",
    "user_seed": "NATS_SEED",
    "ca": "NATS_CA",
    "cert": "NATS_CERT",
    "key": "NATS_KEY",
}
"""The variables that the nats CLI reads, by the field of a context that each stands for."""

WAYS_TO_AUTHENTICATE: Final = (("user", "password"), ("token",), ("creds",), ("nkey",), ("user_jwt", "user_seed"))
"""Fields that belong together; a source may use one row."""


@dataclass(frozen=True, slots=True)
class Source:
    """
    Settings that somebody put in one place.

    Attributes:
        values: By the names of a context's fields; none is empty. May hold secrets.
        names: What the place calls a field, where that differs from `place` and the field.
        place: The place, as the front of an option's name.
    """

    values: Mapping[str, str] = field(repr=False)
    names: Mapping[str, str] = field(default_factory=dict)
    place: str = ""

    def get(self, name: str) -> str | None:
        """The value of a field; None where it is not set."""
        return self.values.get(name)

    def option(self, name: str) -> str:
        """What the operator knows a field as."""
        return self.names.get(name) or (f"{self.place}.{name}" if self.place else name)

    def says_where_or_who(self) -> bool:
        """Whether it names servers or credentials."""
        return any(name in self.values for row in (("url",), *WAYS_TO_AUTHENTICATE) for name in row)


def gather(explicit: Source, context: str | None, environment: Mapping[str, str]) -> list[Source]:
    """
    The sources that count, the strongest first.

    What the code says, the context that the code names, the environment, the context that
    the environment names. The selected context counts only where none of them names servers
    or credentials, as with the nats CLI: what somebody once selected in a shell must not
    hand its credentials to a server that was named elsewhere.

    Raises:
        InvalidOptionsError: a context cannot be read.
    """
    # An empty variable is one that is not set: that is how compose files pass one on.
    variables = Source({name: environment[key] for name, key in VARIABLES.items() if environment.get(key)}, VARIABLES)
    if context is not None:
        return [explicit, _of_context(context, environment), variables]
    if named := environment.get("NATS_CONTEXT"):
        return [explicit, variables, _of_context(named, environment)]
    if explicit.says_where_or_who() or variables.says_where_or_who():
        return [explicit, variables]
    if selected := selected_context(environment):
        return [explicit, variables, _of_context(selected, environment)]
    return [explicit, variables]


def _of_context(name: str, environment: Mapping[str, str]) -> Source:
    return Source(read_context(name, environment), place="context")
