"""What a stream's leader says of it: asked again while a follower may need no more than a moment."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from jsmemory.backends.jetstream import translate
from jsmemory.examining.answers import Described
from jsmemory.examining.holding import is_catching_up
from jsmemory.examining.kept import Kept
from jsmemory.examining.questions import Questions, Silence, read
from jsmemory.examining.report import Check, Verdict, found

_PAUSES: Final = (0.0, 0.5, 1.5)
# Before each look at the followers: one that is a little late, as in a stream that was made just
# now, has caught up by the next.


@dataclass(frozen=True, slots=True)
class Description:
    """
    An answer, and when it was asked for.

    Attributes:
        raw: The answer as it came, or why there is none.
        said: The same, read.
        sent: When it was asked for.
        received: When it had come.
    """

    raw: bytes | Silence
    said: Described | translate.ApiError | Silence
    sent: datetime
    received: datetime


async def describe(kept: Kept, questions: Questions) -> Description:
    """Ask for the description of a stream."""
    for pause in _PAUSES:
        await asyncio.sleep(pause)
        sent = datetime.now().astimezone()
        raw = await questions.raw(f"STREAM.INFO.{kept.stream}")
        description = Description(raw, read(raw, Described), sent, datetime.now().astimezone())
        if not (isinstance(description.said, Described) and is_catching_up(description.said)):
            break
    return description


def undescribed(kept: Kept, answer: object) -> Check:
    """What is to be said where nobody describes it: `answer` is an error of the API, or why there is none."""
    code = f", with code {answer.err_code}" if isinstance(answer, translate.ApiError) else ""
    what = "bucket" if kept.noun == "bucket" else "stream"
    return found(
        kept.noun,
        Verdict.UNANSWERED,
        f"{what}_unanswered",
        f"Nobody says how the {what} is{code}: it has no leader, or its servers are down.",
        f"start a majority of the servers that hold it, then: nats stream info {kept.stream}",
    )
