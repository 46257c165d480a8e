"""
The conformance kit: every promise of the contract as a case, for any store and any driver.

Under pytest:

    from jsmemory.testing import Harness
    from jsmemory.testing.pytest_cases import store_cases

    class MyHarness(Harness):
        async def open(self, *, require_read_before_update=True):
            return MyStore(guarded=require_read_before_update)

    test_mine = store_cases(MyHarness)

Without pytest:

    print(await run_cases(MyHarness, STORE_CASES))

Beside it are real servers (`jsmemory.testing.servers`), text that stores have stumbled over
(`jsmemory.testing.corpora`), and a driver that loses answers (`FaultyBackend`).
"""

from jsmemory.testing.case import Case, Gap
from jsmemory.testing.cases import BACKEND_CASES, STORE_CASES
from jsmemory.testing.expecting import PromiseBroken
from jsmemory.testing.faults import Fault, FaultyBackend, Schedule, scripted, seeded
from jsmemory.testing.harness import BackendHarness, Harness, Lacking, Need
from jsmemory.testing.run import Outcome, Report, run_case, run_cases

__all__ = [
    "BACKEND_CASES",
    "STORE_CASES",
    "BackendHarness",
    "Case",
    "Fault",
    "FaultyBackend",
    "Gap",
    "Harness",
    "Lacking",
    "Need",
    "Outcome",
    "PromiseBroken",
    "Report",
    "Schedule",
    "run_case",
    "run_cases",
    "scripted",
    "seeded",
]
