"""Where a tool may be offered beyond the run that it is bound to."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Surface(StrEnum):
    """A way by which strangers reach the tools of a host."""

    MCP = "mcp"
    A2A = "a2a"


@dataclass(frozen=True, slots=True)
class Exposure:
    """
    What the author of a tool has decided about each surface. There is no default.

    Args:
        surfaces: Those on which the tool may be offered; none is a decision too, `NOWHERE`.
    """

    surfaces: frozenset[Surface]

    def allows(self, surface: Surface) -> bool:
        """Whether the tool may be offered on a surface."""
        return surface in self.surfaces


NOWHERE: Final = Exposure(frozenset())
"""For the run's own model alone: a stranger who could write here would speak to later runs."""
