"""From one description to what makes a bucket: printed, compared, and made."""

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from nats.aio.client import Client

from jsmemory import (
    AccessDeniedError,
    BucketNotFoundError,
    BucketRecipe,
    InvalidOptionsError,
    StreamNotFoundError,
    StreamRecipe,
    apply_recipe,
    compare_recipe,
    print_recipe,
)
from jsmemory.backends.jetstream.facts import StreamFacts
from jsmemory.backends.jetstream.preflight import examine
from jsmemory.backends.jetstream.recipe import MAX_VALUE_SIZE
from jsmemory.connecting import connect
from jsmemory.journal.jetstream.recipe import examine as examine_stream
from jsmemory.limits import MAX_ENTRIES, MAX_ENTRY_BYTES
from jsmemory.provisioning import FORMATS
from jsmemory.testing.lossy import LossyConnection
from jsmemory.testing.servers import ServerSettings, embedded_server, make_bucket

GIB = 1024**3
SECOND = 1_000_000_000

WHOLE = BucketRecipe(
    bucket="9_Team",
    replicas=3,
    history=2,
    max_bucket_size=GIB,
    allow_rollup=False,
    expiring_markers=True,
    cluster="east",
    tags=("ssd", "eu:1"),
)
"""Everything that can be said of a bucket."""

KEY_VALUE = {
    "account", "bucket", "compression", "creds", "description", "history", "limitMarkerTtl", "maxBytes",
    "maxValueSize", "metadata", "mirror", "nkey", "placement", "preventDelete", "preventUpdate", "replicas",
    "republish", "servers", "sources", "storage", "tls", "tlsFirst", "ttl",
}  # fmt: skip
"""What the schema of jetstream.nats.io/v1beta2 allows in the spec of a KeyValue."""

STREAM = {
    "account", "allowAtomicPublish", "allowBatched", "allowDirect", "allowMsgCounter", "allowMsgSchedules",
    "allowMsgTtl", "allowRollup", "compression", "consumerLimits", "creds", "denyDelete", "denyPurge", "description",
    "discard", "discardPerSubject", "duplicateWindow", "firstSequence", "maxAge", "maxBytes", "maxConsumers",
    "maxMsgSize", "maxMsgs", "maxMsgsPerSubject", "metadata", "mirror", "mirrorDirect", "name", "nkey", "noAck",
    "persistMode", "placement", "preventDelete", "preventUpdate", "replicas", "republish", "retention", "sealed",
    "servers", "sources", "storage", "subjectDeleteMarkerTtl", "subjectTransform", "subjects", "tls", "tlsFirst",
}  # fmt: skip
"""The same of a Stream."""

KV_BUCKET = {
    "name", "description", "storage", "history", "ttl", "limit_marker_ttl", "placement_cluster", "placement_tags",
    "max_value_size", "max_bucket_size", "replicas",
}  # fmt: skip
"""The arguments of the Terraform resource jetstream_kv_bucket."""

JETSTREAM_STREAM = {
    "ack", "allow_direct", "allow_rollup_hdrs", "deny_delete", "deny_purge", "description", "discard",
    "discard_new_per_subject", "duplicate_window", "max_age", "max_bytes", "max_consumers", "max_msg_size", "max_msgs",
    "max_msgs_per_subject", "mirror", "name", "placement_cluster", "placement_tags", "replicas",
    "republish_destination", "republish_headers_only", "republish_source", "retention", "source", "storage",
    "subjects",
}  # fmt: skip
"""The same of jetstream_stream."""


# -- What is printed --------------------------------------------------------------------------


def test_the_lines_say_first_what_a_bucket_is_told_and_then_what_only_its_stream() -> None:
    """An operator pastes exactly this; what needs a terminal must be said before it fails without one."""
    assert print_recipe(BucketRecipe(bucket="team", replicas=3, allow_rollup=False), "nats").splitlines() == [
        "# The bucket, and what only the stream under it can be told. The second line asks, on a terminal.",
        "nats kv add team --storage=file --replicas=3 --history=1 --max-value-size=128K",
        "nats stream edit KV_team --no-allow-rollup --force",
        "# Where there is no terminal, this makes the same in one line:",
        "# nats stream add KV_team --subjects='$KV.team.>' --storage=file --replicas=3 --retention=limits "
        "--discard=new --max-msgs-per-subject=1 --max-msg-size=128K --allow-direct --deny-delete --no-allow-rollup "
        "--defaults",
    ]
    assert print_recipe(BucketRecipe(bucket="team"), "nats") == BucketRecipe(bucket="team").nats_kv_add() + "\n"
    assert print_recipe(StreamRecipe(stream="runs"), "nats") == StreamRecipe(stream="runs").nats_stream_add() + "\n"


