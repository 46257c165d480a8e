"""
A recipe as lines for the nats command line.

``nats kv add`` can say less than a stream can. What is left over is a ``nats stream edit``,
and that asks, of a bucket, for a confirmation which its ``--force`` does not give: it needs a
terminal. A container and a pipeline have none, so there is also one line that makes the same
bucket as a stream, at once and without a question.
"""

from jsmemory.backends.jetstream.recipe import BucketRecipe
from jsmemory.provisioning.configuration import Recipe


def make_lines(recipe: Recipe) -> tuple[str, ...]:
    """The lines that make it, one after the other; the last of two needs a terminal."""
    if not isinstance(recipe, BucketRecipe):
        return (recipe.nats_stream_add(),)
    if not recipe.beyond_a_bucket:
        return (recipe.nats_kv_add(),)
    return recipe.nats_kv_add(), edit_line(recipe.stream, recipe.beyond_a_bucket)


def make_line(recipe: Recipe) -> str:
    """The one line that makes it whole, and needs no terminal."""
    return recipe.one_line() if isinstance(recipe, BucketRecipe) else recipe.nats_stream_add()


def edit_line(stream: str, flags: list[str] | tuple[str, ...]) -> str:
    """The line that changes a stream; on the stream of a bucket it asks on a terminal."""
    return " ".join(["nats stream edit", stream, *flags, "--force"])
