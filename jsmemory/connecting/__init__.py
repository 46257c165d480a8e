"""
Connecting to NATS: settings where operators keep them, options that keep a client honest,
and supervision, so that one connection object outlives restarts and expired credentials.

    async with jsmemory.connect() as nats:
        ...

The way of a setting: `files` and `contexts` read it, `sources` knows where it stands,
`settings` decides which one holds (with `authentication`, `credentials` and `tls`),
`clients` opens a client with it (`reasons` words why not), `supervision` keeps one open,
`connection` is what a backend borrows, and `session` is the front. Of what goes over it,
`requests` are asked and answered, and `headers` read.
"""

from jsmemory.connecting.connection import Connection
from jsmemory.connecting.session import connect
from jsmemory.connecting.supervision import ConnectionEvent

__all__ = ["Connection", "ConnectionEvent", "connect"]
