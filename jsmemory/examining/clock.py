"""Whether this host and the servers agree what time it is."""

from datetime import datetime, timedelta
from typing import Final

from jsmemory.examining.report import Check, Verdict, found, ok, unknown

TOLERATED: Final = timedelta(seconds=5)
"""Credentials with a date, ages in logs and markers that expire go by the clock; a store does not."""


def clock(said: str, sent: datetime, received: datetime) -> Check:
    """
    Hold a server's time against ours.

    Args:
        said: The server's time, as RFC 3339.
        sent: Our time when it was asked.
        received: Our time when the answer was there.
    """
    try:
        theirs = datetime.fromisoformat(said)
        difference = max(sent - theirs, theirs - received, timedelta(0))
    except (ValueError, TypeError):
        return unknown("clock", "the server did not tell its time")
    seconds = difference.total_seconds()
    if difference <= TOLERATED:
        return ok("clock", "as the server's" if seconds < 1 else f"{seconds:.1f} s from the server's")
    return found(
        "clock",
        Verdict.WARNING,
        "clock_skew",
        f"This host's clock is {seconds:.0f} s from the server's: credentials seem expired, or not yet valid.",
        "let an NTP service set the clocks of both: timedatectl set-ntp true",
    )
