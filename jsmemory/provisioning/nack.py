"""A recipe as a manifest for NACK, which makes buckets and streams in Kubernetes."""

import re
from typing import Final

from jsmemory.backends.jetstream.recipe import BucketRecipe
from jsmemory.journal.jetstream.recipe import StreamRecipe
from jsmemory.provisioning.configuration import MARKERS_FOR, Recipe, subjects_of

_API: Final = "jetstream.nats.io/v1beta2"
_SECOND: Final = 1_000_000_000


def nack(recipe: Recipe) -> str:
    """
    A manifest in YAML.

    Its resource can be removed and the memories stay. A ``KeyValue`` has no field for
    roll-ups: they are allowed.
    """
    return _key_value(recipe) if isinstance(recipe, BucketRecipe) else _stream(recipe)


def _key_value(recipe: BucketRecipe) -> str:
    lines = [
        "# Needs the controller in control-loop mode (--control-loop).",
        *(
            ()
            if recipe.allow_rollup
            else (
                "# A KeyValue cannot turn roll-ups off, and NACK turns them on again at each change. Where untrusted",
                "# programs share the account, make the bucket with the nats command line instead.",
            )
        ),
        *_head("KeyValue", recipe.bucket),
        f'  bucket: "{recipe.bucket}"',
        "  storage: file",
        f"  replicas: {recipe.replicas}",
        f"  history: {recipe.history}",
        f"  maxValueSize: {recipe.max_value_size}",
    ]
    if recipe.max_bucket_size is not None:
        lines.append(f"  maxBytes: {recipe.max_bucket_size}")
    if recipe.expiring_markers:
        lines.append(f"  limitMarkerTtl: {MARKERS_FOR * _SECOND}")
    if recipe.cluster is not None or recipe.tags:
        lines.append("  placement:")
        if recipe.cluster is not None:
            lines.append(f'    cluster: "{recipe.cluster}"')
        if recipe.tags:
            lines.append(f"    tags: [{', '.join(_quoted(tag) for tag in recipe.tags)}]")
    return "\n".join([*lines, "  preventDelete: true", ""])


def _stream(recipe: StreamRecipe) -> str:
    lines = [
        *_head("Stream", recipe.stream),
        f'  name: "{recipe.stream}"',
        f"  subjects: [{_quoted(subjects_of(recipe))}]",
        "  storage: file",
        f"  replicas: {recipe.replicas}",
        "  retention: limits",
        "  discard: new",
        "  allowDirect: true",
        "  allowRollup: false",
        "  denyDelete: true",
        "  denyPurge: true",
        "  preventDelete: true",
    ]
    return "\n".join([*lines, ""])


def _head(kind: str, name: str) -> list[str]:
    return [f"apiVersion: {_API}", f"kind: {kind}", "metadata:", f'  name: "{_resource_name(name)}"', "spec:"]


def _resource_name(name: str) -> str:
    """A name that Kubernetes takes: lower case, no underscore, a letter or a digit at both ends."""
    return re.sub(r"[^a-z0-9-]", "-", name.lower()).strip("-") or "memory"


def _quoted(text: str) -> str:
    return f'"{text}"'
