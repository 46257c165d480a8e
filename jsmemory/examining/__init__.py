"""
Looking at a bucket, a journal, or a directory, as a doctor would: everything, and changing nothing.

`bucket`, `journal` and `directory` go through it, each subject in a room of its own: how it is set up
(`configuration`), who holds it (`holding`), how much room there is (`headroom`, `disk`), what
the credentials may do (`rights`), what lies in it (`census`, counted by `walking` or
`sampling`), who reads it (`consumers`), the clocks (`clock`), and what servers tell on their
own pages (`monitoring`). `describing` asks the leader of a stream about it. A `report` is what
comes of it. `prefixes` says whose notes there are.
"""

from jsmemory.examining.bucket import examine_bucket
from jsmemory.examining.directory import examine_directory
from jsmemory.examining.journal import examine_journal
from jsmemory.examining.prefixes import PrefixLine, list_directory_prefixes, list_prefixes
from jsmemory.examining.report import Check, Report, Verdict

__all__ = [
    "Check",
    "PrefixLine",
    "Report",
    "Verdict",
    "examine_bucket",
    "examine_directory",
    "examine_journal",
    "list_directory_prefixes",
    "list_prefixes",
]
