"""Short campaigns, with everything real: processes, servers, links, files. The long ones are run by the command."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from jsmemory.testing.torture import Settings, crash_everywhere, examine, run
from jsmemory.testing.torture.plan import hands, strikes


async def test_three_replicas_keep_every_guarantee_while_leaders_die_and_answers_are_lost(tmp_path: Path) -> None:
    """What an agent was told must hold also on the day on which everything fails."""
    faults = {"leader killed", "leader parted", "answers swallowed", "cut after a write was sent", "worker killed"}
    heard: set[str] = set()
    settings = Settings(seconds=16, seed=5, replicas=3, workers=3, faults=frozenset(faults))
    await run(settings, tmp_path, lambda seconds, fault: heard.add(fault))
    report = examine(tmp_path)
    assert report.checked.violations == ()
    assert report.is_good
    assert report.calls > 500
    assert report.stored > 500
    assert set(report.faults) <= faults
    assert {"leader killed", "leader parted"} & set(report.faults)
    assert heard >= set(report.faults)


async def test_where_servers_are_to_spare_the_replicas_move_and_the_leader_is_left_alone(tmp_path: Path) -> None:
    """A leader that has most of the servers with it, and none of its followers, must not answer for the bucket."""
    faults = frozenset({"peer removed", "followers parted"})
    await run(Settings(seconds=9, seed=5, servers=4, workers=3, faults=faults), tmp_path)
    report = examine(tmp_path)
    assert report.is_good, report.checked.violations
    assert report.settings is not None
    assert (report.settings.servers, report.settings.replicas) == (4, 3)
    # How many of them there is time for depends on the machine; one there is.
    assert report.faults
    assert set(report.faults) <= faults


async def test_files_keep_every_guarantee_while_processes_die_and_the_disk_is_full(tmp_path: Path) -> None:
    """The twin promises the same, and a laptop is closed in the middle of a write."""
    await run(Settings(seconds=6, seed=5, backend="file", workers=3), tmp_path)
    report = examine(tmp_path)
    assert report.checked.violations == ()
    assert report.calls > 500
    assert {"worker killed", "disk full", "directory made anew"} & set(report.faults)


async def test_a_process_may_die_between_any_two_calls_of_the_system(tmp_path: Path) -> None:
    """One round here; the command goes through all of them, which are more than a thousand points."""
    heard: list[int] = []
    points = await crash_everywhere(tmp_path, rounds=1, progressed=heard.append)
    assert examine(tmp_path).checked.violations == ()
    assert points.total() == len(heard) > 50
    for verb, call in [("create", "link"), ("update", "replace"), ("delete", "unlink")]:
        assert points[f"{verb}: before {call}"] == 1
    assert points["update: half way through write"] == 1


@pytest.mark.parametrize(
    ("backend", "replicas", "servers"), [("jetstream", 3, 3), ("jetstream", 3, 5), ("jetstream", 1, 1), ("file", 1, 1)]
)
def test_a_seed_draws_the_same_plan_again(backend: str, replicas: int, servers: int) -> None:
    """A violation that cannot be provoked again is not understood."""
    for hand, faults in hands(backend, replicas, servers):
        assert _first(7, hand, faults) == _first(7, hand, faults)
        assert _first(7, hand, faults) != _first(8, hand, faults)
        # Each fault comes before any comes again.
        assert {strike.fault for strike in _first(7, hand, faults)} == set(faults)


def _first(seed: int, hand: str, faults: Mapping[str, tuple[float, float]]) -> list[object]:
    plan = strikes(seed, hand, faults)
    return [next(plan) for _ in faults]
