"""The types of the public names, as a caller's strict checker sees them."""

import ast
import subprocess
import sys
from pathlib import Path

import jsmemory

CALLER = Path(__file__).with_name("public_api.py")


def test_a_strict_caller_that_uses_every_public_name_has_no_complaint() -> None:
    """A type that gets lost on the way through a lazy name is Any, and hides every mistake of the caller."""
    command = [sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", "--no-error-summary", str(CALLER)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ran.stdout == ""
    assert ran.returncode == 0


def test_the_caller_uses_every_public_name() -> None:
    """A name that nobody tries can lose its type unseen."""
    tree = ast.parse(CALLER.read_text())
    imported = {
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "jsmemory"
        for alias in node.names
    }
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert imported & used == set(jsmemory.__all__)
