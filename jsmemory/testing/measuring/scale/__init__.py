"""
Whether an operation takes longer in a bucket of a million entries than in one of a thousand.

Buckets of several sizes lie side by side on one server, and each operation is timed in all of
them in turns. `filling` makes the buckets, as quickly as one connection can; `places` are what
is timed in each, `measuring` times them.
"""

from jsmemory.testing.measuring.scale.filling import Filled
from jsmemory.testing.measuring.scale.measuring import (
    ENTRIES_OF_A_PREFIX,
    MAX_GROWTH,
    SIZES,
    ScaleMeasured,
    SizeMeasured,
    measure_scale,
)

__all__ = [
    "ENTRIES_OF_A_PREFIX",
    "MAX_GROWTH",
    "SIZES",
    "Filled",
    "ScaleMeasured",
    "SizeMeasured",
    "measure_scale",
]
