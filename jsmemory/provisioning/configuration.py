"""A recipe in the server's own words: the configuration of the stream."""

from typing import Any, Final

from jsmemory.backends.jetstream.recipe import BucketRecipe
from jsmemory.journal.jetstream.recipe import StreamRecipe, root_of

Recipe = BucketRecipe | StreamRecipe
"""What can be provisioned."""

DUPLICATE_WINDOW: Final = 120_000_000_000
"""Nanoseconds: the server's own default, said so that nobody has to know it."""

MARKERS_FOR: Final = 86_400
"""Seconds for which a bucket's own markers stay, where asking for them is the only way to have expiring ones."""


def subjects_of(recipe: Recipe) -> str:
    """The subjects of the stream."""
    return f"$KV.{recipe.bucket}.>" if isinstance(recipe, BucketRecipe) else f"{root_of(recipe.stream)}>"


def configuration_of(recipe: Recipe) -> dict[str, Any]:
    """
    The configuration that the JetStream API takes.

    Returns:
        The same stream as the printed lines make, under the names and in the units of the
        server: bytes, and nanoseconds.
    """
    configuration: dict[str, Any] = {
        "name": recipe.stream,
        "subjects": [subjects_of(recipe)],
        "retention": "limits",
        "storage": "file",
        "discard": "new",
        "num_replicas": recipe.replicas,
        "max_consumers": -1,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_age": 0,
        "max_msgs_per_subject": -1,
        "max_msg_size": -1,
        "duplicate_window": DUPLICATE_WINDOW,
        "allow_direct": True,
        "deny_delete": True,
    }
    if isinstance(recipe, StreamRecipe):
        return configuration | {"allow_rollup_hdrs": False, "deny_purge": True}
    configuration |= {
        "max_msgs_per_subject": recipe.history,
        "max_msg_size": recipe.max_value_size,
        "max_bytes": recipe.max_bucket_size or -1,
        "allow_rollup_hdrs": recipe.allow_rollup,
        "allow_msg_ttl": recipe.expiring_markers,
    }
    if recipe.cluster is not None or recipe.tags:
        configuration["placement"] = {"cluster": recipe.cluster or "", "tags": list(recipe.tags)}
    return configuration
