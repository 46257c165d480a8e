"""
The change feed of one prefix: a listing that does not end.

The consumer that a listing is taken with goes on to deliver what is stored afterwards. So one
consumer, in one order, tells everything; and when it is lost, or there is any doubt, the feed
begins anew with everything: nothing that went without a trace meanwhile is missed.

To catch up costs one question to the leader: how far has the prefix come? Up to there the feed
must have been heard, wherever its consumer lives. Every two seconds it costs one more, whether
the leader is one still. An answer below what was heard before means
that something is gone without a trace, or the whole bucket. And where the connection was lost
meanwhile, an answer that fits proves nothing: nobody has told what became of the consumer.
"""

import asyncio
import math
import random
from collections.abc import Awaitable, Callable
from typing import Final

from jsmemory.backends.jetstream.binding import MadeAnew
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.inbox import Inbox, Interrupted, Row
from jsmemory.backends.jetstream.listing import Listing, Listings
from jsmemory.backends.jetstream.wire import Denied, NotAnswered, NotDelivered, Wire
from jsmemory.entries import Item
from jsmemory.errors import AccessDeniedError, BackendError, BackendUnavailableError, JsMemoryError
from jsmemory.keys import Prefix
from jsmemory.live import Feed, Known, Picture

_PATIENCE: Final = 1.0
# Seconds in which the feed may catch up, before a full listing is quicker.

_LOOKED_ANEW_EVERY: Final = 30.0
# Seconds after which a view in use looks at everything again. An operator's purge leaves no
# message, and neither does a value that expires in a bucket without expiry markers.
_SHOWN_FOR: Final = 2 * _LOOKED_ANEW_EVERY
# Seconds for which what was looked at is shown. A view that nobody has used for longer looks first.

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0
_PAUSE_WHERE_WAITING_IS_VAIN: Final = 30.0