def test_a_manifest_holds_only_fields_of_its_published_schema() -> None:
    """Kubernetes drops a field that it does not know without a word, and the bucket is another one."""
    manifest: dict[str, Any] = yaml.safe_load(print_recipe(WHOLE, "nack"))
    assert (manifest["apiVersion"], manifest["kind"]) == ("jetstream.nats.io/v1beta2", "KeyValue")
    spec = manifest["spec"]
    assert set(spec) <= KEY_VALUE
    assert spec == {
        "bucket": "9_Team",
        "storage": "file",
        "replicas": 3,
        "history": 2,
        "maxValueSize": MAX_VALUE_SIZE,
        "maxBytes": GIB,
        "limitMarkerTtl": 86_400 * SECOND,
        "placement": {"cluster": "east", "tags": ["ssd", "eu:1"]},
        "preventDelete": True,
    }
    stream: dict[str, Any] = yaml.safe_load(print_recipe(StreamRecipe(stream="runs", replicas=3), "nack"))
    assert stream["kind"] == "Stream"
    assert set(stream["spec"]) <= STREAM
    assert stream["spec"]["subjects"] == ["jsmemory.journal.runs.>"]


@pytest.mark.parametrize("bucket", ["9_Team", "_", "A-", "team"])
def test_a_manifest_is_called_as_kubernetes_allows(bucket: str) -> None:
    """A legal bucket with a capital letter would be refused by kubectl apply."""
    name = yaml.safe_load(print_recipe(BucketRecipe(bucket=bucket), "nack"))["metadata"]["name"]
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", name)


def test_a_block_of_terraform_holds_only_arguments_of_its_resource() -> None:
    """A misspelt argument fails at the plan; one that has the wrong unit makes another bucket."""
    kind, label, arguments = read_block(print_recipe(WHOLE, "terraform"))
    assert (kind, label) == ("jetstream_kv_bucket", "_9_Team")
    assert set(arguments) <= KV_BUCKET
    assert arguments == {
        "name": "9_Team",
        "storage": "file",
        "replicas": 3,
        "history": 2,
        "max_value_size": MAX_VALUE_SIZE,
        "max_bucket_size": GIB,
        "limit_marker_ttl": 86_400,
        "placement_cluster": "east",
        "placement_tags": ["ssd", "eu:1"],
    }
    kind, _, arguments = read_block(print_recipe(StreamRecipe(stream="runs"), "terraform"))
    assert kind == "jetstream_stream"
    assert set(arguments) <= JETSTREAM_STREAM


@pytest.mark.parametrize("form", ["nack", "terraform"])
def test_what_cannot_turn_roll_ups_off_says_so(form: Any) -> None:
    """Whoever asked for it, and got a bucket that one message wipes, must be able to know."""
    assert "roll-ups" in print_recipe(BucketRecipe(bucket="team", allow_rollup=False), form)
    assert "roll-ups" not in print_recipe(BucketRecipe(bucket="team"), form)


@pytest.mark.parametrize("form", ["nack", "terraform"])
@pytest.mark.parametrize("recipe", [WHOLE, StreamRecipe(stream="runs")], ids=["bucket", "stream"])
def test_no_tool_removes_memories_because_its_file_was_removed(recipe: Any, form: Any) -> None:
    """A resource that was cleaned up by mistake must not take everybody's notes along."""
    assert re.search(r"preventDelete: true|prevent_destroy = true", print_recipe(recipe, form))


def test_a_service_runs_the_one_line_that_needs_no_terminal() -> None:
    """A container has none; and Compose takes a single dollar sign for a variable of its own."""
    service = yaml.safe_load(print_recipe(WHOLE, "compose"))["services"]["bucket"]
    (line,) = service["command"]
    assert line.startswith("nats stream add KV_9_Team ")
    assert "'$$KV.9_Team.>'" in line
    assert not re.search(r"(?<!\$)\$(?!\$)", line.replace("$$", ""))


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_printed_ends_with_a_newline_and_holds_no_credentials(form: Any) -> None:
    """It is committed."""
    text = print_recipe(WHOLE, form)
    assert text.endswith("\n")
    assert not re.search(r"creds|password|token|@", text)


def test_sizes_follow_from_the_limits() -> None:
    """A bucket that is full before its stores are refuses legal memories."""
    assert BucketRecipe.room_for(50) >= 50 * MAX_ENTRIES * (MAX_ENTRY_BYTES + 8 * 1024)
    assert BucketRecipe(bucket="team", max_bucket_size=BucketRecipe.room_for(50)).max_bucket_size == 50 * 128 * 1024**2


