"""
A process of its own that ends servers whose owner is gone, even one that was killed.

It is run by path and reads its orders from standard input: ``+<pid>`` to watch a server,
``-<pid>`` to let go of it. When the input ends, or the owner does, it kills what it watches.
"""

import contextlib
import os
import select
import signal

OWNER_CHECK_S = 0.5
"""A forked child of the owner can hold the input open; so the owner itself is looked at too."""


def _watch(owner: int) -> None:
    watched: dict[int, int | None] = {}
    rest = b""
    while os.getppid() == owner:
        if not select.select([0], [], [], OWNER_CHECK_S)[0]:
            continue
        data = os.read(0, 65_536)
        if not data:
            break
        *orders, rest = (rest + data).split(b"\n")
        for order in orders:
            _obey(order, watched)
    for pid, handle in watched.items():
        _kill(pid, handle)


def _obey(order: bytes, watched: dict[int, int | None]) -> None:
    pid = int(order[1:])
    if order.startswith(b"+"):
        watched[pid] = _handle(pid)
    elif (handle := watched.pop(pid, None)) is not None:
        os.close(handle)


def _handle(pid: int) -> int | None:
    # A handle never comes to mean another process, as a number may once its process is gone.
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _kill(pid: int, handle: int | None) -> None:
    with contextlib.suppress(ProcessLookupError):
        if handle is None:
            os.kill(pid, signal.SIGKILL)
        else:
            signal.pidfd_send_signal(handle, signal.SIGKILL)


if __name__ == "__main__":
    _watch(os.getppid())
