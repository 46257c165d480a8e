"""What differs between a live stream and its recipe: pure, from two configurations to deviations."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from jsmemory.backends.jetstream.recipe import KIB, BucketRecipe, size, successor_cure
from jsmemory.journal.jetstream.recipe import MAX_STREAM_LENGTH, nats_stream_add
from jsmemory.provisioning.command_line import edit_line
from jsmemory.provisioning.configuration import Recipe, configuration_of

_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Deviation:
    """
    One setting that is not as it was asked for.

    Attributes:
        setting: Its name in the server's words.
        wanted: What the recipe says.
        found: What the server says.
        cure: The command that mends it. Of a bucket's stream, ``nats stream edit`` asks on a
            terminal; where no edit mends it, the command makes a successor.
        flags: The flags of the edit; none where it takes more than an edit.
    """

    setting: str
    wanted: str
    found: str
    cure: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    How what is there compares with a recipe.

    Attributes:
        deviations: What differs; nothing where it is as asked.
        cure: The one command that mends them all; None where there is nothing to mend.
        is_made: Whether it was made just now.
    """

    deviations: tuple[Deviation, ...] = ()
    cure: str | None = None
    is_made: bool = False


def compare(recipe: Recipe, live: Mapping[str, Any]) -> Comparison:
    """
    Hold a live configuration against a recipe.

    Args:
        recipe: What was asked for.
        live: The ``config`` in the server's answer to ``STREAM.INFO``.

    Returns:
        What a recipe does not speak of is not looked at: a description, compression,
        metadata; nor is what harms nobody and cannot be taken back.
    """
    deviations = tuple(_deviations(recipe, configuration_of(recipe), live))
    return Comparison(deviations, _mend_all(recipe, deviations))


def _mend_all(recipe: Recipe, deviations: tuple[Deviation, ...]) -> str | None:
    if not deviations:
        return None
    final = [deviation for deviation in deviations if not deviation.flags]
    if final:
        return final[0].cure
    return edit_line(recipe.stream, [flag for deviation in deviations for flag in deviation.flags])


def _deviations(recipe: Recipe, wanted: Mapping[str, Any], live: Mapping[str, Any]) -> Iterator[Deviation]:
    replacement = _replacement(recipe)
    for setting, fit in _FINAL.items():
        found = live.get(setting) or fit
        if found != fit:
            yield Deviation(setting, _worded(fit), _worded(found), replacement)
    for setting, flags in _FLAGS.items():
        target = wanted.get(setting, _UNSAID.get(setting))
        found = _normal(setting, live.get(setting, _UNSAID.get(setting)))
        if found == _normal(setting, target) or (setting in _KEPT and not target):
            continue
        asked = flags(target)
        if setting == "allow_rollup_hdrs" and not target and live.get("subject_delete_marker_ttl"):
            # A server that places markers of its own turns roll-ups on again, without a word.
            asked = ("--subject-del-markers-ttl=0s", *asked)
        yield _editable(recipe, setting, target, found, asked)
    if (placement := wanted.get("placement")) is not None:
        found = live.get("placement") or {}
        if (placement["cluster"] or None, placement["tags"]) != (found.get("cluster") or None, found.get("tags") or []):
            where = [f"--cluster={placement['cluster']}"] if placement["cluster"] else []
            where += [f"--tag={tag}" for tag in placement["tags"]]
            yield _editable(recipe, "placement", placement, found, tuple(where))


def _editable(recipe: Recipe, setting: str, wanted: Any, found: Any, flags: tuple[str, ...]) -> Deviation:
    return Deviation(setting, _worded(wanted), _worded(found), edit_line(recipe.stream, flags), flags)


def _replacement(recipe: Recipe) -> str:
    if isinstance(recipe, BucketRecipe):
        return successor_cure(recipe)
    return nats_stream_add(f"{recipe.stream[: MAX_STREAM_LENGTH - 2]}-2", replicas=recipe.replicas)


def _normal(setting: str, value: Any) -> Any:
    """Servers say "no limit" in several ways."""
    if setting.startswith("max_") and setting != "max_age":
        return value if isinstance(value, int) and value > 0 else -1
    return value


def _worded(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, Mapping):
        return " ".join(f"{name}={_worded(each)}" for name, each in value.items() if each) or "none"
    return "none" if value in (None, "", -1) else str(value)


def _switch(name: str) -> Callable[[Any], tuple[str, ...]]:
    return lambda wanted: (f"--{name}" if wanted else f"--no-{name}",)


def _number(name: str) -> Callable[[Any], tuple[str, ...]]:
    return lambda wanted: (f"--{name}={wanted}",)


def _bytes(name: str) -> Callable[[Any], tuple[str, ...]]:
    return lambda wanted: (f"--{name}={size(wanted) if wanted >= KIB else -1}",)


def _always(*flags: str) -> Callable[[Any], tuple[str, ...]]:
    return lambda wanted: flags


_FINAL: Final[Mapping[str, Any]] = {
    "storage": "file",
    "persist_mode": "default",
    "sealed": False,
    "allow_msg_counter": False,
    "mirror": None,
    "sources": None,
}
"""What no edit changes, or the command line has no flag for, with what it must be."""

_UNSAID: Final[Mapping[str, Any]] = {
    "allow_rollup_hdrs": False,
    "allow_msg_ttl": False,
    "allow_direct": False,
    "deny_delete": False,
    "deny_purge": False,
    "discard_new_per_subject": False,
    "no_ack": False,
    "subject_transform": None,
    "republish": None,
    "max_age": 0,
}
"""What a server leaves out has these values; and they are wanted where a recipe says nothing."""

_KEPT: Final = frozenset({"allow_msg_ttl", "deny_delete", "deny_purge"})
"""What can be turned on and never off again, and does no harm by itself."""

_FLAGS: Final[Mapping[str, Callable[[Any], tuple[str, ...]]]] = {
    "subjects": lambda wanted: tuple(f"--subjects='{each}'" for each in wanted),
    "retention": _number("retention"),
    "num_replicas": _number("replicas"),
    "max_msgs_per_subject": _number("max-msgs-per-subject"),
    "max_msg_size": _bytes("max-msg-size"),
    "max_bytes": _bytes("max-bytes"),
    "max_msgs": _number("max-msgs"),
    "max_age": _always("--max-age=0s"),
    # The command line takes -1 for no change at all.
    "max_consumers": _always("--max-consumers=0"),
    "discard": _number("discard"),
    "discard_new_per_subject": _switch("discard-per-subject"),
    "duplicate_window": lambda wanted: (f"--dupe-window={wanted // _SECOND}s",),
    "no_ack": _always("--ack"),
    "allow_direct": _switch("allow-direct"),
    "allow_msg_ttl": _switch("allow-msg-ttl"),
    "allow_rollup_hdrs": _switch("allow-rollup"),
    "deny_delete": _switch("deny-delete"),
    "deny_purge": _switch("deny-purge"),
    "subject_transform": _always("--no-transform"),
    "republish": _always("--no-republish"),
}
"""What an edit of the stream changes, with its flags."""