@pytest.mark.parametrize(
    "wrong",
    [
        {"replicas": 2},
        {"history": 0},
        {"history": 65},
        {"max_bucket_size": 1000},
        {"cluster": "a b"},
        {"tags": ("$(reboot)",)},
        {"tags": ('"',)},
        {"tags": ("a\n",)},
    ],
)
def test_what_no_bucket_can_have_never_reaches_a_line_or_a_file(wrong: Mapping[str, Any]) -> None:
    """What is printed is run, and committed, unread."""
    with pytest.raises(ValueError, match=r"A-Z|replicas|values|KiB"):
        BucketRecipe(bucket="team", **wrong)
    with pytest.raises(ValueError, match="stream"):
        StreamRecipe(stream="a b")


# -- A live bucket ------------------------------------------------------------------------------


async def test_a_bucket_that_was_made_passes_preflight_and_is_as_asked(nc: Client, bucket: str) -> None:
    """Whoever let it be made must not be sent away by the first store that opens it."""
    recipe = BucketRecipe(
        bucket=f"{bucket}-2", history=2, max_bucket_size=1024**2, allow_rollup=False, expiring_markers=True
    )
    assert (await apply_recipe(nc, recipe)).is_made
    facts = await facts_of(nc, recipe.stream)
    assert examine(facts, max_payload=nc.max_payload, api_level=1) == ()
    assert (await compare_recipe(nc, recipe)).deviations == ()
    stream = StreamRecipe(stream=f"j{bucket[:20]}")
    assert (await apply_recipe(nc, stream)).is_made
    assert examine_stream(await facts_of(nc, stream.stream), max_payload=nc.max_payload) == ()
    assert (await compare_recipe(nc, stream)).deviations == ()


async def test_to_make_it_twice_is_to_make_it_once(nc: Client, bucket: str) -> None:
    """A pipeline runs again, over the memories of the first time."""
    recipe = BucketRecipe(bucket=f"{bucket}-2")
    await apply_recipe(nc, recipe)
    await nc.jetstream().publish(f"$KV.{recipe.bucket}.note", b"kept")
    again = await apply_recipe(nc, recipe)
    assert (again.is_made, again.deviations) == (False, ())
    assert (await nc.jetstream().get_last_msg(recipe.stream, f"$KV.{recipe.bucket}.note")).data == b"kept"


@pytest.mark.parametrize("lost", ["request", "answer"])
async def test_what_is_lost_on_the_way_is_asked_for_again(nc: Client, bucket: str, lost: Any) -> None:
    """A server that is busy, or elects a leader, is no reason to send an operator away."""
    lossy = LossyConnection(nc)
    lossy.lose(lost, "$JS.API.STREAM.CREATE.")
    made = await apply_recipe(lossy, BucketRecipe(bucket=f"{bucket}-2"))
    assert (made.is_made, made.deviations) == (True, ())
    assert lossy.sent.count(f"$JS.API.STREAM.CREATE.KV_{bucket}-2") >= 2


async def test_on_a_cluster_three_replicas_are_made_at_once_by_many(cluster_nc: Client, replicated_bucket: str) -> None:
    """Every pipeline of a fleet may run it, all at the same time."""
    recipe = BucketRecipe(bucket=f"{replicated_bucket}-2", replicas=3, allow_rollup=False)
    for applied in await asyncio.gather(*(apply_recipe(cluster_nc, recipe) for _ in range(4))):
        assert applied.deviations == ()
    assert (await compare_recipe(cluster_nc, recipe)).deviations == ()


async def test_what_is_there_and_differs_is_left_as_it_is(nc: Client, bucket: str) -> None:
    """A description that was edited by mistake must not cost a bucket its history, or its memories."""
    before = (await facts_of(nc, f"KV_{bucket}")).config
    refused = await apply_recipe(nc, BucketRecipe(bucket=bucket, history=9, allow_rollup=False))
    assert not refused.is_made
    assert {each.setting for each in refused.deviations} >= {"max_msgs_per_subject", "allow_rollup_hdrs"}
    assert (await facts_of(nc, f"KV_{bucket}")).config == before


