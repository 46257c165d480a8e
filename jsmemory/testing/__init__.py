"""
The conformance kit: every promise of the contract as a case, for any store and any driver.

For a store of one's own, with all its rules, a harness has one method:

    from jsmemory.testing import Harness
    from jsmemory.testing.pytest_cases import store_cases

    class MyHarness(Harness):
        async def open(self, *, require_read_before_update=True):
            return MyStore(guarded=require_read_before_update)

    test_store = store_cases(MyHarness)

For a driver, six verbs over which `BackedStore` keeps the rules, it is `drive`; the kit then
has cases for the driver too:

    class MyHarness(BackendHarness):
        async def drive(self):
            return MyBackend(self.folder)

    test_store = store_cases(MyHarness)
    test_driver = backend_cases(MyHarness)

Either works as it stands. Some promises can only be checked with another hand in the keyspace:

    plant(name, value)   a value put there past the store, as another program would
    peek(key)            the stored bytes
    recreate()           the keyspace deleted, and made anew under its name
    neighbour()          a store for another agent beside this one

What needs a hand that is not written is reported as not checked: under pytest as skipped, with
the reason, which is neither green nor red. Write the hands that can be had. A hand that cannot
be had stands in `lacks`, and a promise that is known to be broken in `gaps`, each with its
reason. Both are strict: what is listed must fail, so that neither outlives its reason.

All of it, with a driver over a dict:

    import secrets

    from jsmemory import EntryExistsError, Item, StaleEntryError, StoreFullError, frontmatter
    from jsmemory.backed_store import BackedStore
    from jsmemory.backend import Backend, Keyspace, Stored
    from jsmemory.keys import is_legal_key
    from jsmemory.testing import BackendHarness, Need
    from jsmemory.testing.pytest_cases import backend_cases, store_cases

    class DictBackend(Backend):
        def __init__(self, rows):
            self.rows = rows

        def describe(self):
            return Keyspace("dict", "", realm=f"dict-{id(self.rows)}")

        async def scan(self):
            return [Item(key, frontmatter.parse(row.value)[0]) for key, row in self.rows.items()]

        async def load(self, key):
            return self.rows.get(key)

        async def insert(self, key, record, *, capacity):
            if key in self.rows:
                raise EntryExistsError(key)
            if len(self.rows) >= capacity:
                raise StoreFullError(capacity)
            return self.put(key, record.value)

        async def replace(self, key, record, *, expected):
            if key not in self.rows or self.rows[key].revision != expected:
                raise StaleEntryError(key, "changed")
            return self.put(key, record.value)

        async def remove(self, key):
            return self.rows.pop(key, None) is not None

        def put(self, key, value):
            self.rows[key] = Stored(value, secrets.token_hex(8))
            return self.rows[key].revision

    class DictHarness(BackendHarness):
        lacks = {Need.RECREATE: "the dict ends with its process"}

        def __init__(self):
            self.rows = {}

        async def drive(self):
            return DictBackend(self.rows)

        async def plant(self, name, value):
            if is_legal_key(name):  # the dict is the driver's own: nobody puts another name there
                DictBackend(self.rows).put(name, value)

        async def peek(self, key):
            return self.rows[key].value if key in self.rows else None

        async def neighbour(self):
            return BackedStore(DictBackend({}))

    test_store = store_cases(DictHarness)
    test_driver = backend_cases(DictHarness)

`BackedStore(DictBackend({}))` is also how an application opens it. Without pytest:

    from jsmemory.testing import BACKEND_CASES, STORE_CASES, run_cases

    print(await run_cases(DictHarness, STORE_CASES))
    print(await run_cases(DictHarness, BACKEND_CASES))

Beside it are real servers (`jsmemory.testing.servers`), text that stores have stumbled over
(`jsmemory.testing.corpora`), a driver that loses answers (`FaultyBackend`), and campaigns in
which everything fails that can (`jsmemory.testing.torture`).
"""

from jsmemory.testing.case import Case, Gap
from jsmemory.testing.cases import BACKEND_CASES, STORE_CASES
from jsmemory.testing.expecting import PromiseBroken
from jsmemory.testing.faults import Fault, FaultyBackend, Schedule, scripted, seeded
from jsmemory.testing.harness import BackendHarness, Harness, Lacking, Need, WrongHarness
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
    "WrongHarness",
    "run_case",
    "run_cases",
    "scripted",
    "seeded",
]
