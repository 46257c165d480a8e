"""The oracle keeps the contract: what the twins are held against must itself hold."""

from jsmemory.testing.harnesses.in_process import InProcessHarness
from jsmemory.testing.pytest_cases import backend_cases, store_cases

test_store = store_cases(InProcessHarness)
test_driver = backend_cases(InProcessHarness)
