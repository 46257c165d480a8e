"""One budget of seconds for a whole operation, however many requests it takes."""

import asyncio
import random
import time
from typing import Final

_FIRST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 0.5


class Deadline:
    """
    A point in time, and the pauses between tries on the way to it.

    Args:
        seconds: From now.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._pause = _FIRST_PAUSE

    @property
    def remaining(self) -> float:
        """Seconds left; 0 or less when it has passed."""
        return self._end - time.monotonic()

    @property
    def has_passed(self) -> bool:
        return self.remaining <= 0

    def at_most(self, seconds: float) -> float:
        """A timeout for one request: `seconds`, or what is left, and never nothing."""
        left = self._end - time.monotonic()
        return seconds if seconds < left else max(0.001, left)

    async def pause(self) -> None:
        """Wait before the next try: longer each time, and never the same as the neighbours."""
        await asyncio.sleep(min(self._pause * random.uniform(0.5, 1.5), max(0.0, self.remaining)))  # noqa: S311
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
