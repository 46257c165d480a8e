"""What a host is told of each call: one line for a log, and the error that the model never sees."""

import logging
from collections.abc import Callable
from typing import Final

import msgspec

from jsmemory.errors import JsMemoryError

_LOG: Final = logging.getLogger("jsmemory.tools")


class Trace(msgspec.Struct, frozen=True):
    """
    One call that has ended.

    Attributes:
        tool: The name of the tool; ``-`` where there is none of the name that was called.
        key: The key, where the call has a legal one. Neither description nor content.
        code: ``ok``, the code of the answer, or ``cancelled``.
        ms: How long it took, in milliseconds.
        error: What the store raised; for the host only, it may say anything.
    """

    tool: str
    key: str | None
    code: str
    ms: float
    error: BaseException | None = None

    @property
    def line(self) -> str:
        """The call in one line that holds no content and no text of an error."""
        kind = "" if self.error is None else f" error={_name_of(self.error)}"
        return f"{self.tool} key={self.key or '-'} code={self.code} ms={self.ms:.1f}{kind}"

    def __repr__(self) -> str:
        return f"<Trace {self.line}>"


Hook = Callable[[Trace], None]
"""Told of each call; must not block."""


def log(trace: Trace) -> None:
    """The default hook: to the logger ``jsmemory.tools``, an error nobody foresaw with its traceback."""
    if trace.error is None:
        if _LOG.isEnabledFor(logging.INFO):
            _LOG.info("%s", trace.line)
    elif isinstance(trace.error, JsMemoryError):
        _LOG.warning("%s", trace.line)
    else:
        _LOG.error("%s", trace.line, exc_info=trace.error)


def tell(hook: Hook, trace: Trace) -> None:
    """
    Call a hook. What it raises is logged and goes no further.

    A write has landed by then: were the hook's error raised, the call would look as if it had not.
    """
    try:
        hook(trace)
    except Exception:
        _LOG.exception("The hook for traces failed.")


def _name_of(error: BaseException) -> str:
    name = type(error).__name__
    return name if name.isidentifier() else "-"
