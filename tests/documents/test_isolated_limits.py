"""What the account of an isolated memory allows is what pages and alerts say of it."""

import re
from pathlib import Path

import yaml

from jsmemory.examining.headroom import NEARLY
from jsmemory.provisioning.permissions import MEMORY_LIMITS
from jsmemory.provisioning.worker_names import memory_of

ROOT = Path(__file__).parents[2]
CONSUMERS = MEMORY_LIMITS["max_consumers"]


def test_the_pages_say_how_many_views_an_isolated_memory_takes() -> None:
    """Nine hundred are promised for a bucket; the hundredth view of this one would take its listings away."""
    assert f"Of an isolated memory some 90, of {CONSUMERS} |" in (ROOT / "README.md").read_text()
    assert f"some 90: `max_consumers` is {CONSUMERS}" in (ROOT / "ops" / "README.md").read_text()
    assert re.search(rf"isolated memory allows it\s+{CONSUMERS}\b", (ROOT / "ops" / "scaling.md").read_text())


def test_an_alert_speaks_before_an_isolated_memory_lets_in_no_more() -> None:
    """The one for buckets speaks at eight hundred, which such an account never sees."""
    groups = yaml.safe_load((ROOT / "ops" / "prometheus" / "alerts.yml").read_text())["groups"]
    (rule,) = (rule for group in groups for rule in group["rules"] if rule.get("alert") == "IsolatedConsumersNearLimit")
    accounts, limit = re.findall(r'account_name=~"(.+)"} > (\d+)$', rule["expr"])[0]
    assert int(limit) == NEARLY * int(CONSUMERS)
    assert re.fullmatch(accounts, memory_of("team", "alice"))
    assert not re.fullmatch(accounts, "MEMORY")
