"""A connection behind which replicas lag, over a real one: what happens by chance, on demand."""

from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg

from jsmemory.testing.lossy import LossyConnection


class LaggingConnection(LossyConnection):
    """
    Shows what a replica shows that has not caught up.

    A direct get is answered as it was answered before; a consumer delivers the newest message
    of a key only after it has once said that nothing is pending.
    """

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._answers: dict[str, Msg] = {}
        self._old_answers = 0
        self._late: str | None = None

    def answer_old(self, times: int) -> None:
        """Answer the next direct gets with what the same request was answered first."""
        self._old_answers = times

    def deliver_late(self, subject: str) -> None:
        """Let the next consumer lag behind the newest message on `subject`."""
        self._late = subject

    async def request(
        self, subject: str, payload: bytes = b"", timeout: float = 0.5, *, headers: dict[str, Any] | None = None
    ) -> Msg:
        if ".DIRECT.GET." not in subject:
            return await super().request(subject, payload, timeout, headers=headers)
        if self._old_answers > 0 and subject in self._answers:
            self._old_answers -= 1
            return self._answers[subject]
        answer = await super().request(subject, payload, timeout, headers=headers)
        self._answers.setdefault(subject, answer)
        return answer

    async def subscribe(self, subject: str, *, cb: Any) -> Any:
        held: list[Msg] = []
        said_nothing = False

        async def receive(message: Msg) -> None:
            nonlocal said_nothing
            if message.subject == self._late:
                held.append(message)
                return
            if held and (message.headers or {}).get("Status"):
                if said_nothing:
                    await cb(held.pop())
                    self._late = None
                said_nothing = True
            await cb(message)

        return await super().subscribe(subject, cb=receive)
