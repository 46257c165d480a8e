"""One writer at a time; a lock never outlives its holder."""

import os
import subprocess
import sys
import threading

import pytest

from jsmemory.backends.file import locking
from jsmemory.backends.file.locking import LOCK, locked
from jsmemory.errors import BackendUnavailableError, IncompleteListingError


@pytest.fixture
def opened(tmp_path):
    directory = os.open(tmp_path, os.O_RDONLY)
    yield directory
    os.close(directory)


def no_hurry():
    """What a caller that never gives up does between two tries."""


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(locking, "PATIENCE", 0.05)


def refuses(directory, *, shared=False):
    try:
        with locked(directory, waiting=no_hurry, shared=shared):
            return False
    except (BackendUnavailableError, IncompleteListingError):
        return True


@pytest.mark.usefixtures("impatient")
def test_a_second_holder_in_the_same_process_waits_and_then_says_so(opened):
    """Two threads that both hold it write over each other, as two processes would."""
    with locked(opened, waiting=no_hurry):
        with pytest.raises(BackendUnavailableError) as refused, locked(opened, waiting=no_hurry):
            pass
        assert refused.value.__context__ is None
        assert "Another writer" in str(refused.value)
    assert not refuses(opened)


@pytest.mark.usefixtures("impatient")
def test_listers_hold_it_together_and_keep_writers_out(opened):
    """Runs that start at once must not wait for each other's listing."""
    with locked(opened, waiting=no_hurry, shared=True):
        assert not refuses(opened, shared=True)
        assert refuses(opened)


@pytest.mark.usefixtures("impatient")
def test_a_lister_that_a_writer_keeps_waiting_says_that_the_list_is_not_complete(opened):
    """A partial list that looks like a whole one makes a model believe that memories are gone."""
    with (
        locked(opened, waiting=no_hurry),
        pytest.raises(IncompleteListingError) as refused,
        locked(opened, waiting=no_hurry, shared=True),
    ):
        pass
    assert refused.value.__context__ is None


def test_threads_come_one_after_the_other(opened):
    """An interleaving of two holders is a lost entry; it must not happen even once."""
    inside = []
    most = []

    def work():
        for _ in range(25):
            with locked(opened, waiting=no_hurry):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert len(most) == 100


def test_a_waiter_can_give_up(opened):
    """A cancelled call that goes on waiting holds its caller, and writes when nobody wants it any more."""

    class GivenUpError(Exception):
        pass

    def give_up():
        raise GivenUpError

    before = len(os.listdir("/dev/fd"))
    with locked(opened, waiting=no_hurry), pytest.raises(GivenUpError), locked(opened, waiting=give_up):
        pass
    assert len(os.listdir("/dev/fd")) == before
    assert not refuses(opened)


def test_a_lock_file_that_was_removed_while_somebody_waited_is_not_held(tmp_path, opened):
    """One holder of the old file and one of the new would both believe to be alone."""
    holder = locked(opened, waiting=no_hurry)
    holder.__enter__()

    def clean_up_by_hand():
        (tmp_path / LOCK).unlink()
        holder.__exit__(None, None, None)

    with locked(opened, waiting=clean_up_by_hand):
        assert os.listdir(tmp_path) == [LOCK]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("kind", ["link", "dangling link", "directory", "pipe"])
def test_a_lock_file_that_is_none_is_never_followed_and_the_remedy_is_told(tmp_path, opened, kind):
    """A planted link would have this process make or open a file of somebody else's choosing."""
    (tmp_path / "elsewhere").mkdir()
    match kind:
        case "link":
            (tmp_path / "elsewhere" / "file").write_bytes(b"")
            (tmp_path / LOCK).symlink_to("elsewhere/file")
        case "dangling link":
            (tmp_path / LOCK).symlink_to("elsewhere/made")
        case "directory":
            (tmp_path / LOCK).mkdir()
        case "pipe":
            os.mkfifo(tmp_path / LOCK)
    with pytest.raises(BackendUnavailableError) as refused, locked(opened, waiting=no_hurry):
        pass
    assert "no regular file" in str(refused.value)
    assert refused.value.__context__ is None
    assert not (tmp_path / "elsewhere" / "made").exists()


DYING = """
import os, sys, time
from jsmemory.backends.file.locking import locked
directory = os.open(sys.argv[1], os.O_RDONLY)
with locked(directory, waiting=lambda: None):
    if sys.argv[2] == "fork" and os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(60)
    os._exit(1)
"""


@pytest.mark.usefixtures("impatient")
def test_the_lock_of_a_dead_process_blocks_nobody(tmp_path, opened):
    """Otherwise one crash makes the memory of a whole team read-only until somebody finds the file."""
    subprocess.run([sys.executable, "-c", DYING, str(tmp_path), "alone"], timeout=60)
    assert (tmp_path / LOCK).exists()
    assert not refuses(opened)


@pytest.mark.usefixtures("impatient")
def test_a_child_that_outlives_a_dead_holder_does_not_keep_its_lock(tmp_path, opened):
    """A host forks a helper in the wrong moment and dies; nobody would connect the helper to the stuck store."""
    process = subprocess.Popen([sys.executable, "-c", DYING, str(tmp_path), "fork"], stdout=subprocess.PIPE, text=True)
    child = int(process.stdout.readline())
    try:
        process.wait(timeout=60)
        assert not refuses(opened)
    finally:
        os.kill(child, 9)
        process.stdout.close()
