"""A worker that is denied because it asks for what is called otherwise: it is told that this may be so."""

from typing import Any

import pytest

from jsmemory import (
    AccessDeniedError,
    JetStreamJournal,
    JetStreamStore,
    WorkerPermissions,
    examine_bucket,
    examine_journal,
)


@pytest.mark.parametrize("isolated", [False, True], ids=["flat", "isolated"])
async def test_a_name_that_is_mistyped_is_thought_of(grounds: Any, isolated: bool) -> None:
    """An operator who is asked for a permission gives one, for a bucket that nobody has."""
    worker = WorkerPermissions(bucket="team", prefix="bob", isolated=isolated, journal="runs")
    layout = " --isolated" if isolated else ""
    async with grounds.server(worker) as server, grounds.connection(server.url, worker) as connection:
        with pytest.raises(AccessDeniedError, match="if teem is what the bucket is called; or open"):
            await JetStreamStore.bind(connection, "teem", prefix="bob")
        with pytest.raises(AccessDeniedError, match="if rums is what the stream is called"):
            await JetStreamJournal.bind(connection, "rums")
        findings = (await examine_bucket(connection, "teem", "bob")).findings
        assert any("or it is called otherwise" in finding.problem for finding in findings)
        cures = [finding.cure for finding in findings if "jsmemory permissions" in finding.cure]
        assert cures
        assert {cure.partition("printed by: ")[2] for cure in cures} == {
            f"jsmemory permissions --bucket teem --prefix bob{layout}"
        }
        (finding,) = (await examine_journal(connection, "rums")).findings
        assert "or it is called otherwise" in finding.problem
        assert finding.cure.endswith(f"jsmemory permissions --bucket BUCKET --prefix NAME{layout} --journal rums")
