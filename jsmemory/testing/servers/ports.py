"""Ports for servers that must come back on the port that they had."""

import random
import socket
import threading

FIRST, LAST = 10_000, 32_000
"""
Below the ports that Linux gives to outgoing connections (32,768 and up). A server that is
down could otherwise lose its port to any client, and a client that tries again and again to
reach a closed port of that range ends up connected to itself.
"""

_allotted: set[int] = set()
_lock = threading.Lock()
_random = random.SystemRandom()


def draw_port() -> int:
    """
    A port of the loopback that is free now; this process never gives it out again.

    Another process may still take it: who binds it must be ready to draw another.
    """
    with _lock:
        while True:
            port = _random.randint(FIRST, LAST)
            if port not in _allotted and is_free(port):
                _allotted.add(port)
                return port


def is_free(port: int) -> bool:
    """Whether a server can listen there now, on the loopback; False also for what is no port."""
    with socket.socket() as probe:
        # As the server itself binds: connections that linger from a predecessor do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError):
            return False
    return True
