"""
A conditional publish, tried until it is answered or its time is over.

It names the sequence that it follows, so it can be sent again without harm: it lands once at
most. What it cannot tell is whether a try that nobody answered was the one that landed.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from jsmemory.backends.jetstream import translate
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.wire import Denied, NotAnswered, NotDelivered, Wire
from jsmemory.errors import AccessDeniedError, BackendUnavailableError, JsMemoryError, OutcomeUnknownError

_FIRST_TRY: Final = 1.0
_LONGEST_TRY: Final = 4.0
# Seconds for one publish. Short at first, since after the death of a leader the first one is
# always lost; longer later, for a server that is merely slow.


class Publishing:
    """
    One publish, and what is known of its tries.

    Args:
        wire: The connection.
        subject: Where to.
        payload: The body.
        headers: With the condition.
        deadline: When to give up.
        key: What an open outcome is about.
        unreachable: What to say where no try reached anybody.
        can_land: False where the condition is known to fail: then it is sent for the answer only.
        before_again: Called before a further try, and may raise to prevent it: what held when the
            first one was sent may hold no longer.

    Attributes:
        may_have_landed: Whether a try was sent whose answer is unknown, and can have landed.
        is_open: Whether a try was sent whose answer is unknown.
    """

    def __init__(
        self,
        wire: Wire,
        subject: str,
        payload: bytes,
        headers: dict[str, str],
        deadline: Deadline,
        *,
        key: str,
        unreachable: str,
        can_land: bool = True,
        before_again: Callable[[Deadline], Awaitable[None]] | None = None,
    ) -> None:
        self._wire = wire
        self._subject = subject
        self._payload = payload
        self._headers = headers
        self._deadline = deadline
        self._key = key
        self._unreachable = unreachable
        self._can_land = can_land
        self._before_again = before_again
        self._try_for = _FIRST_TRY
        self.may_have_landed = False
        self.is_open = False

    async def answer(self) -> translate.Answer:
        """
        Send until there is an answer, which may be a refusal.

        Raises:
            AccessDeniedError: the credentials may not publish to the subject.
            OutcomeUnknownError: no answer in time, and it may have landed.
            BackendUnavailableError: no answer in time, and it has not landed.
        """
        while True:
            try:
                reply = await self._wire.request(
                    self._subject,
                    self._payload,
                    timeout=self._deadline.at_most(self._try_for),
                    headers=self._headers,
                )
            except NotDelivered:
                pass
            except Denied:
                if not self.may_have_landed:
                    raise AccessDeniedError(f"publish to {self._subject}") from None
            except NotAnswered:
                self.is_open = True
                self.may_have_landed = self._can_land
                self._try_for = min(self._try_for * 2, _LONGEST_TRY)
            except BackendUnavailableError:
                # The connection is closed for good: nobody can be asked any more.
                if self.may_have_landed:
                    raise OutcomeUnknownError(self._key) from None
                raise
            else:
                return translate.decode(reply.data)
            await self.pause()

    async def pause(self) -> None:
        """
        Wait before the next try.

        Raises:
            OutcomeUnknownError: there is no time for one, and an earlier one may have landed.
            BackendUnavailableError: there is no time for one, and none has landed.
        """
        if self._deadline.has_passed:
            if self.may_have_landed:
                raise OutcomeUnknownError(self._key)
            raise BackendUnavailableError(f"{self._unreachable} Nothing was written.")
        await self._deadline.pause()
        if self._before_again is not None:
            await self._ask_before_again(self._before_again)

    async def _ask_before_again(self, ask: Callable[[Deadline], Awaitable[None]]) -> None:
        try:
            await ask(self._deadline)
        except JsMemoryError:
            if self.may_have_landed:
                raise OutcomeUnknownError(self._key) from None
            raise
