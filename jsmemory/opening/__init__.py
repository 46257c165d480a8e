"""
From a configuration and a name to a store.

`reading` makes plain data of YAML, `decoding` makes a struct of plain data, `configuration`
says what an operator may set, `registry` finds the backend, `checking` checks what it is
told, and `choosing` opens it.
"""

from jsmemory.opening.choosing import open_store
from jsmemory.opening.configuration import Configuration

__all__ = ["Configuration", "open_store"]