async def test_every_setting_that_differs_is_named_with_what_was_found(nc: Client, bucket: str) -> None:
    """An operator who hears of one deviation a run needs a day for a bucket."""
    name = f"{bucket}-2"
    await make_bucket(
        nc,
        name,
        max_age=3600 * SECOND,
        discard="old",
        max_bytes=10_000_000,
        max_msgs=9,
        max_msg_size=1000,
        allow_direct=False,
        deny_delete=False,
        max_consumers=4,
        max_msgs_per_subject=7,
        duplicate_window=SECOND,
        republish={"src": ">", "dest": "copies.>"},
    )
    compared = await compare_recipe(nc, BucketRecipe(bucket=name, allow_rollup=False))
    found = {each.setting: (each.wanted, each.found) for each in compared.deviations}
    assert found == {
        "max_age": ("0", str(3600 * SECOND)),
        "discard": ("new", "old"),
        "max_bytes": ("none", "10000000"),
        "max_msgs": ("none", "9"),
        "max_msg_size": (str(MAX_VALUE_SIZE), "1000"),
        "allow_direct": ("on", "off"),
        "deny_delete": ("on", "off"),
        "max_consumers": ("none", "4"),
        "max_msgs_per_subject": ("1", "7"),
        "duplicate_window": (str(120 * SECOND), str(SECOND)),
        "allow_rollup_hdrs": ("off", "on"),
        "republish": ("none", "src=> dest=copies.>"),
    }
    assert compared.cure is not None
    for each in compared.deviations:
        assert each.cure.startswith(f"nats stream edit KV_{name} --")
        assert all(flag in compared.cure for flag in each.flags)


async def test_where_no_edit_helps_the_one_command_makes_a_successor(nc: Client, bucket: str) -> None:
    """An edit of a bucket in memory is refused, and whoever tried it is no wiser."""
    await make_bucket(nc, f"{bucket}-2", storage="memory", max_age=3600 * SECOND)
    compared = await compare_recipe(nc, BucketRecipe(bucket=f"{bucket}-2"))
    assert compared.cure is not None
    assert compared.cure.startswith(f"nats kv add {bucket}-2-2 ")


async def test_a_successor_is_what_was_asked_for_and_not_what_is_there(nc: Client, bucket: str) -> None:
    """Whoever asks for three replicas and gets one finds out at the next crash."""
    await make_bucket(nc, f"{bucket}-2", storage="memory")
    asked = {"replicas": 3, "history": 2, "allow_rollup": False}
    compared = await compare_recipe(nc, BucketRecipe(bucket=f"{bucket}-2", **asked))
    assert compared.cure is not None
    assert compared.cure.startswith(BucketRecipe(bucket=f"{bucket}-2-2", **asked).one_line())


async def test_what_is_not_there_is_told_with_the_line_that_makes_it(nc: Client, bucket: str) -> None:
    """A wrong name, or a cluster that was set up anew."""
    with pytest.raises(BucketNotFoundError) as missing:
        await compare_recipe(nc, BucketRecipe(bucket=f"{bucket}-2"))
    assert str(missing.value).endswith(BucketRecipe(bucket=f"{bucket}-2").nats_kv_add())
    with pytest.raises(StreamNotFoundError):
        await compare_recipe(nc, StreamRecipe(stream=f"j{bucket[:20]}"))


async def test_more_replicas_than_there_are_servers_are_refused_with_the_remedy(nc: Client, bucket: str) -> None:
    """The default of a fleet, tried on a laptop."""
    with pytest.raises(InvalidOptionsError, match="--replicas 1"):
        await apply_recipe(nc, BucketRecipe(bucket=f"{bucket}-2", replicas=3))


async def test_whoever_may_not_make_streams_is_told_which_right_is_missing() -> None:
    """ "Unavailable" would send an operator to look at a server that is well."""
    users = 'accounts { A { jetstream: enabled, users: [{ user: u, password: p, permissions: { publish: ["$JS.API.STREAM.INFO.>"], subscribe: ["_INBOX.>"] } }] } }'  # noqa: E501
    async with (
        embedded_server(settings=ServerSettings(extra=users)) as server,
        connect(servers=server.url, user="u", password="p") as nats,
    ):
        with pytest.raises(AccessDeniedError, match=r"STREAM\.CREATE\.KV_team"):
            await apply_recipe(nats, BucketRecipe(bucket="team"))


async def facts_of(nc: Client, stream: str) -> StreamFacts:
    """What the server says of a stream."""
    return StreamFacts.of((await nc.request(f"$JS.API.STREAM.INFO.{stream}", b"")).data)


def read_block(text: str) -> tuple[str, str, dict[str, Any]]:
    """Kind, label and arguments of a block in HCL whose values are JSON as well."""
    head = re.search(r'^resource "(\w+)" "([A-Za-z_][\w-]*)" \{$', text, flags=re.MULTILINE)
    assert head is not None
    assert text.count("{") == text.count("}") == 2
    arguments = {name: json.loads(value) for name, value in re.findall(r"^  (\w+) += (.+)$", text, flags=re.MULTILINE)}
    return head[1], head[2], arguments
