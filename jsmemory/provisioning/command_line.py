"""
A recipe as lines for the nats command line.

``nats kv add`` can say less than a stream can. What is left over is a ``nats stream edit``,
and that asks, of a bucket, for a confirmation which its ``--force`` does not give: it needs a
terminal. A container and a pipeline have none, so there is also one line that makes the same
bucket as a stream, at once and without a question.
"""

from jsmemory.backends.jetstream.recipe import BucketRecipe, size
from jsmemory.provisioning.configuration import Recipe, subjects_of


def make_lines(recipe: Recipe) -> tuple[str, ...]:
    """The lines that make it, one after the other; the last of two needs a terminal."""
    if not isinstance(recipe, BucketRecipe):
        return (recipe.nats_stream_add(),)
    flags = _beyond_a_bucket(recipe)
    if not flags:
        return (recipe.nats_kv_add(),)
    return recipe.nats_kv_add(), edit_line(recipe.stream, flags)


def make_line(recipe: Recipe) -> str:
    """
    The one line that makes it whole, and needs no terminal.

    Run again it succeeds where the stream is as it says, and fails, changing nothing, where
    it is not.
    """
    if not isinstance(recipe, BucketRecipe):
        return recipe.nats_stream_add()
    flags = _beyond_a_bucket(recipe)
    if not flags:
        return recipe.nats_kv_add()
    limits = [f"--max-msgs-per-subject={recipe.history}", f"--max-msg-size={size(recipe.max_value_size)}"]
    if recipe.max_bucket_size is not None:
        limits.append(f"--max-bytes={size(recipe.max_bucket_size)}")
    if recipe.cluster is not None:
        limits.append(f"--cluster={recipe.cluster}")
    limits += [f"--tag={tag}" for tag in recipe.tags]
    if recipe.allow_rollup:
        limits.append("--allow-rollup")
    return (
        f"nats stream add {recipe.stream} --subjects='{subjects_of(recipe)}' --storage=file "
        f"--replicas={recipe.replicas} --retention=limits --discard=new {' '.join(limits)} "
        f"--allow-direct --deny-delete {' '.join(flags)} --defaults"
    )


def edit_line(stream: str, flags: list[str] | tuple[str, ...]) -> str:
    """The line that changes a stream; on the stream of a bucket it asks on a terminal."""
    return " ".join(["nats stream edit", stream, *flags, "--force"])


def _beyond_a_bucket(recipe: BucketRecipe) -> list[str]:
    """What only the stream under a bucket can be told."""
    flags = []
    if not recipe.allow_rollup:
        flags.append("--no-allow-rollup")
    if recipe.expiring_markers:
        flags.append("--allow-msg-ttl")
    return flags
