"""
What is printed, run by the real nats command line against a real server, on a terminal and without.

That program comes with no Python package. It is taken from NATS_CLI, else from the search
path; where it is not found these tests are not collected (see tests/conftest.py),
and with JSMEMORY_REQUIRE_NATS_CLI=1 they are, and fail. A release is checked that way.
"""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from nats.aio.client import Client

from jsmemory import BucketRecipe, StreamRecipe, compare_recipe, print_recipe
from jsmemory.backends.jetstream.facts import StreamFacts
from jsmemory.backends.jetstream.preflight import examine
from jsmemory.testing.servers import NatsServer, make_bucket
from jsmemory.testing.streams import make_stream

SECOND = 1_000_000_000
LONGEST_S = 60.0

Environment = Mapping[str, str]
OnTerminal = Callable[[str], int]
Shell = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def environment(tmp_path: Path, programs: Any, nats_server: NatsServer) -> Environment:
    """An operator's: `nats` is on the path and talks to the shared server."""
    return {
        **programs.environment,
        "HOME": str(tmp_path),
        "NATS_URL": nats_server.url,
        "TERM": "xterm",
    }


@pytest.fixture
def shell(environment: Environment) -> Shell:
    """A shell without a terminal, as in a container or a pipeline."""

    def run(command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["sh", "-c", command],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
        )

    return run


@pytest.fixture
def on_terminal(environment: Environment, person: Any) -> OnTerminal:
    """A shell on a terminal whose operator says yes; the exit code of the command."""

    def run(command: str) -> int:
        code: int = person.runs(["sh", "-c", command], environment).code
        return code

    return run


@pytest.mark.parametrize(
    "recipe",
    [
        {},
        {"allow_rollup": False},
        {"allow_rollup": False, "expiring_markers": True, "history": 3, "max_bucket_size": 8 * 1024**2},
        {"expiring_markers": True},
    ],
    ids=str,
)
async def test_every_printed_line_runs_and_makes_what_was_described(
    nc: Client, bucket: str, shell: Shell, on_terminal: OnTerminal, recipe: Mapping[str, Any]
) -> None:
    """A line that does not run, or makes something else, is found out by an operator in a hurry."""
    first, second = (BucketRecipe(bucket=f"{bucket}-{number}", **recipe) for number in (1, 2))
    lines = print_recipe(first, "nats").splitlines()
    for line in [each for each in lines if not each.startswith("#")]:
        assert on_terminal(line) == 0, line
    in_one_line = print_recipe(second, "nats").splitlines()[-1].removeprefix("# ")
    for _ in range(1 if "kv add" in in_one_line else 2):
        done = shell(in_one_line)
        assert done.returncode == 0, done.stderr
    for made in (first, second):
        assert (await compare_recipe(nc, made)).deviations == ()
        facts = StreamFacts.of((await nc.request(f"$JS.API.STREAM.INFO.{made.stream}", b"")).data)
        assert examine(facts, max_payload=nc.max_payload, api_level=1) == ()


async def test_the_stream_of_a_journal_is_made_as_described(nc: Client, bucket: str, shell: Shell) -> None:
    """A stream that forgets its oldest records is noticed when a run cannot be resumed."""
    recipe = StreamRecipe(stream=f"j{bucket}")
    done = shell(print_recipe(recipe, "nats"))
    assert done.returncode == 0, done.stderr
    assert (await compare_recipe(nc, recipe)).deviations == ()


async def test_the_container_makes_the_bucket_and_may_run_again(nc: Client, bucket: str, shell: Shell) -> None:
    """A second `docker compose up` must leave the memories of the first one where they are."""
    recipe = BucketRecipe(bucket=f"{bucket}-2", allow_rollup=False)
    (command,) = yaml.safe_load(print_recipe(recipe, "compose"))["services"]["bucket"]["command"]
    for _ in range(2):
        # Compose makes one dollar sign of two.
        done = shell(command.replace("$$", "$"))
        assert done.returncode == 0, done.stderr
        await nc.jetstream().publish(f"$KV.{recipe.bucket}.note", b"kept")
    assert (await compare_recipe(nc, recipe)).deviations == ()


DEVIATIONS: Mapping[str, Mapping[str, object]] = {
    "max_age": {"max_age": 3600 * SECOND},
    "discard": {"discard": "old", "max_bytes": 1_000_000},
    "max_msgs": {"max_msgs": 9},
    "max_msg_size": {"max_msg_size": 1000},
    "allow_direct": {"allow_direct": False},
    "deny_delete": {"deny_delete": False},
    "max_consumers": {"max_consumers": 20},
    "max_msgs_per_subject": {"max_msgs_per_subject": 7},
    "discard_new_per_subject": {"discard_new_per_subject": True},
    "duplicate_window": {"duplicate_window": SECOND},
    "no_ack": {"no_ack": True},
    "republish": {"republish": {"src": ">", "dest": "copies.>"}},
    "allow_rollup_hdrs": {"allow_msg_ttl": True, "subject_delete_marker_ttl": 60 * SECOND},
    "retention": {"retention": "interest"},
    "subjects": {"subjects": ["$KV.{bucket}.>", "{bucket}.elsewhere"]},
    "subject_transform": {"subject_transform": {"src": "$KV.{bucket}.other.>", "dest": "$KV.{bucket}.renamed.>"}},
}
"""How a live bucket can differ, under the name of the setting, in the server's words."""


@pytest.mark.parametrize("setting", DEVIATIONS)
async def test_the_one_command_mends_a_deviation_and_leaves_the_rest(
    nc: Client, bucket: str, on_terminal: OnTerminal, setting: str
) -> None:
    """A cure that does not work, or that breaks something else, is worse than none."""
    name = f"{bucket}-2"
    fit = {"max_msg_size": 128 * 1024, "allow_rollup_hdrs": False}
    differs = {field: filled(value, name) for field, value in DEVIATIONS[setting].items()}
    await make_bucket(nc, name, **(fit | differs))
    recipe = BucketRecipe(bucket=name, allow_rollup=False)
    compared = await compare_recipe(nc, recipe)
    assert setting in {each.setting for each in compared.deviations}
    assert compared.cure is not None
    if len(compared.deviations) == 1:
        assert compared.deviations[0].cure == compared.cure
    assert on_terminal(compared.cure) == 0, compared.cure
    assert (await compare_recipe(nc, recipe)).deviations == ()


async def test_a_deviating_stream_of_a_journal_is_mended_without_a_terminal(
    nc: Client, bucket: str, shell: Shell
) -> None:
    """It is no bucket's, so the command asks nothing."""
    recipe = StreamRecipe(stream=f"j{bucket}")
    await make_stream(nc, recipe.stream, max_age=3600 * SECOND, discard="old", max_msgs_per_subject=3, deny_purge=False)
    compared = await compare_recipe(nc, recipe)
    assert {each.setting for each in compared.deviations} >= {"max_age", "discard", "max_msgs_per_subject"}
    done = shell(str(compared.cure))
    assert done.returncode == 0, done.stderr
    assert (await compare_recipe(nc, recipe)).deviations == ()


def filled(value: object, bucket: str) -> object:
    """A setting with the bucket's name in its place."""
    match value:
        case str():
            return value.replace("{bucket}", bucket)
        case list():
            return [filled(each, bucket) for each in value]
        case dict():
            return {name: filled(each, bucket) for name, each in value.items()}
    return value
