"""
Removing what is left of deleted keys: an operator's act, on a bucket that is in use.

A delete leaves a marker in the place of the value, and the marker stays. `bucket` goes
through a bucket and hands over the old ones, `removing` removes them, and nothing that came
after them; a `compaction` is what comes of it.

Why old ones only. A marker that is gone leaves a key that was never there, and two things
are decided by the difference. A create that was given up, and still lies in some buffer, is
refused by the marker; without it, it lands, and deleted text is there again. And a worker
that has seen the marker knows a replica that lags by what it does not show. Both last for
seconds, and no store waits longer than 300 of them; a marker of half an hour protects
nothing any more.
"""

from jsmemory.compacting.bucket import OLD_S, compact_bucket
from jsmemory.compacting.compaction import Compaction

__all__ = ["OLD_S", "Compaction", "compact_bucket"]