class Following(Feed):
    """
    The feed of a view.

    Args:
        picture: What to keep.
        wire: The connection.
        prefix: Which names count.
        listings: Gives the listings of the bucket as it is now.
        describe: Gives the descriptions of values that other programs wrote.
        examine: Examines the bucket, where that is due.
        budget: Seconds for one look at everything.
    """

    def __init__(
        self,
        picture: Picture,
        wire: Wire,
        prefix: Prefix,
        *,
        listings: Callable[[], Listings],
        describe: Callable[[dict[str, int], Deadline], Awaitable[dict[str, str]]],
        examine: Callable[[Deadline], Awaitable[None]],
        budget: float,
    ) -> None:
        self._picture = picture
        self._wire = wire
        self._prefix = prefix
        self._listings = listings
        self._describe = describe
        self._examine = examine
        self._budget = budget
        self._heard = 0
        self._is_in_step = False
        self._is_used = False
        self._looked_at = -math.inf
        self._followed: tuple[object, object] = (None, None)
        self._inbox: Inbox | None = None

    async def follow(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            trouble: JsMemoryError | None = None
            try:
                await self._follow_once()
            except Denied:
                trouble = AccessDeniedError(
                    f"list {self._listings().filter}: publish to CONSUMER.CREATE, MSG.NEXT and DELETE"
                )
            except MadeAnew:
                continue
            except (Interrupted, NotAnswered, NotDelivered):
                trouble = BackendUnavailableError("The bucket's change feed was interrupted.")
            except JsMemoryError as error:
                trouble = error
            finally:
                pause = _FIRST_PAUSE if self._is_in_step else min(pause * 2, _LONGEST_PAUSE)
                self._is_in_step, self._inbox = False, None
            if trouble is None:
                continue
            if self._wire.is_closed:
                raise self._wire.closed() from None
            self._picture.lose(trouble)
            longest = pause if trouble.retryable else _PAUSE_WHERE_WAITING_IS_VAIN
            await asyncio.sleep(longest * random.uniform(0.5, 1.0))  # noqa: S311, no secret depends on it

    async def catch_up(self) -> bool:
        self._is_used = True
        deadline = Deadline(_PATIENCE)
        heard = self._heard if self._is_in_step else 0
        try:
            await self._examine(deadline)
            listings = self._listings()
            await listings.prove(deadline)
            goal = await listings.goal(deadline)
        except MadeAnew:
            self._look_anew()
            return False
        except (Denied, BackendError):
            # The full listing meets it too, has more time, and says what it is.
            return False
        now = (listings, self._wire.link)
        if goal < heard or self._age > _SHOWN_FOR or self._followed != now:
            self._look_anew()
        try:
            async with asyncio.timeout(deadline.at_most(_PATIENCE)):
                while not (self._is_in_step and self._heard >= goal and self._followed == now):
                    await self._picture.moved()
        except TimeoutError:
            return False
        return True

    async def _follow_once(self) -> None:
        """Follow until the consumer is lost; or until it is time to look at everything again."""
        deadline = Deadline(self._budget)
        await self._examine(deadline)
        listings, listing = self._listings(), Listing()
        inbox = listings.inbox(listing)
        self._followed, self._looked_at = (listings, self._wire.link), asyncio.get_running_loop().time()
        async with listings.consumer(deadline) as asked, self._wire.subscription(inbox.subject, inbox.receive):
            await listings.complete(listing, inbox, asked, deadline)
            await self._take_all(listing, deadline)
            self._inbox, self._is_in_step = inbox, True
            self._picture.move()
            await self._keep_up(listing, inbox, asked)

    async def _keep_up(self, listing: Listing, inbox: Inbox, asked: str) -> None:
        self._is_used = False
        while self._is_in_step:
            await inbox.listen(asked)
            if listing.rows:
                await self._take_some(listing)
            if self._age > _LOOKED_ANEW_EVERY and (self._is_used or self._picture.is_watched):
                return

    @property
    def _age(self) -> float:
        """Seconds since everything was looked at."""
        return asyncio.get_running_loop().time() - self._looked_at

    def _look_anew(self) -> None:
        self._is_in_step = False
        if self._inbox is not None:
            self._inbox.stir()

    async def _take_all(self, listing: Listing, deadline: Deadline) -> None:
        rows, heard = _taken_out(listing)
        known = await self._known(rows, deadline)
        self._picture.replace(each for each in known.values() if each is not None)
        self._heard = heard

    async def _take_some(self, listing: Listing) -> None:
        rows, heard = _taken_out(listing)
        for key, known in (await self._known(rows, Deadline(self._budget))).items():
            self._picture.put(key, known)
        self._heard = heard
        self._picture.move()

    async def _known(self, rows: dict[str, Row], deadline: Deadline) -> dict[str, Known | None]:
        """What is known of the keys of some rows; None for those that hold no value any more."""
        known: dict[str, Known | None] = {}
        foreign: dict[str, str] = {}
        for name, row in rows.items():
            key = self._prefix.strip(name)
            if key is None:
                continue
            before = self._picture.get(key)
            if not row.is_value:
                known[key] = None
            elif row.description is not None:
                known[key] = Known(Item(key, row.description), str(row.sequence), row.stored_at)
            elif before is not None and (before.revision, before.stamp) == (str(row.sequence), row.stored_at):
                known[key] = before
            else:
                # In its place among the others, until it is described.
                known[key] = None
                foreign[name] = key
        found = await self._describe({name: rows[name].sequence for name in foreign}, deadline)
        for name, description in found.items():
            key, row = foreign[name], rows[name]
            known[key] = Known(Item(key, description), str(row.sequence), row.stored_at)
        return known


def _taken_out(listing: Listing) -> tuple[dict[str, Row], int]:
    """The rows that have come, and how far they go; what comes from now on is collected anew."""
    rows, listing.rows = listing.rows, {}
    return rows, listing.last
