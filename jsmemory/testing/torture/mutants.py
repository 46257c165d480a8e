"""Stores that are broken on purpose."""

from jsmemory.backend import Backend


def mutated(backend: Backend, mutant: str) -> Backend:
    """A driver, broken in the way that is named; as it is where nothing is."""
    return backend
