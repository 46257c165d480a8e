"""
A run: one agent at work on a store, which can be suspended and gone on with elsewhere.

`run` is what a host holds. It writes to a journal through `writing`, lets calls through to
the store by `gate` for as long as they belong to it, and does what must not be left half
done through `shielding`.
"""

from jsmemory.running.run import Run

__all__ = ["Run"]
