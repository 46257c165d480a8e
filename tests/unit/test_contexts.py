"""Contexts of the nats CLI, as files that an operator, another tool or an accident wrote."""

import base64
import json
import os
from pathlib import Path

import pytest

from jsmemory.connecting.contexts import known_contexts, read_context, selected_context
from jsmemory.connecting.credentials import nkey_seed, read_location, user_credentials
from jsmemory.connecting.files import MAX_FILE_BYTES, read_small_file
from jsmemory.errors import InvalidOptionsError

SEED = "SUAE6F5L7VCI3IBN6ZSPXSEJ5SUBHTFLFR66Z6YRSR5CZTQZ2BMXJAKMQU"
OF_THE_CLI = {
    "description": "",
    "url": "nats://one.example:4222,nats://two.example:4222",
    "socks_proxy": "",
    "token": "",
    "user": "alice",
    "password": "s3cr3t",
    "creds": "",
    "nkey": "",
    "cert": "",
    "key": "",
    "ca": "/etc/ca.pem",
    "nsc": "",
    "jetstream_domain": "hub",
    "jetstream_api_prefix": "",
    "jetstream_event_prefix": "",
    "inbox_prefix": "_INBOX_alice",
    "user_jwt": "",
    "user_seed": "",
    "color_scheme": "",
    "tls_first": True,
    "windows_cert_store": "",
    "windows_cert_match_by": "",
    "windows_cert_match": "",
    "windows_ca_certs_match": None,
}
"""A context as nats CLI 0.5.0 writes it."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where contexts stand; ``environment`` points to it."""
    place = tmp_path / "config" / "nats" / "context"
    place.mkdir(parents=True)
    return place


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


def refusal_of(name: str, environment: dict[str, str]) -> InvalidOptionsError:
    with pytest.raises(InvalidOptionsError) as refusal:
        read_context(name, environment)
    assert str(environment["XDG_CONFIG_HOME"]) not in str(refusal.value)
    return refusal.value


def test_a_context_of_the_cli_is_read_as_it_is(folder: Path, environment: dict[str, str]) -> None:
    """What the operator set up once, for the CLI, is all that a worker needs."""
    (folder / "team.json").write_text(json.dumps(OF_THE_CLI))
    assert read_context("team", environment) == {
        "url": "nats://one.example:4222,nats://two.example:4222",
        "user": "alice",
        "password": "s3cr3t",
        "ca": "/etc/ca.pem",
        "jetstream_domain": "hub",
        "inbox_prefix": "_INBOX_alice",
        "tls_first": "true",
    }


def test_fields_of_other_tools_are_left_alone(folder: Path, environment: dict[str, str]) -> None:
    """A new release of the CLI that adds a field must not stop every worker."""
    (folder / "team.json").write_text(json.dumps({"url": "nats://here:1", "colour": {"deep": [1]}, "user": None}))
    assert read_context("team", environment) == {"url": "nats://here:1"}


@pytest.mark.parametrize("field", ["socks_proxy", "nsc", "windows_cert_store"])
def test_a_way_to_connect_that_there_is_not_is_refused(folder: Path, environment: dict[str, str], field: str) -> None:
    """Past a proxy, or without the credentials, one would connect elsewhere or as nobody."""
    context = folder / "fleet.json"
    context.write_text(json.dumps(OF_THE_CLI | {field: "socks5://secret@proxy.example"}))
    with pytest.raises(InvalidOptionsError) as refused:
        read_context("fleet", environment)
    assert refused.value.option == f"context.{field}"
    assert "secret" not in str(refused.value)


def test_a_context_whose_credentials_nsc_has_named_is_read(folder: Path, environment: dict[str, str]) -> None:
    """The nats command line leaves both in the file."""
    found_by_nsc = {"nsc": "nsc://op/account/user", "creds": "/user.creds"}
    (folder / "fleet.json").write_text(json.dumps(OF_THE_CLI | found_by_nsc))
    assert read_context("fleet", environment)["creds"] == "/user.creds"


