"""
Proofs by programs that no Python package of ours brings: Docker Compose, and the nats command line.

They are collected where the program is found, and fail where it is demanded.
"""

import os
import shutil

collect_ignore_glob = [
    pattern
    for pattern, program, variable, demanded in (
        ("*_with_docker_compose.py", "docker-compose", "DOCKER_COMPOSE", "JSMEMORY_REQUIRE_DOCKER_COMPOSE"),
        ("*_with_nats_cli.py", "nats", "NATS_CLI", "JSMEMORY_REQUIRE_NATS_CLI"),
    )
    if not (os.environ.get(demanded) or os.environ.get(variable) or shutil.which(program))
]
