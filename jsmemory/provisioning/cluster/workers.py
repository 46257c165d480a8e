"""
What was printed for workers, put together for the nodes.

Each worker's file lies in one folder as ``jsmemory permissions`` printed it. A server's
configuration can include a file among accounts and not among the users of one, so the blocks of
workers that share an account are put down in full.
"""

import re
from collections.abc import Mapping
from typing import Final

from jsmemory.errors import InvalidOptionsError
from jsmemory.provisioning.cluster.blocks import blocks_of
from jsmemory.provisioning.cluster.environment import OPERATOR, PASSWORD

_HEAD: Final = "# Put together from the folder workers by: jsmemory server --cluster --prepare\n"
_PASSWORD: Final = re.compile(rf"\$({PASSWORD}\w+)")
_REMARK: Final = re.compile(r"^\s*(#|//).*$", re.MULTILINE)


def passwords_in(files: Mapping[str, str]) -> set[str]:
    """The variables with passwords that workers' files ask for; what is only remarked counts for nothing."""
    return {name for text in files.values() for name in _PASSWORD.findall(_REMARK.sub("", text))}


def refuse_shared_accounts(files: Mapping[str, str], configuration: str) -> None:
    """
    Refuse an account that is defined twice: a server takes the last one, without a word, and loses the other.

    The account of a memory is in the file of each of its workers, where it must be the same. A user
    that is there twice is not looked for: with that no server starts.

    Args:
        files: The text of each worker's file, by its name.
        configuration: What every node is started with.

    Raises:
        InvalidOptionsError: two files, or a file and the configuration, define an account differently.
    """
    own = {name for block, inside in blocks_of(configuration) if block == "accounts" for name, _ in blocks_of(inside)}
    first: dict[str, tuple[str, str]] = {}
    for file in sorted(files):
        if _is_user(files[file]):
            continue
        for account, inside in blocks_of(files[file]):
            if account in own:
                raise InvalidOptionsError(
                    "folder",
                    f"has a worker's file {file} with the account {account}, which the nodes have for themselves",
                    "Print it anew with --worker NAME, and remove this file.",
                )
            known, other = first.setdefault(account, (inside, file))
            if inside != known:
                raise InvalidOptionsError(
                    "folder",
                    f"has two workers' files, {other} and {file}, that each define the account {account} differently",
                    "Of two workers print one anew with --worker NAME; the account of a memory has to be the same "
                    "in both, with its limits, its password and its journal.",
                )


def users(files: Mapping[str, str]) -> str:
    """
    The users of the account of shared buckets: its operator, and the workers in it.

    Args:
        files: The text of each worker's file, by its name.
    """
    operator = f"  {{ user: {OPERATOR}, password: ${PASSWORD}{OPERATOR} }}"
    blocks = [_indented(files[name]) for name in sorted(files) if _is_user(files[name])]
    return "\n".join([_HEAD.rstrip(), "users: [", operator, *blocks, "]", ""])


def accounts(files: Mapping[str, str], folder: str) -> str:
    """
    The accounts of isolated workers and of their memories, each included from its file.

    Args:
        files: The text of each worker's file, by its name.
        folder: Where the files are, from the configuration.
    """
    return _HEAD + "".join(f'include "./{folder}/{name}"\n' for name in sorted(files) if not _is_user(files[name]))


def _is_user(text: str) -> bool:
    """Whether it is the block of a user; else it has accounts."""
    return _REMARK.sub("", text).lstrip().startswith("{")


def _indented(text: str) -> str:
    return "".join(f"  {line}" if line.strip() else line for line in text.splitlines(keepends=True)).rstrip()
