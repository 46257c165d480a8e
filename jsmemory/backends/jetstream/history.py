"""
What a bucket keeps of the past of one key, for who may ask for consumers of its prefix only.

A consumer that begins behind a sequence delivers first what came right after it. It delivers
to an inbox by itself, is asked for nothing, and is forgotten when nobody listens any more.
"""

import asyncio
import secrets
from typing import Final

import msgspec
from nats.aio.msg import Msg

from jsmemory.backends.jetstream import translate
from jsmemory.backends.jetstream.asking import ask
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.inbox import sequence_of
from jsmemory.backends.jetstream.messages import Message
from jsmemory.backends.jetstream.wire import Wire

_FORGOTTEN_AFTER: Final = 1_000_000_000
# Nanoseconds; the server looks every second at the earliest.
_WAIT_S: Final = 2.0
# Seconds for the first message. A replica that lags delivers it when it has it.


async def first_delivered(wire: Wire, stream: str, subject: str, sequence: int, deadline: Deadline) -> Message | None:
    """
    The first message of a subject after a sequence that the stream still keeps, without its body.

    Args:
        wire: The connection.
        stream: The name of the stream.
        subject: The subject.
        sequence: What it comes after.
        deadline: When to give up.

    Returns:
        None where none was delivered in time.

    Raises:
        Denied: the credentials may not create the consumer.
        BackendError: the server will not make it.
        NotDelivered: the connection could not take it.
    """
    inbox, name = wire.connection.new_inbox(), secrets.token_hex(12)
    first: asyncio.Future[Message] = asyncio.get_running_loop().create_future()

    async def receive(delivered: Msg) -> None:
        if delivered.subject == subject and not first.done():
            first.set_result(Message.of(sequence_of(delivered), delivered.headers or {}, b"", ""))

    config = {
        "name": name,
        "deliver_policy": "by_start_sequence",
        "opt_start_seq": sequence + 1,
        "deliver_subject": inbox,
        "filter_subject": subject,
        "ack_policy": "none",
        "headers_only": True,
        "inactive_threshold": _FORGOTTEN_AFTER,
        "mem_storage": True,
        "num_replicas": 1,
    }
    asked = msgspec.json.encode({"stream_name": stream, "config": config})
    async with wire.subscription(inbox, receive):
        answer = await ask(wire, wire.api_subject(f"CONSUMER.CREATE.{stream}.{name}.{subject}"), asked, deadline)
        if (error := translate.decode(answer).error) is not None:
            raise translate.refusal(error)
        await asyncio.wait([first], timeout=deadline.at_most(_WAIT_S))
        return first.result() if first.done() else None
