"""A recipe as a service for Docker Compose, which makes the bucket and ends."""

from typing import Final

from jsmemory.backends.jetstream.recipe import BucketRecipe
from jsmemory.provisioning.command_line import make_line
from jsmemory.provisioning.configuration import Recipe

IMAGE: Final = "natsio/nats-box:0.18.0"
"""It has the nats command line."""


def compose(recipe: Recipe) -> str:
    """
    A file with one service, to be put beside the one that runs the server.

    The server is the service ``nats``, and says when it is healthy. Run again it changes
    nothing; it fails where a bucket of that name was made differently.
    """
    name = "bucket" if isinstance(recipe, BucketRecipe) else "journal"
    # Compose puts variables in the place of words behind a single dollar sign.
    command = make_line(recipe).replace("$", "$$")
    return "\n".join(
        [
            "services:",
            f"  {name}:",
            f"    image: {IMAGE}",
            "    depends_on:",
            "      nats:",
            "        condition: service_healthy",
            "    environment:",
            "      NATS_URL: nats://nats:4222",
            '    entrypoint: ["/bin/sh", "-c"]',
            "    command:",
            f"      - {command}",
            '    restart: "no"',
            "",
        ]
    )