@pytest.mark.parametrize("field", ["url", "user", "password", "token", "creds", "nkey", "ca", "inbox_prefix"])
@pytest.mark.parametrize("value", [1, ["nats://here:1"], {"a": "b"}, True])
def test_a_field_of_a_wrong_type_is_named(folder: Path, environment: dict[str, str], field: str, value: object) -> None:
    """A list of URLs looks right to whoever writes a context by hand."""
    (folder / "team.json").write_text(json.dumps({field: value}))
    assert refusal_of("team", environment).option == f"context.{field}"


def test_tls_first_is_true_or_false(folder: Path, environment: dict[str, str]) -> None:
    """The text "false" would otherwise count as true."""
    (folder / "team.json").write_text('{"tls_first": "false"}')
    assert refusal_of("team", environment).option == "context.tls_first"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"url"', "{'url': 1}", "\x00", "[" * 100_000])
def test_what_is_no_context_is_refused(folder: Path, environment: dict[str, str], text: str) -> None:
    """A file that was cut off by a full disk must not become a default address."""
    (folder / "team.json").write_text(text)
    assert refusal_of("team", environment).option == "context"


def test_bytes_that_are_no_text_are_refused(folder: Path, environment: dict[str, str]) -> None:
    """Editors and archives leave such files behind."""
    (folder / "team.json").write_bytes(b'{"url": "\xff\xfe"}')
    assert refusal_of("team", environment).option == "context"


def test_an_unknown_context_lists_the_known_ones(folder: Path, environment: dict[str, str]) -> None:
    """The most common mistake is a typing error, and the answer stands right there."""
    for name in ("prod", "dev"):
        (folder / f"{name}.json").write_text("{}")
    (folder / "notes.txt").write_text("no context")
    assert known_contexts(environment) == ("dev", "prod")
    assert "Use one of: dev, prod." in str(refusal_of("pord", environment))


@pytest.mark.parametrize("name", ["nats://localhost", "tls://bob:hunter2@host:4222", "localhost:4222"])
def test_a_server_in_the_place_of_a_context_is_told_where_it_belongs(environment: dict[str, str], name: str) -> None:
    """Nearly every client takes its server first, and "no legal name" leads nowhere."""
    error = refusal_of(name, environment)
    assert (
        str(error) == "Option 'context' is a server, and not the name of a context. Pass it as servers=, or --server."
    )


def test_a_context_whose_name_looks_like_a_server_is_read(folder: Path, environment: dict[str, str]) -> None:
    """Somebody calls contexts after what they lead to."""
    (folder / "prod:4222.json").write_text('{"user": "bob"}')
    assert read_context("prod:4222", environment) == {"user": "bob"}


def test_where_there_are_no_contexts_the_cure_is_to_make_one(tmp_path: Path) -> None:
    """A container has no configuration folder at all."""
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "nothing")}
    assert "nats context add" in str(refusal_of("prod", environment))
    assert selected_context(environment) is None


@pytest.mark.parametrize(
    "name", ["", "../secret", "a/b", "a\\b", "..", "/etc/passwd", "a\x00b", "a\nb", "n" * 201, "..\\x"]
)
def test_a_name_cannot_climb_out_of_the_folder(
    folder: Path, environment: dict[str, str], tmp_path: Path, name: str
) -> None:
    """Whoever may name a context must not be able to name a file."""
    (tmp_path / "config" / "nats" / "secret.json").write_text('{"url": "nats://evil:1"}')
    assert refusal_of(name, environment).option == "context"


@pytest.mark.parametrize("kind", ["pipe", "folder", "large", "dangling"])
def test_what_is_no_small_regular_file_is_refused_and_never_waited_for(
    folder: Path, environment: dict[str, str], kind: str
) -> None:
    """A pipe without a writer would stop the whole event loop for ever."""
    place = folder / "team.json"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "dangling":
        place.symlink_to(folder / "gone.json")
    else:
        place.write_bytes(b" " * (MAX_FILE_BYTES + 1))
    assert refusal_of("team", environment).option == "context"


