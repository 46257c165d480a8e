"""What begins like the stream of a bucket is none of a journal, whoever asks."""

from typing import Any

import pytest

from jsmemory import InvalidOptionsError, JetStreamJournal, StreamRecipe, WorkerPermissions, examine_journal


async def test_the_stream_of_a_bucket_is_refused_everywhere_in_the_same_words() -> None:
    """Two streams of one name: the second is never made, and whoever records then spoils the notes."""
    name, nobody = "KV_team", Any
    words = "1 to 32 characters out of A-Z a-z 0-9 _ -, and not KV_ first"
    with pytest.raises(ValueError, match=words):
        StreamRecipe(stream=name)
    with pytest.raises(InvalidOptionsError, match=words):
        WorkerPermissions(bucket="team", prefix="alice", journal=name)
    with pytest.raises(InvalidOptionsError, match=words):
        await JetStreamJournal.bind(nobody, name)
    with pytest.raises(InvalidOptionsError, match=words):
        await examine_journal(nobody, name)
    assert StreamRecipe(stream="runs_KV_").stream == "runs_KV_"
