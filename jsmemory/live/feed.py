"""The seam between a view and what it follows."""

from abc import ABC, abstractmethod


class Feed(ABC):
    """
    Keeps one picture like the keyspace that it shows. Made for that picture, and for one loop.
    """

    @abstractmethod
    async def follow(self) -> None:
        """
        Keep the picture up to date until cancelled, and leave nothing behind then.

        What fails on the way is told to the picture (`Picture.lose`) and tried again. What is
        raised ends the view: there is nothing more to follow.
        """

    @abstractmethod
    async def catch_up(self) -> bool:
        """
        Wait until the picture shows everything that was stored before the call.

        Returns:
            False where that cannot be had soon: whoever wants a listing takes a full one.

        Raises:
            JsMemoryError: as a full listing would; it is not tried any more.
        """