def test_a_context_behind_a_link_is_read(folder: Path, environment: dict[str, str], tmp_path: Path) -> None:
    """Kubernetes mounts every file of a secret as a link."""
    (tmp_path / "elsewhere.json").write_text('{"url": "nats://here:1"}')
    (folder / "team.json").symlink_to(tmp_path / "elsewhere.json")
    assert read_context("team", environment) == {"url": "nats://here:1"}


def test_the_selected_context(folder: Path, environment: dict[str, str]) -> None:
    """The CLI writes the name without a line end; editors add one."""
    assert selected_context(environment) is None
    (folder.parent / "context.txt").write_text("prod\n")
    assert selected_context(environment) == "prod"
    (folder.parent / "context.txt").write_text("")
    assert selected_context(environment) is None


def test_a_selected_context_with_an_illegal_name_is_refused(folder: Path, environment: dict[str, str]) -> None:
    """The file is text that anything may have written."""
    (folder.parent / "context.txt").write_text("../../etc/secret")
    with pytest.raises(InvalidOptionsError, match="nats context select"):
        selected_context(environment)


def test_a_selected_context_that_is_a_pipe_is_refused(folder: Path, environment: dict[str, str]) -> None:
    """Reading it would never end."""
    os.mkfifo(folder.parent / "context.txt")
    with pytest.raises(InvalidOptionsError, match="no regular file"):
        selected_context(environment)


def test_without_a_configured_folder_it_is_the_one_under_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG_CONFIG_HOME is unset on most machines."""
    monkeypatch.setenv("HOME", str(tmp_path))
    place = tmp_path / ".config" / "nats" / "context"
    place.mkdir(parents=True)
    (place / "team.json").write_text("{}")
    assert known_contexts({}) == ("team",)
    assert known_contexts({"XDG_CONFIG_HOME": ""}) == ("team",)


# -- Files that a context names -------------------------------------------------------------


@pytest.mark.parametrize("path", ["", "nothing-there", "a\x00b", "/dev/null", "~nobody-of-that-name/x"])
def test_a_path_that_leads_nowhere_is_refused_without_being_shown(path: str) -> None:
    """Paths of a host must not reach a model, and an operator knows the option."""
    with pytest.raises(InvalidOptionsError) as refusal:
        read_small_file(path, "context.creds")
    assert refusal.value.option == "context.creds"
    assert not path or path not in str(refusal.value)


@pytest.mark.parametrize(
    "location", ["op://vault/item/field", "nsc://Operator/Account/User", "https://x", "env://UNSET", "data:;base64,!"]
)
def test_a_place_that_cannot_be_read_is_refused(location: str) -> None:
    """Taken for a path, it would be reported as a file that does not exist."""
    with pytest.raises(InvalidOptionsError, match=r"context\.nkey"):
        read_location(location, "context.nkey", {})


def test_the_places_of_the_cli_are_read(tmp_path: Path) -> None:
    """Credentials that are embedded in a context are the CLI's way to move one to another machine."""
    (tmp_path / "seed").write_text(SEED)
    embedded = base64.b64encode(SEED.encode()).decode()
    for location in (str(tmp_path / "seed"), f"file://{tmp_path}/seed", f"data:;base64,{embedded}", "env://SEED"):
        assert nkey_seed(read_location(location, "nkey", {"SEED": SEED}), "nkey") == SEED


@pytest.mark.parametrize("text", ["", "hello", SEED[:-1] + "B", SEED[:20], "S" + SEED[1:].lower(), "UA" + SEED[2:]])
def test_a_seed_with_a_typing_error_is_refused(text: str) -> None:
    """The library that signs does not look at the checksum: the server would refuse, for no reason given."""
    with pytest.raises(InvalidOptionsError, match=r"Option 'context\.nkey' holds no user nkey seed"):
        nkey_seed(text.encode(), "context.nkey")


@pytest.mark.parametrize("text", ["", "no markers", "-----BEGIN NATS USER JWT-----\n", SEED])
def test_a_credentials_file_without_credentials_is_refused(text: str) -> None:
    """nats-py looks for the marker beyond the end of the file, for ever."""
    with pytest.raises(InvalidOptionsError, match=r"Option 'context\.creds' holds no user JWT"):
        user_credentials(text.encode(), "context.creds")
