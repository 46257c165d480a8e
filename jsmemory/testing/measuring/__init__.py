"""
What a store costs over the plain request under it: the same subject, connection and run.

    async with jsmemory.connect() as nats:
        measured = await measure_bucket(nats, "team", "bench-4711")

A store call and the raw one take turns in one loop, so that a noisy machine slows both and
the ratio holds. `comparing` turns times into numbers, `plain` makes the raw requests,
`operations`, `listing` and `viewing` time one against the other, `tools` the tools against the
store, `copying` a copy of a store against reading and writing alone, `replaying` a journal by
itself; `bucket` and `files` are the faces.
"""

from jsmemory.testing.measuring.bucket import BucketMeasured, measure_bucket
from jsmemory.testing.measuring.comparing import MAX_LISTING_WIRE_BYTES, MUST_REACH, Comparison
from jsmemory.testing.measuring.copying import measure_copy
from jsmemory.testing.measuring.files import measure_files
from jsmemory.testing.measuring.listing import ListingComparison
from jsmemory.testing.measuring.operations import Report
from jsmemory.testing.measuring.replaying import MAX_REPLAY_S, Replayed, measure_replay
from jsmemory.testing.measuring.tools import MAX_TOOL_RATIO, measure_tools

__all__ = [
    "MAX_LISTING_WIRE_BYTES",
    "MAX_REPLAY_S",
    "MAX_TOOL_RATIO",
    "MUST_REACH",
    "BucketMeasured",
    "Comparison",
    "ListingComparison",
    "Replayed",
    "Report",
    "measure_bucket",
    "measure_copy",
    "measure_files",
    "measure_replay",
    "measure_tools",
]
