"""What lies under a directory: permissions, the kind of file system, and how much room there is."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from jsmemory.examining.report import Check, Verdict, found, ok, unknown
from jsmemory.limits import MAX_ENTRIES, MAX_ENTRY_BYTES

_MIB: Final = 1024 * 1024
_MOUNTS: Final = Path("/proc/self/mountinfo")

_REMOTE: Final = frozenset(
    {"9p", "afs", "ceph", "cifs", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "lustre", "nfs", "nfs4", "smb3", "smbfs"}
)
_IN_MEMORY: Final = frozenset({"ramfs", "tmpfs"})


def permissions(directory: int, *, read_only: bool) -> Iterator[Check]:
    """
    What this account may do in an open directory, and who else may.

    Args:
        directory: The open directory.
        read_only: Whether writing is not wanted.
    """
    may_write = os.access(".", os.W_OK | os.X_OK, dir_fd=directory)
    if not os.access(".", os.R_OK | os.X_OK, dir_fd=directory):
        yield _denied("read", "u+rx")
    elif not may_write and not read_only:
        yield _denied("write", "u+rwx")
    else:
        yield ok("access", "reading" if read_only else "reading and writing")
    mode = os.fstat(directory).st_mode
    if mode & 0o002:
        yield found(
            "others",
            Verdict.WARNING,
            "directory_open_to_all",
            "Every account of this host may write memories, and so what agents believe to know.",
            "chmod o-rwx on the directory",
        )
    elif mode & 0o005:
        yield found(
            "others",
            Verdict.ADVICE,
            "directory_readable_by_all",
            "Every account of this host may look into the directory.",
            "chmod o-rwx on the directory",
        )
    else:
        yield ok("others", "kept out")


def _denied(what: str, bits: str) -> Check:
    return found(
        "access",
        Verdict.DENIED,
        f"directory_not_{'writable' if what == 'write' else 'readable'}",
        f"This account may not {what} in the directory.",
        f"give it to this account: chown, or chmod {bits}; a store that is only read is examined with --read-only",
    )


def file_system(directory: int) -> Check:
    """Whether the file system under an open directory keeps what is promised on files."""
    return judge_file_system(_kind_of(os.fstat(directory).st_dev))


def judge_file_system(kind: str | None) -> Check:
    """What is to be said of a kind of file system, under the kernel's name of it."""
    if kind is None:
        return unknown("file_system", "this system does not tell")
    if kind in _REMOTE:
        return found(
            "file_system",
            Verdict.WARNING,
            "file_system_remote",
            f"The directory comes over a network ({kind}): of two hosts that write to it, one can overwrite the other.",
            "use a local disk, or JetStream for several hosts",
        )
    if kind in _IN_MEMORY:
        return found(
            "file_system",
            Verdict.WARNING,
            "file_system_in_memory",
            f"The directory lies in memory ({kind}): a restart of the host loses it.",
            "use a directory on a disk",
        )
    return ok("file_system", kind)


def _kind_of(device: int) -> str | None:
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        lines = _MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        before, _, after = line.partition(" - ")
        if before.split()[2:3] == [wanted] and after:
            return after.split()[0]
    return None


def disk(directory: int) -> Iterator[Check]:
    """How much room there is under an open directory: bytes, and names."""
    left = os.fstatvfs(directory)
    free = left.f_bavail * left.f_frsize
    yield room("disk", free, f"{free / _MIB:,.0f} MiB free", MAX_ENTRY_BYTES, MAX_ENTRIES * MAX_ENTRY_BYTES)
    if left.f_files:
        yield room("inodes", left.f_favail, f"{left.f_favail:,} files more", 1, MAX_ENTRIES)


def room(name: str, free: int, said: str, for_one: int, for_all: int) -> Check:
    """
    What is to be said of what is left of something.

    Args:
        name: Of the check.
        free: How much is left.
        said: The same in words.
        for_one: What an entry needs at most.
        for_all: What a full store needs at most.
    """
    if free < for_one:
        problem = f"The disk is full: {said}. No entry can be written."
        return found(name, Verdict.FAULT, f"{name}_full", problem, "make room on it", said=said)
    if free < for_all:
        problem = f"The disk is nearly full: {said}, and a full store would not fit."
        return found(name, Verdict.WARNING, f"{name}_nearly_full", problem, "make room on it", said=said)
    return ok(name, said)
