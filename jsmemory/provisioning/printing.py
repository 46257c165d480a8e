"""One description, written down for whatever an operator works with."""

from collections.abc import Callable, Mapping
from typing import Final, Literal

from jsmemory.provisioning.command_line import make_line, make_lines
from jsmemory.provisioning.compose import compose
from jsmemory.provisioning.configuration import Recipe
from jsmemory.provisioning.nack import nack
from jsmemory.provisioning.terraform import terraform

Format = Literal["nats", "nack", "terraform", "compose"]


def print_recipe(recipe: Recipe, form: Format) -> str:
    """
    What makes the bucket, or the stream, in one of the forms.

    Args:
        recipe: What is to be made.
        form: ``nats``: lines for the nats command line. ``nack``: a manifest for Kubernetes.
            ``terraform``: a resource block. ``compose``: a service for Docker Compose.

    Returns:
        Text to run or to commit, with a newline at its end.
    """
    return FORMATS[form](recipe)


def _nats(recipe: Recipe) -> str:
    lines = make_lines(recipe)
    if len(lines) == 1:
        return f"{lines[0]}\n"
    return "\n".join(
        [
            "# The bucket, and what only the stream under it can be told. The second line asks, on a terminal.",
            *lines,
            "# Where there is no terminal, this makes the same in one line:",
            f"# {make_line(recipe)}",
            "",
        ]
    )


FORMATS: Final[Mapping[str, Callable[[Recipe], str]]] = {
    "nats": _nats,
    "nack": nack,
    "terraform": terraform,
    "compose": compose,
}
"""What there is to print, by name."""
