"""A recipe as a block for the Terraform provider of JetStream."""

from jsmemory.backends.jetstream.recipe import BucketRecipe
from jsmemory.journal.jetstream.recipe import StreamRecipe
from jsmemory.provisioning.configuration import MARKERS_FOR, Recipe, subjects_of


def terraform(recipe: Recipe) -> str:
    """
    A resource block in HCL, which no plan can destroy.

    A ``jetstream_kv_bucket`` has no argument for roll-ups: they are allowed.
    """
    if isinstance(recipe, BucketRecipe):
        remarks, kind, arguments = _bucket(recipe)
    else:
        remarks, kind, arguments = (), "jetstream_stream", _stream(recipe)
    width = max(map(len, arguments))
    lines = [f"  {name.ljust(width)} = {value}" for name, value in arguments.items()]
    protected = ["", "  lifecycle {", "    prevent_destroy = true", "  }"]
    return "\n".join([*remarks, f'resource "{kind}" "{_label(recipe)}" {{', *lines, *protected, "}", ""])


def _bucket(recipe: BucketRecipe) -> tuple[tuple[str, ...], str, dict[str, str]]:
    remarks = (
        ()
        if recipe.allow_rollup
        else (
            "# A bucket of Terraform cannot turn roll-ups off. Where untrusted programs share the account, make it",
            "# with the nats command line instead.",
        )
    )
    arguments = {
        "name": _quoted(recipe.bucket),
        "storage": _quoted("file"),
        "replicas": str(recipe.replicas),
        "history": str(recipe.history),
        "max_value_size": str(recipe.max_value_size),
    }
    if recipe.max_bucket_size is not None:
        arguments["max_bucket_size"] = str(recipe.max_bucket_size)
    if recipe.expiring_markers:
        arguments["limit_marker_ttl"] = str(MARKERS_FOR)
    if recipe.cluster is not None:
        arguments["placement_cluster"] = _quoted(recipe.cluster)
    if recipe.tags:
        arguments["placement_tags"] = f"[{', '.join(map(_quoted, recipe.tags))}]"
    return remarks, "jetstream_kv_bucket", arguments


def _stream(recipe: StreamRecipe) -> dict[str, str]:
    return {
        "name": _quoted(recipe.stream),
        "subjects": f"[{_quoted(subjects_of(recipe))}]",
        "storage": _quoted("file"),
        "replicas": str(recipe.replicas),
        "retention": _quoted("limits"),
        "discard": _quoted("new"),
        "allow_direct": "true",
        "allow_rollup_hdrs": "false",
        "deny_delete": "true",
        "deny_purge": "true",
    }


def _label(recipe: Recipe) -> str:
    """What the block is called: a label begins with a letter or an underscore."""
    name = recipe.bucket if isinstance(recipe, BucketRecipe) else recipe.stream
    return name if name[0].isalpha() or name[0] == "_" else f"_{name}"


def _quoted(text: str) -> str:
    return f'"{text}"'
