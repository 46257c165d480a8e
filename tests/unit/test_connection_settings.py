"""Which of several sources decides a setting, and what is refused before anything connects."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from jsmemory.connecting import connect
from jsmemory.connecting.reasons import reason_of
from jsmemory.connecting.settings import Settings, settle
from jsmemory.connecting.sources import Source, gather
from jsmemory.errors import InvalidOptionsError

Settle = Callable[..., Settings]


@pytest.fixture
def decide(tmp_path: Path) -> Settle:
    """Settings out of arguments, a named context, variables, and a machine with some contexts."""
    folder = tmp_path / "nats" / "context"
    folder.mkdir(parents=True)
    contexts: Mapping[str, Mapping[str, object]] = {
        "named": {"url": "nats://named:1", "user": "named", "password": "1"},
        "open": {"url": "nats://open:1"},
        "selected": {"url": "nats://selected:1", "user": "selected", "password": "2", "inbox_prefix": "_INBOX_me"},
        "in-url": {"url": "nats://inside:3@in-url:1", "user": "beside", "password": "4"},
        "domain": {"url": "nats://domain:1", "jetstream_domain": "hub"},
        "prefix": {"url": "nats://prefix:1", "jetstream_domain": "hub", "jetstream_api_prefix": "from.hub"},
    }
    for name, fields in contexts.items():
        (folder / f"{name}.json").write_text(json.dumps(fields))
    (folder.parent / "context.txt").write_text("selected")

    def decide(*, context: str | None = None, variables: Mapping[str, str] | None = None, **given: str) -> Settings:
        environment = {"XDG_CONFIG_HOME": str(tmp_path), **(variables or {})}
        return settle(gather(Source(given), context, environment), tls=None, environment=environment)

    return decide


def told(settings: Settings) -> tuple[str, str | None, str | None]:
    (server,) = settings.servers
    return server, settings.authentication.user, settings.authentication.token


@pytest.mark.parametrize(
    ("asked", "server", "user"),
    [
        ({}, "nats://selected:1", "selected"),
        ({"context": "named"}, "nats://named:1", "named"),
        ({"variables": {"NATS_CONTEXT": "named"}}, "nats://named:1", "named"),
        ({"variables": {"NATS_CONTEXT": ""}}, "nats://selected:1", "selected"),
        ({"context": "open", "variables": {"NATS_CONTEXT": "named"}}, "nats://open:1", None),
        # A server that is named elsewhere does not get the credentials of a selected context.
        ({"url": "nats://other:1"}, "nats://other:1", None),
        ({"variables": {"NATS_URL": "nats://other:1"}}, "nats://other:1", None),
        ({"variables": {"NATS_USER": "bob", "NATS_PASSWORD": "5"}}, "nats://127.0.0.1:4222", "bob"),
        # What is named on purpose is completed.
        ({"context": "named", "url": "nats://other:1"}, "nats://other:1", "named"),
        ({"variables": {"NATS_CONTEXT": "named", "NATS_URL": "nats://other:1"}}, "nats://other:1", "named"),
        ({"variables": {"NATS_CONTEXT": "named", "NATS_USER": "bob", "NATS_PASSWORD": "5"}}, "nats://named:1", "bob"),
        ({"context": "named", "variables": {"NATS_URL": "nats://other:1"}}, "nats://named:1", "named"),
        ({"context": "open", "variables": {"NATS_USER": "bob", "NATS_PASSWORD": "5"}}, "nats://open:1", "bob"),
        ({"context": "named", "user": "bob", "password": "5"}, "nats://named:1", "bob"),
        # Inside a URL beats beside it, as with the nats CLI; an argument beats both.
        ({"context": "in-url"}, "nats://in-url:1", "inside"),
        ({"context": "in-url", "url": "nats://other:1"}, "nats://other:1", "beside"),
        ({"context": "in-url", "user": "bob", "password": "5"}, "nats://in-url:1", "bob"),
        ({"variables": {"NATS_URL": "nats://bob:5@other:1", "NATS_CONTEXT": "named"}}, "nats://other:1", "bob"),
    ],
)
def test_the_strongest_source_decides(decide: Settle, asked: dict[str, Any], server: str, user: str | None) -> None:
    """A worker on the wrong cluster, or with somebody else's credentials, is the worst of set-ups."""
    assert told(decide(**asked)) == (server, user, None)


@pytest.mark.parametrize(
    ("asked", "named_by"),
    [
        ({"url": "nats://other:1"}, "url"),
        ({"context": "named"}, "context.url"),
        ({"variables": {"NATS_URL": "nats://other:1"}}, "NATS_URL"),
        ({"variables": {"NATS_USER": "bob", "NATS_PASSWORD": "5"}}, ""),
    ],
)
def test_settings_know_who_named_the_server(decide: Settle, asked: dict[str, Any], named_by: str) -> None:
    """Where no server answers, that is what the operator has to look at."""
    assert decide(**asked).named_by == named_by


def test_where_no_server_is_named_the_refusal_says_how_to_name_one() -> None:
    """A new user has set nothing, and is told to check a context that there is not."""
    assert str(reason_of(TimeoutError(), None, "")) == (
        "No NATS server answered in time on port 4222 of this host, which is tried where no setting names one. "
        "Name yours with servers=, NATS_URL or a context. For trying out, 'jsmemory server' starts one."
    )


