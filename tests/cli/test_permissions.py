"""The command that prints what one worker may do."""

import json
from typing import Any

import pytest

from jsmemory import WorkerPermissions
from jsmemory.testing.servers import ServerSettings, local_server
from jsmemory.testing.servers.users import Worker, account_of, rights_in

ALICE = WorkerPermissions(bucket="team", prefix="alice")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--prefix", "alice"), ALICE),
        (("--identity", "alice"), ALICE),
        (("--prefix", "alice", "--read-only"), WorkerPermissions(bucket="team", prefix="alice", read_only=True)),
        (("--prefix", "alice", "--isolated"), WorkerPermissions(bucket="team", prefix="alice", isolated=True)),
        (
            ("--prefix", "alice", "--worker", "bob", "--isolated", "--read-only"),
            WorkerPermissions(bucket="team", prefix="alice", worker="bob", isolated=True, read_only=True),
        ),
        (("--prefix", ""), WorkerPermissions(bucket="team", prefix="")),
        (
            ("--prefix", "alice", "-j", "runs", "--isolated"),
            WorkerPermissions(bucket="team", prefix="alice", journal="runs", isolated=True),
        ),
    ],
)
def test_the_command_prints_the_rights_of_one_worker(
    shell: Any, arguments: tuple[str, ...], expected: WorkerPermissions
) -> None:
    """What is pasted into a server must be for the worker that was named."""
    printed = shell("permissions", "--bucket", "team", *arguments)
    assert (printed.code, printed.err) == (0, "")
    assert printed.out.decode() == expected.configuration()
    with_jwt = shell("permissions", "--bucket", "team", *arguments, "--format", "jwt")
    assert with_jwt.out.decode() == expected.nats_auth()
    told = shell("permissions", "--bucket", "team", *arguments, "--json").json
    assert told["text"] == expected.configuration()
    assert told["worker"] == expected.worker
    assert tuple(told["publish"]) == expected.publish
    assert tuple(told["subscribe"]) == expected.subscribe
    assert told["configuration"] == expected.opening


def test_the_store_of_a_configuration_is_meant_where_none_is_named(shell: Any) -> None:
    """Who runs it beside the worker's own configuration gets the rights that it needs."""
    options = {"bucket": "team", "prefix": "alice"}
    (shell.folder / "jsmemory.yaml").write_text(
        json.dumps({"backend": "jetstream", "read_only": True, "options": options})
    )
    expected = WorkerPermissions(bucket="team", prefix="alice", read_only=True)
    assert shell("permissions").out.decode() == expected.configuration()


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        ((), 2, "--bucket"),
        (("--directory", "d"), 2, "--directory"),
        (("--bucket", "a.b"), 5, "bucket"),
        (("--bucket", "b", "--prefix", "a.b"), 5, "prefix"),
        (("--bucket", "b", "--worker", "a b"), 5, "worker"),
        (("--bucket", "b", "--journal", "a.b"), 5, "journal"),
        (("--bucket", "b", "--format", "yaml"), 2, "yaml"),
    ],
)
def test_a_name_that_is_none_is_one_line(shell: Any, arguments: tuple[str, ...], code: int, named: str) -> None:
    """Half a block that is pasted in a hurry locks a fleet out."""
    refused = shell("permissions", *arguments)
    assert (refused.code, refused.out, refused.err.count("\n")) == (code, b"", 1)
    assert named in refused.err


def test_a_worker_of_a_shared_bucket_needs_its_context_and_one_option(shell: Any) -> None:
    """Its rights end at its own notes: without the option it is stopped before it has read one."""
    worker = Worker("alice", rights_in("team", "alice"))
    with local_server(settings=ServerSettings(extra=account_of(worker))) as server:
        operator = {"NATS_USER": "operator", "NATS_PASSWORD": "secret", "NATS_URL": server.url}
        made = shell("provision", "--bucket", "team", "--replicas", "1", "--apply", environment=operator)
        assert made.code == 0, made.err
        context = {"url": server.url, "user": "alice", "password": "secret", "inbox_prefix": "_INBOX_alice"}
        contexts = shell.folder / "config" / "nats" / "context"
        contexts.mkdir(parents=True)
        (contexts / "alice.json").write_text(json.dumps(context))
        place = ("--context", "alice", "--bucket", "team", "--prefix", "alice")
        denied = shell(*place, "list")
        assert (denied.code, "--no-preflight" in denied.err) == (3, True)
        place = (*place, "--no-preflight")
        written = shell(*place, "write", "build", "-d", "How to build", "--content", "-", stdin=b"make all")
        assert written.code == 0, written.err
        assert shell(*place, "read", "build").out == b"make all"
        assert b"build" in shell(*place, "list").out


def test_files_are_not_opened_without_what_they_never_had(shell: Any) -> None:
    """An option that is left aside makes people believe that they are in a bucket."""
    refused = shell("--no-preflight", "list")
    assert (refused.code, "--bucket" in refused.err) == (2, True)


def test_two_isolated_workers_are_printed_included_and_work(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the runbook says, word by word, without anything that was put right by hand."""
    contexts = shell.folder / "config" / "nats" / "context"
    contexts.mkdir(parents=True)
    for name in ("alice", "bob"):
        printed = shell("permissions", "--bucket", "team", "--prefix", name, "--isolated", "--json").json
        (shell.folder / f"{name}.conf").write_text(printed["text"])
        (shell.folder / f"{name}.yaml").write_text(json.dumps(printed["configuration"]))
        for user in (name, f"MEMORY_team_{name}"):
            monkeypatch.setenv(f"PASSWORD_{user}", "secret")
            who = {"user": user, "password": "secret"}
            if user == name:
                who |= {"inbox_prefix": printed["inbox_prefix"], "jetstream_api_prefix": printed["api_prefix"]}
            (contexts / f"{user}.json").write_text(json.dumps(who))
    included = ServerSettings(extra="accounts {\n  include ../alice.conf\n  include ../bob.conf\n}")
    with local_server(shell.folder / "server", settings=included) as server:
        at = ("--server", server.url)
        for name in ("alice", "bob"):
            operator = ("--context", f"MEMORY_team_{name}")
            assert shell("provision", *at, *operator, "-b", "team", "--replicas", "1", "--apply").code == 0
            worker = (*at, "--context", name, "--config", f"{name}.yaml")
            written = shell("write", *worker, "k", "-d", f"of {name}", "--content", "-", stdin=name.encode())
            assert written.code == 0, written.err
        for name in ("alice", "bob"):
            worker = (*at, "--context", name, "--config", f"{name}.yaml")
            assert shell("read", *worker, "k").out == name.encode()
            assert shell("list", *worker).out.decode() == f"k\tof {name}\n"
        foreign = shell("list", *at, "--context", "alice", "--bucket", "team", "--prefix", "bob", "--json")
        assert (foreign.code, foreign.json["error"]["code"]) == (3, "access_denied")
