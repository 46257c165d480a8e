"""
Reading a key, never older than this process has seen it.

A direct get is the fast way, and any replica may answer it, also one that lags. An answer
older than the key's mark is asked for again: of the stream's leader where the credentials
allow it, else of whoever answers, until it shows what is known.
"""

from typing import Final, Protocol

import msgspec

from jsmemory.backends.jetstream import translate
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.history import first_delivered
from jsmemory.backends.jetstream.leader import last_sequence, last_sequence_for_reader
from jsmemory.backends.jetstream.marks import UNSEEN, Mark, Marks
from jsmemory.backends.jetstream.messages import Message
from jsmemory.backends.jetstream.wire import Denied, NotAnswered, NotDelivered, Wire
from jsmemory.errors import AccessDeniedError, BackendUnavailableError

_ONE_TRY: Final = 2.0
# Seconds for one request; a lost one is asked again, since reading twice harms nobody.


class Doubt(Protocol):
    """What to do about an answer that contradicts what is known of the bucket."""

    async def __call__(self, deadline: Deadline, *, certain: bool = False) -> None:
        """
        Return if the bucket is the same as before; raise what ends the verb if it is not.

        `certain` says that it cannot be, for who may not ask.
        """


class Reading:
    """
    Reads of one bucket.

    Args:
        wire: The connection.
        bucket: Its name.
        marks: What this process knows; raised by every read.
        asks_leader: Whether the credentials may ask the leader (which shows every key).
        is_replicated: Whether an answer may come from a replica that lags.
        allows_direct: Whether the bucket serves direct gets.
        doubt: Called when nobody serves the bucket, or one that cannot lag shows less than is known.

    Attributes:
        asks_leader: As given.
    """

    def __init__(
        self,
        wire: Wire,
        bucket: str,
        marks: Marks,
        *,
        asks_leader: bool,
        is_replicated: bool,
        allows_direct: bool,
        doubt: Doubt,
    ) -> None:
        self._wire = wire
        self._bucket = bucket
        self._marks = marks
        self.asks_leader = asks_leader
        self._is_replicated = is_replicated
        self._allows_direct = allows_direct
        self._doubt = doubt
        self._may_publish = True
        # Until a denial says otherwise; it is as much as asked for with every write.

    async def newest(
        self, name: str, deadline: Deadline, *, at_least: int = 0, confirm: bool = False, ask_leader: bool = False
    ) -> Message | None:
        """
        The message that `name` holds, at the sequence of its mark or a later one.

        Args:
            name: The key's name in the bucket.
            deadline: When to give up.
            at_least: A sequence that the caller knows the key to have reached.
            confirm: Whether that there is no value has to be the leader's word: a replica that lags
                says so of one that was just stored.
            ask_leader: Whether all of it has to be the leader's word, where the credentials allow to ask.

        Returns:
            The message, which may be a marker; None where there is none.

        Raises:
            BackendUnavailableError: not to be had in time; old text is never given.
            AccessDeniedError: the credentials may not read the key.
            MadeAnew: what is there belongs to another bucket of the same name.
        """
        mark = self._marks.of(name)
        floor = max(at_least, mark.sequence)
        from_leader = not self._allows_direct or (ask_leader and self.asks_leader)
        while True:
            try:
                message = await (self._ask_leader if from_leader else self._ask_anyone)(name, deadline)
            except Denied:
                raise AccessDeniedError(f"read $KV.{self._bucket}.{name}") from None
            except NotDelivered:
                # Nobody serves the bucket: it has no leader just now, or it is gone.
                await self._doubt(deadline)
                from_leader = from_leader or self.asks_leader
            except NotAnswered:
                pass
            else:
                cannot_lag = from_leader or not self._is_replicated
                if message is not None and message.sequence >= floor:
                    if message.sequence == mark.sequence and message.operation != mark.operation:
                        await self._doubt(deadline, certain=True)
                    if message.value is not None or cannot_lag or not confirm:
                        self._marks.saw(name, message)
                        return message
                elif cannot_lag or (floor == 0 and not confirm):
                    if floor > 0:
                        # The bucket was made anew, or an operator's compaction took the marker.
                        await self._doubt(deadline)
                    if message is None:
                        return None
                if self.asks_leader and not from_leader:
                    from_leader = True
                    continue
                if not self.asks_leader and self._is_replicated:
                    said = await self._floor_of_leader(name, mark, deadline)
                    if said is None and (message is None or message.sequence >= floor) and mark is UNSEEN:
                        # Who may not ask the leader has to do with what anyone says.
                        return message
                    floor, confirm = floor if said is None else said, False
            if deadline.has_passed:
                raise BackendUnavailableError("The bucket did not show its newest value in time.")
            await deadline.pause()

    async def first_after(self, name: str, sequence: int, deadline: Deadline) -> Message | None:
        """
        The first message of `name` after a sequence that the bucket still keeps; its value may be left out.

        None where there is none, or the credentials may not ask.

        Raises:
            BackendError: not to be had in time.
        """
        subject = f"$KV.{self._bucket}.{name}"
        while True:
            try:
                if not self.asks_leader:
                    return await first_delivered(self._wire, f"KV_{self._bucket}", subject, sequence, deadline)
                return await self._get_from_leader({"seq": sequence + 1, "next_by_subj": subject}, deadline)
            except Denied:
                return None
            except (NotDelivered, NotAnswered):
                if deadline.has_passed:
                    raise BackendUnavailableError("The bucket did not show its history in time.") from None
            await deadline.pause()

    async def _floor_of_leader(self, name: str, mark: Mark, deadline: Deadline) -> int | None:
        """How far the leader says that the key has come; None for who may not even ask that."""
        subject = f"$KV.{self._bucket}.{name}"
        try:
            if self._may_publish:
                last = await last_sequence(self._wire, subject, None, deadline)
            else:
                last = await last_sequence_for_reader(self._wire, f"KV_{self._bucket}", subject, deadline)
        except Denied:
            if not self._may_publish:
                return None
            self._may_publish = False
            return await self._floor_of_leader(name, mark, deadline)
        if last < mark.sequence:
            if last > 0 or mark.is_value:
                await self._doubt(deadline, certain=True)
            # A marker that was compacted.
            self._marks.drop(name)
        return last

    async def _ask_anyone(self, name: str, deadline: Deadline) -> Message | None:
        subject = self._wire.api_subject(f"DIRECT.GET.KV_{self._bucket}.$KV.{self._bucket}.{name}")
        answer = await self._wire.request(subject, b"", timeout=deadline.at_most(_ONE_TRY))
        message = Message.from_direct_get(answer)
        # A status of the server's own comes without a message; one with it is another program's header.
        if message is None and (answer.headers or {}).get("Status") != "404":
            raise NotAnswered
        return message

    async def _ask_leader(self, name: str, deadline: Deadline) -> Message | None:
        return await self._get_from_leader({"last_by_subj": f"$KV.{self._bucket}.{name}"}, deadline)

    async def _get_from_leader(self, asked: dict[str, object], deadline: Deadline) -> Message | None:
        subject = self._wire.api_subject(f"STREAM.MSG.GET.KV_{self._bucket}")
        reply = await self._wire.request(subject, msgspec.json.encode(asked), timeout=deadline.at_most(_ONE_TRY))
        answer = translate.decode(reply.data)
        if answer.message is not None:
            return Message.from_leader_get(answer.message)
        if answer.error is not None and answer.error.err_code == translate.MESSAGE_NOT_FOUND:
            return None
        raise NotAnswered