def test_a_user_without_a_password_is_a_token(decide: Settle) -> None:
    """So the nats CLI reads NATS_USER."""
    assert told(decide(variables={"NATS_USER": "t0ken"})) == ("nats://127.0.0.1:4222", None, "t0ken")
    assert told(decide(url="nats://t0ken@other")) == ("nats://other:4222", None, "t0ken")


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("nats://a:1,nats://b:2", ("nats://a:1", "nats://b:2")),
        (" a:1 , b ,", ("nats://a:1", "nats://b:4222")),
        ("tls://a", ("tls://a:4222",)),
        ("nats://[::1]:4333", ("nats://[::1]:4333",)),
        ("nats://u:p@a,nats://b", ("nats://a:4222", "nats://b:4222")),
    ],
)
def test_servers_are_read_as_people_write_them(decide: Settle, text: str, servers: tuple[str, ...]) -> None:
    """The list of a cluster is written with commas, blanks and without schemes."""
    assert decide(url=text).servers == servers


@pytest.mark.parametrize(
    "text", [",", "http://a:1", "ws://a", "nats://", "nats://:1", "nats://a:port", "nats://a:99999", "nats://[::1"]
)
def test_a_server_that_cannot_be_meant_is_refused(decide: Settle, text: str) -> None:
    """A typing error would be tried for ever as the name of a host."""
    with pytest.raises(InvalidOptionsError) as refusal:
        decide(variables={"NATS_URL": text})
    assert refusal.value.option == "NATS_URL"
    assert text == "," or text not in str(refusal.value).replace("nats://host:4222", "")


def test_two_users_in_one_list_are_refused(decide: Settle) -> None:
    """A server that the cluster makes known would be told one of them, by chance."""
    with pytest.raises(InvalidOptionsError, match="several users"):
        decide(url="nats://u:p@a,nats://v:p@b")


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"user": "u", "password": "p", "creds": "/c"}, "creds"),
        ({"token": "t", "nkey": "/n"}, "nkey"),
        ({"password": "p"}, "password"),
        ({"user_jwt": "/j"}, "user_seed"),
        ({"user_seed": "/s"}, "user_jwt"),
        ({"creds": "/nothing/there"}, "creds"),
        ({"nkey": "/nothing/there"}, "nkey"),
        ({"inbox_prefix": "_INBOX.>"}, "inbox_prefix"),
        ({"inbox_prefix": "_INBOX."}, "inbox_prefix"),
        ({"inbox_prefix": "a b"}, "inbox_prefix"),
        ({"jetstream_domain": "*"}, "jetstream_domain"),
        ({"jetstream_api_prefix": "$JS.API."}, "jetstream_api_prefix"),
    ],
)
def test_what_cannot_be_meant_is_named(decide: Settle, given: dict[str, str], option: str) -> None:
    """The server's only answer to half a credential is a violation, of whatever."""
    with pytest.raises(InvalidOptionsError) as refusal:
        decide(**given)
    assert refusal.value.option == option
    assert "/nothing" not in str(refusal.value)


def test_options_are_named_as_they_were_given(decide: Settle) -> None:
    """An operator who set a variable does not know the name of a field."""
    with pytest.raises(InvalidOptionsError, match="'NATS_CREDS'"):
        decide(variables={"NATS_CREDS": "/nothing/there"})


@pytest.mark.parametrize(
    ("context", "prefix"), [("open", "$JS.API"), ("domain", "$JS.hub.API"), ("prefix", "from.hub")]
)
def test_where_the_jetstream_api_is(decide: Settle, context: str, prefix: str) -> None:
    """A leaf node's worker would talk to the wrong JetStream, and find its bucket missing."""
    assert decide(context=context).jetstream_api_prefix == prefix


def test_the_inbox_prefix(decide: Settle) -> None:
    """Permissions can name a given one; a drawn one is nobody else's, under what most may hear."""
    assert decide().inbox_prefix == "_INBOX_me"
    first, second = (decide(context="open").inbox_prefix for _ in range(2))
    assert first != second
    assert first.startswith("_INBOX.")


@pytest.mark.parametrize(("url", "required"), [("nats://a", False), ("tls://a", True), ("nats://a,tls://b", True)])
def test_tls_is_required_where_an_address_says_so(decide: Settle, url: str, required: bool) -> None:
    """Taking it for a wish would show a password to anybody."""
    assert decide(url=url).tls_required is required


def test_no_secret_is_shown(decide: Settle) -> None:
    """Settings end up in logs and in tracebacks with locals."""
    settings = decide(url="nats://bob:s3cr3t@other")
    assert settings.authentication.password == "s3cr3t"
    for shown in (settings, settings.authentication, Source({"password": "s3cr3t"})):
        assert "s3cr3t" not in repr(shown)


async def test_an_unusable_setting_is_said_on_entering_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that builds its objects at import time must be able to report this like any other failure."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    connection = connect("missing", servers=["nats://a", "nats://b"])
    with pytest.raises(InvalidOptionsError, match="does not exist"):
        async with connection:
            pytest.fail("there is no such context")
