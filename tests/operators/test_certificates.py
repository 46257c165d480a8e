"""What the doctor says of certificates, from the monitoring page of a server that has one."""

from pathlib import Path

import pytest

from jsmemory import Verdict
from jsmemory.examining.monitoring import monitored
from jsmemory.provisioning.cluster import certificates
from jsmemory.testing.servers import ServerSettings, embedded_server


@pytest.mark.parametrize(
    ("days", "code", "verdict"),
    [
        (400, None, Verdict.OK),
        (31, None, Verdict.OK),
        (29, "certificate_ends", Verdict.WARNING),
        (0, "certificate_ended", Verdict.FAULT),
    ],
)
async def test_a_certificate_that_ends_is_found_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int, code: str | None, verdict: Verdict
) -> None:
    """On the day after, no client connects any more, and it looks as if the network were gone."""
    monkeypatch.setattr(certificates, "NODE_DAYS", days)
    signed, key = certificates.Authority.new().issue("n1", ["127.0.0.1"])
    (tmp_path / "node.pem").write_bytes(signed)
    (tmp_path / "node.key").write_bytes(key)
    tls = f'tls {{ cert_file: "{tmp_path}/node.pem", key_file: "{tmp_path}/node.key" }}'
    async with embedded_server(monitor=True, settings=ServerSettings(extra=tls)) as server:
        checks = await monitored([str(server.monitor_url)], 1)
    (check,) = [check for check in checks if check.name == "certificate"]
    assert check.verdict is verdict
    assert check.said.startswith("n1: for clients")
    assert [finding.code for finding in check.findings] == ([code] if code else [])


async def test_a_server_without_tls_has_no_certificate_to_end() -> None:
    """Whoever develops without TLS must not be told of something that is not there."""
    async with embedded_server(monitor=True) as server:
        checks = await monitored([str(server.monitor_url)], 1)
    assert "certificate" not in {check.name for check in checks}
