"""
A run's authority to overwrite: which keys it has seen, and at which revision.

A revision belongs to a realm, the identity of one keyspace. Authority that was earned in
one bucket is worth nothing in another, nor in a bucket that was made anew under the name
of a deleted one.
"""

from typing import Annotated, Any, Final

import msgspec

from jsmemory.keys import is_legal_key

SNAPSHOT_VERSION: Final = 1
_MAX_TOKEN_LENGTH: Final = 1024
# Longer than any realm or revision: a snapshot is read from where others can write.
_MAX_VERSION: Final = 2**31


class _Snapshot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: Annotated[int, msgspec.Meta(ge=0, le=_MAX_VERSION)]
    realms: dict[str, dict[str, str]]


class Scope:
    """
    What one run has read or written. Never a tenant and never a namespace.

    A scope starts empty. Stores fill it; a host only keeps it, snapshots it when the run is
    suspended, and restores it when the run goes on. Two runs never share one.
    """

    __slots__ = ("_revisions",)

    def __init__(self) -> None:
        self._revisions: dict[str, dict[str, str | None]] = {}
        # None under a key: learnt that there is no authority. It outweighs what a snapshot says.

    def remember(self, realm: str, key: str, revision: str) -> None:
        """Record that the run has seen `revision` of `key`, and may replace it."""
        self._revisions.setdefault(realm, {})[key] = revision

    def forget(self, realm: str, key: str, revision: str | None = None) -> None:
        """
        Drop the authority over `key`.

        Args:
            realm: The keyspace that `key` belongs to.
            key: The key.
            revision: Drop it only if it is still this one, so that a refusal which arrives
                late does not take back what a newer answer has granted.
        """
        known = self._revisions.setdefault(realm, {})
        if revision is None or known.get(key) == revision:
            known[key] = None

    def unlearn(self, key: str) -> None:
        """Drop the authority over `key` in every keyspace: what the run was shown of it was not all that is there."""
        for known in self._revisions.values():
            if key in known:
                known[key] = None

    def revision_of(self, realm: str, key: str) -> str | None:
        """The revision that the run may replace; None where it has no authority."""
        return self._revisions.get(realm, {}).get(key)

    def snapshot(self) -> dict[str, Any]:
        """
        The authority as plain data that JSON carries, for `restore` in another process.

        A snapshot of nothing is a snapshot: it says that the run holds no authority, and
        replaces an older one in a journal.
        """
        held = {
            realm: {key: revision for key, revision in known.items() if revision is not None}
            for realm, known in self._revisions.items()
        }
        return {"version": SNAPSHOT_VERSION, "realms": {realm: known for realm, known in held.items() if known}}

    def restore(self, snapshot: object) -> str | None:
        """
        Merge a snapshot; what this scope has learnt itself, a loss of authority too, wins.

        Fails closed: a snapshot that cannot be read grants nothing at all. It is told, and not
        raised, as the run can go on: its updates are refused until it has read the keys again.

            if reason := scope.restore(snapshot):
                log.warning("%s", reason)

        Args:
            snapshot: What `snapshot` gave, also after a way through JSON.

        Returns:
            None, or the reason why nothing was restored, in words for a log.
        """
        try:
            read = msgspec.convert(snapshot, _Snapshot)
            # What JSON does not carry would fail the next snapshot, far from where it came from.
            msgspec.json.encode(read)
        except (msgspec.ValidationError, UnicodeEncodeError):
            return (
                "The scope snapshot is lost, or not in the form that this version reads; the run must read keys again."
            )
        if read.version != SNAPSHOT_VERSION:
            return f"The scope snapshot has version {read.version}, not {SNAPSHOT_VERSION}; the run must read again."
        for realm, known in read.realms.items():
            legal = all(is_legal_key(key) and 0 < len(revision) <= _MAX_TOKEN_LENGTH for key, revision in known.items())
            if not legal or not 0 < len(realm) <= _MAX_TOKEN_LENGTH:
                return "The scope snapshot holds what no store could have granted; the run must read keys again."
        for realm, known in read.realms.items():
            learnt = self._revisions.setdefault(realm, {})
            for key, revision in known.items():
                learnt.setdefault(key, revision)
        return None

    def __repr__(self) -> str:
        held = sum(revision is not None for known in self._revisions.values() for revision in known.values())
        return f"<Scope of {held} keys>"
