"""The command that prints what makes a bucket, compares it, and makes it."""

from typing import Any

import pytest
import yaml

from jsmemory import BucketRecipe, print_recipe
from jsmemory.provisioning import FORMATS
from jsmemory.testing.servers import NatsServer


def test_the_command_prints_and_makes_nothing(shell: Any, nats_server: NatsServer) -> None:
    """Whoever looks what it would do must not have done it."""
    printed = shell("provision", "-s", nats_server.url, "-b", "untouched", "--replicas", "1")
    assert printed.code == 0
    assert printed.out.decode() == print_recipe(BucketRecipe(bucket="untouched", allow_rollup=False), "nats")
    compared = shell("provision", "-s", nats_server.url, "-b", "untouched", "--diff", "--json")
    assert (compared.code, compared.json["error"]["code"]) == (5, "bucket_not_found")


def test_the_command_makes_compares_and_refuses(shell: Any, nats_server: NatsServer, new_bucket: str) -> None:
    """A pipeline goes by the exit code."""
    place = ("provision", "-s", nats_server.url, "--replicas", "1", "--json", "-b")
    made = shell(*place, f"{new_bucket}-2", "--journal", f"j{new_bucket}", "--apply")
    assert (made.code, [each["made"] for each in made.json["compared"]]) == (0, [True, True])
    assert shell(*place, f"{new_bucket}-2", "--diff").code == 0
    differs = shell(*place, new_bucket, "--diff")
    (compared,) = differs.json["compared"]
    assert differs.code == 6
    assert {"allow_rollup_hdrs", "max_msg_size"} == {each["setting"] for each in compared["deviations"]}
    assert compared["cure"].startswith(f"nats stream edit KV_{new_bucket} ")
    refused = shell("provision", "-s", nats_server.url, "--replicas", "1", "-b", new_bucket, "--apply")
    assert refused.code == 1
    assert "Nothing was changed" in refused.err
    assert refused.out.decode().count("nats stream edit") == 2


@pytest.mark.parametrize("form", FORMATS)
def test_the_command_prints_both_of_a_fleet_in_every_form(shell: Any, form: str) -> None:
    """A file that no tool can read is found out when a cluster is set up in a hurry."""
    printed = shell("provision", "--bucket", "team", "--journal", "runs", "--stores", "5", "--format", form)
    assert printed.code == 0
    text = printed.out.decode()
    if form == "nack":
        assert [each["kind"] for each in yaml.safe_load_all(text)] == ["KeyValue", "Stream"]
    if form == "compose":
        assert set(yaml.safe_load(text)["services"]) == {"bucket", "journal"}
    assert text.count("replicas") >= 2
    assert str(BucketRecipe.room_for(5) // 1024) in text or str(BucketRecipe.room_for(5)) in text


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), "--bucket"),
        (("-b", "a.b"), "name"),
        (("-b", "b", "--replicas", "2"), "replicas"),
        (("-b", "b", "--tag", "a b"), "tag"),
        (("-b", "b", "--journal", "a b"), "journal"),
        (("-b", "team", "--journal", "KV_team"), "not KV_ first"),
        (("-b", "b", "--diff", "--apply"), "--diff"),
        (("-b", "b", "--format", "helm"), "helm"),
    ],
)
def test_a_description_that_cannot_be_is_refused_in_one_line(
    shell: Any, arguments: tuple[str, ...], named: str
) -> None:
    """What is printed is run unread: nothing must be printed for what cannot be."""
    refused = shell("provision", *arguments)
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, b"", 1)
    assert named in refused.err
