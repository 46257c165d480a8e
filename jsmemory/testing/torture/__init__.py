"""
Torture: the guarantees of the contract, measured while everything fails that can.

    records = Path("records")
    records.mkdir()
    await run(Settings(seconds=60, seed=7, backend="jetstream", replicas=3), records)
    print(examine(records).checked.violations)

Worker processes use a store, a nemesis acts on its servers and links, every call is written
down, and a checker decides from the records and from what is there in the end.

`records`, `recording` and `calls` are what is written down; `jobs`, `worker`, `workload`,
`acting`, `watching` and `values` what a worker does, `fleet` who starts and kills it. `links`
and `network` are a network that can be treated badly, `bucket_operator`, `witness` and `arena`
the place; `plan`, `nemesis` and `faults` what happens there, `campaign` all of it. `checking`
is the checker, `mutants` prove it, `report` sums up, and `keeping` sees that no record was lost.
`crash_points` and `crasher` kill a file store at every point of a write.
"""

from jsmemory.testing.torture.calls import History
from jsmemory.testing.torture.campaign import BackendName, Progressed, Settings, run
from jsmemory.testing.torture.checking import Checked, Guarantee, Violation, check
from jsmemory.testing.torture.crash_points import ROUNDS, crash_everywhere
from jsmemory.testing.torture.keeping import CAMPAIGN, CRASHES, examine, examine_kept
from jsmemory.testing.torture.report import MUST_SETTLE, FaultMet, Lost, Report

__all__ = [
    "CAMPAIGN",
    "CRASHES",
    "MUST_SETTLE",
    "ROUNDS",
    "BackendName",
    "Checked",
    "FaultMet",
    "Guarantee",
    "History",
    "Lost",
    "Progressed",
    "Report",
    "Settings",
    "Violation",
    "check",
    "crash_everywhere",
    "examine",
    "examine_kept",
    "run",
]
