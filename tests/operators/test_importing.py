"""What people have becomes entries, with a report; what was made to do harm changes nothing."""

import gzip
import hashlib
import io
import json
import os
import re
import tarfile
import tracemalloc
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from hypothesis import given, settings
from hypothesis import strategies as st
from nats.aio.client import Client

from jsmemory import (
    MAX_CONTENT_BYTES,
    MAX_KEY_LENGTH,
    ArchiveUnfitError,
    EntryNotFoundError,
    FileStore,
    InProcessStore,
    InvalidEntryError,
    InvalidOptionsError,
    JetStreamStore,
    MovingReport,
    Outcome,
    Store,
    copy_entries,
    export_archive,
    import_archive,
    import_folder,
)
from jsmemory.keys import is_legal_key
from jsmemory.moving.archive.unpacking import values, verify
from jsmemory.moving.folder import look_through
from jsmemory.moving.keying import key_for, keys_for
from jsmemory.moving.notes import text_of
from jsmemory.testing import corpora


async def everything_in(store: Store) -> dict[str, tuple[str, str]]:
    return {item.key: tuple(await store.read(item.key, scope=None)) for item in await store.list()}  # type: ignore[misc]


def by_origin(report: MovingReport) -> dict[str, tuple[str, Outcome, str]]:
    return {each.origin: (each.key, each.outcome, each.code) for each in report.moved}


# -- Notes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "description", "content"),
    [
        (b"---\ndescription: ours\n---\n\ntext", "ours", "text"),
        (b'---\ndescription: "quoted: \\u00e9"\n---\n\ntext\n', "quoted: \u00e9", "text\n"),
        (b"---\r\ndescription: windows\r\n---\r\n\r\ntext\r\n", "windows", "text\r\n"),
        (b"---\ndescription: >\n  goes on\n  for long\n---\ntext", "goes on for long", "text"),
        (b"# The title\n\nMore.", "The title", "# The title\n\nMore."),
        (b"\n\n  ## Closed ##  \nMore.", "Closed", "\n\n  ## Closed ##  \nMore."),
        (b"C#\n", "C#", "C#\n"),
        (b"Plain text.", "Plain text.", "Plain text."),
        (b"***\n---\n- [ ] to do", "[ ] to do", "***\n---\n- [ ] to do"),
        (b"\xef\xbb\xbf# With a mark", "With a mark", "# With a mark"),
        (b"", "my note", ""),
        (b"\n \n---\n", "my note", "\n \n---\n"),
        (b"---\ntitle: t\ntags: [a, b]\n---\n# Heading\n", "Heading", "---\ntitle: t\ntags: [a, b]\n---\n# Heading\n"),
        (b"---\ntags: a\ndescription: d\n---\nbody", "d", "---\ntags: a\ndescription: d\n---\nbody"),
        (b"---\ndescription: d\n# a remark\n---\nbody", "d", "---\ndescription: d\n# a remark\n---\nbody"),
        (b"---\ndescription: ''\n---\nbody", "body", "body"),
        (b"---\nnot: [closed\n---\nbody", "not: [closed", "---\nnot: [closed\n---\nbody"),
        (b"---\ndescription: never closed\n", "description: never closed", "---\ndescription: never closed\n"),
        (b"# " + b"long " * 200, ("long " * 100).strip(), "# " + "long " * 200),
    ],
)  # fmt: skip
def test_a_note_says_itself_what_it_is_about(data: bytes, description: str, content: str) -> None:
    """Whoever brings notes along wants to find them in the index, and each word of them in the entry."""
    assert text_of(data, "folder/my note.md") == (description, content)


@pytest.mark.parametrize("data", [b"\xff\xfea\x00", b"caf\xe9", b"\x89PNG\r\n\x1a\n\0\xff", b"\xed\xa0\x80"])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    """A picture that is stored as text is neither."""
    with pytest.raises(InvalidEntryError, match="not UTF-8"):
        text_of(data, "note.md")


# -- Names ----------------------------------------------------------------------------------

PROPERTY = settings(derandomize=True, deadline=None, max_examples=200, database=None)
PARTS = st.text("ab.- =é語\udcff", min_size=1, max_size=4) | st.text(
    st.characters(exclude_characters="/\0"), min_size=1
)
FILES = st.builds(
    lambda parts, suffix: "/".join(parts) + suffix,
    st.lists(PARTS.filter(lambda part: part[0] != "."), min_size=1, max_size=3),
    st.sampled_from([".md", ".md", ".markdown", ".txt", ".MD"]),
)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("build.md", "build"),
        ("a.b-c_d=e.md", "a.b-c_d=e"),
        ("--help.md", "--help"),
        ("note.md.md", "note.md"),
        ("two words.md", "two-words"),
        ("plain.txt", "plain"),
        ("plain.MD", "plain"),
        ("Long.markdown", "Long"),
        ("folder/sub folder/note.md", "folder.sub-folder.note"),
        ("k" * MAX_KEY_LENGTH + ".md", "k" * MAX_KEY_LENGTH),
    ],
)
def test_a_name_becomes_a_key_that_resembles_it(name: str, key: str) -> None:
    """Whoever knows the note by its name has to find it again."""
    assert key_for(name) == key


@pytest.mark.parametrize(
    ("name", "legible"),
    [
        ("two  words.md", "two-words"),
        ("Größe & Übermut.md", "Grosse-Ubermut"),
        ("Ærøskøbing.md", "Aeroskobing"),
        ("ﬁle ①.md", "file-1"),
        ("日本語.md", "note"),
        ("日本語/2024.md", "2024"),
        ("a..b...c.md", "a.b.c"),
        ("trailing .md", "trailing"),
        ("a\\b:c*d>e.md", "a-b-c-d-e"),
        ("line\nbreak\x1b.md", "line-break"),
        ("half \udcff.md", "half"),
        ("k" * 300 + ".md", "k" * (MAX_KEY_LENGTH - 9)),
        ("k" * (MAX_KEY_LENGTH - 10) + ".xyz.md.md" + "y" * 10 + ".md", "k" * (MAX_KEY_LENGTH - 10)),
    ],
)
def test_a_name_that_loses_something_is_marked(name: str, legible: str) -> None:
    """What is left of it may be left of another one too, and would be the key of either."""
    assert re.fullmatch(re.escape(legible) + "-[0-9a-f]{8}", key_for(name))
    assert is_legal_key(key_for(name))


def test_a_mark_is_the_same_in_each_release() -> None:
    """A mark that is made otherwise would store every note of a folder twice."""
    assert key_for("日本.md") == "note-a9748821"
    assert key_for("Über.md") == "Uber-6844b698"


@PROPERTY
@given(st.sets(FILES), st.sets(FILES), st.sets(FILES))
def test_a_file_has_the_same_key_whatever_lies_beside_it(both: set[str], ones: set[str], others: set[str]) -> None:
    """A neighbour that comes or goes would make a file the successor of another note, and replace it."""
    for names in (both | ones, both | others):
        keys = keys_for(names)
        assert len(set(keys.values())) == len(keys)
        assert all(is_legal_key(key) and key == key_for(name) for name, key in keys.items())


@PROPERTY
@given(st.sets(FILES, min_size=2))
def test_only_files_of_the_same_words_have_no_key_of_their_own(names: set[str]) -> None:
    """A name that many have in common, as a word in another script, must not keep all of them out."""
    lone = keys_for(names)

    def words(name: str) -> str:
        return name.rpartition(".")[0].replace(" ", "-").replace("/", ".")

    plain = Counter(map(words, names))
    assert all(plain[words(name)] > 1 for name in names - lone.keys())


def test_no_two_names_get_one_key() -> None:
    """Of two notes under one key one would be lost, or look like a conflict with itself."""
    twins = ["to-do/a b.md", "to do/a-b.md", "to-do.a b.md", "note-a9748821.md", "日本.md", "a_b.txt", "a_b.md"]
    names = [
        "a-b.md",
        "a  b.md",
        "a.b.md",
        "a-b-2.md",
        *(f"{n * '語'}.md" for n in range(1, 40)),
    ]
    names += [f"{'k' * 250}{number}.md" for number in range(12)]
    keys = keys_for([*names, *twins])
    assert len(set(keys.values())) == len(keys)
    assert keys.keys() == set(names)
    assert all(is_legal_key(key) for key in keys.values())
    assert {name: key for name, key in keys.items() if name in ("a-b.md", "a.b.md", "a-b-2.md")} == {
        "a-b.md": "a-b", "a.b.md": "a.b", "a-b-2.md": "a-b-2"
    }  # fmt: skip


# -- Folders --------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["file", "jetstream"])
async def test_a_folder_of_notes_is_taken_with_a_report(tmp_path: Path, nc: Client, bucket: str, backend: str) -> None:
    """What people have is no store: whatever is not taken as it was, or not at all, has to be told."""
    notes = tmp_path / "notes"
    (notes / "Sub Folder").mkdir(parents=True)
    (notes / ".obsidian").mkdir()
    (notes / ".obsidian" / "hidden.md").write_text("settings")
    (notes / ".hidden.md").write_text("x")
    (notes / "build.md").write_text("---\ndescription: How to build\n---\n\nmake")
    (notes / "Sub Folder" / "Über alles.md").write_text("# About\n\nText.")
    (notes / "Sub Folder" / "Uber alles.md").write_text("# About too\n")
    (notes / "Sub Folder" / "twin-of.it.md").write_text("one")
    (notes / "Sub-Folder").mkdir()
    (notes / "Sub-Folder" / "twin of.it.md").write_text("two")
    (notes / "picture.png").write_bytes(b"\x89PNG\xff")
    (notes / "latin.md").write_bytes(b"caf\xe9")
    (notes / "long.md").write_text("x" * (MAX_CONTENT_BYTES + 1))
    (notes / "huge.md").write_bytes(b"x" * 10_000_000)
    (notes / "link.md").symlink_to("/etc/passwd")
    (notes / "loop").symlink_to(notes)
    os.mkfifo(notes / "pipe.md")
    (notes / os.fsdecode(b"odd\xff.md")).write_text("odd")

    store: Store = (
        await FileStore.open(tmp_path / "store")
        if backend == "file"
        else await JetStreamStore.bind(nc, bucket, "alice")
    )
    report = await import_folder(notes, store)
    assert by_origin(report) == {
        "build.md": ("build", Outcome.CREATED, ""),
        "Sub Folder/Uber alles.md": ("Sub-Folder.Uber-alles", Outcome.CREATED, ""),
        "Sub Folder/Über alles.md": (uber := key_for("Sub Folder/Über alles.md"), Outcome.CREATED, ""),
        "odd\udcff.md": (odd := key_for("odd\udcff.md"), Outcome.CREATED, ""),
        "Sub Folder/twin-of.it.md": ("Sub-Folder.twin-of.it", Outcome.REFUSED, "same_key"),
        "Sub-Folder/twin of.it.md": ("Sub-Folder.twin-of.it", Outcome.REFUSED, "same_key"),
        "latin.md": ("latin", Outcome.REFUSED, "invalid_entry"),
        "long.md": ("long", Outcome.REFUSED, "entry_too_large"),
        "huge.md": ("huge", Outcome.REFUSED, "entry_too_large"),
        "picture.png": ("", Outcome.SKIPPED, "no_note"),
        "link.md": ("", Outcome.SKIPPED, "link"),
        "loop": ("", Outcome.SKIPPED, "link"),
        "pipe.md": ("", Outcome.SKIPPED, "special"),
    }
    assert {each.origin for each in report.renamed} >= {"Sub Folder/Über alles.md", "odd\udcff.md"}
    assert await everything_in(store) == {
        "build": ("How to build", "make"),
        "Sub-Folder.Uber-alles": ("About too", "# About too\n"),
        uber: ("About", "# About\n\nText."),
        odd: ("odd", "odd"),
    }
    again = await import_folder(notes, store)
    assert again.counts[Outcome.EQUAL] == 4
    assert Outcome.CREATED not in again.counts


async def test_a_note_that_was_edited_is_a_conflict_until_it_may_replace(tmp_path: Path) -> None:
    """The note in the store may have been edited too, by an agent."""
    store = InProcessStore()
    (tmp_path / "a.md").write_text("one")
    await import_folder(tmp_path, store)
    (tmp_path / "a.md").write_text("two")
    refused = await import_folder(tmp_path, store)
    assert by_origin(refused) == {"a.md": ("a", Outcome.REFUSED, "differs")}
    foreseen = await import_folder(tmp_path, store, overwrite=True, dry_run=True)
    assert (await store.read("a", scope=None)).content == "one"
    assert (await import_folder(tmp_path, store, overwrite=True)).counts == foreseen.counts == {Outcome.REPLACED: 1}
    assert await everything_in(store) == {"a": ("two", "two")}


async def test_a_note_takes_the_place_of_no_other_one(tmp_path: Path) -> None:
    """Задачи was deleted here and is kept there: Идеи must not replace it, and no newcomer take its key."""
    store = InProcessStore()
    for name in ("Задачи.md", "Идеи.md", "日本.md", "Úber.md", "Über.md"):
        (tmp_path / name).write_text(name)
    await import_folder(tmp_path, store)
    stored = await everything_in(store)
    (tmp_path / "Задачи.md").unlink()
    (tmp_path / "Úber.md").unlink()
    for name in ("中国.md", "Uber.md"):
        (tmp_path / name).write_text(name)
    again = await import_folder(tmp_path, store, overwrite=True)
    assert again.counts == {Outcome.EQUAL: 3, Outcome.CREATED: 2}
    assert (await everything_in(store)).items() >= stored.items()


async def test_the_directory_of_a_store_comes_back_as_it_was(tmp_path: Path) -> None:
    """What was exported to a directory, and what a file store holds, is imported without a change."""
    source = await FileStore.open(tmp_path / "files")
    for number, content in enumerate(corpora.CONTENTS):
        await source.create(f"content-{number}", "what is in it", content, scope=None)
    for number, (_, line) in enumerate(corpora.DESCRIPTIONS):
        await source.create(f"line-{number}", line, "", scope=None)
    for key in corpora.LEGAL_KEYS:
        await source.create(key, "a key", key, scope=None)
    store = InProcessStore()
    report = await import_folder(tmp_path / "files", store)
    assert report.renamed == report.uncarried == ()
    assert (await copy_entries(source, store)).counts == {Outcome.EQUAL: len(report.moved)}


async def test_what_is_no_folder_is_told(tmp_path: Path) -> None:
    """A folder with everything in it was not meant, and one that is not there was mistyped."""
    (tmp_path / "file").touch()
    for place in (tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(InvalidOptionsError, match="no folder"):
            await import_folder(place, InProcessStore())
    (tmp_path / "all").mkdir()
    for number in range(10_001):
        os.close(os.open(tmp_path / "all" / str(number), os.O_CREAT | os.O_WRONLY))
    with pytest.raises(InvalidOptionsError, match="more than 10000 files"):
        await import_folder(tmp_path / "all", InProcessStore())


@pytest.mark.parametrize("what", ["pipe", "link", "folder", "nothing"])
async def test_what_takes_the_place_of_a_note_is_neither_waited_for_nor_followed(tmp_path: Path, what: str) -> None:
    """A folder that others write to can change between the look and the read."""
    place = tmp_path / "a.md"
    place.write_text("text")
    (note,) = look_through(tmp_path).notes
    place.unlink()
    match what:
        case "pipe":
            os.mkfifo(place)
        case "link":
            place.symlink_to("/etc/passwd")
        case "folder":
            place.mkdir()
    try:
        with anyio.fail_after(5), pytest.raises(EntryNotFoundError):
            await to_thread.run_sync(note.read, abandon_on_cancel=True)
    finally:
        if what == "pipe":
            with suppress(OSError):  # lets a reader go that waits after all
                os.close(os.open(place, os.O_WRONLY | os.O_NONBLOCK))


# -- Hostile archives -----------------------------------------------------------------------

GOOD = {"a.md": b'---\ndescription: "a"\n---\n\nalpha', "b.md": b'---\ndescription: "b"\n---\n\nbeta'}


def manifest_of(files: dict[str, bytes], **changes: object) -> bytes:
    listed = {name: {"sha256": hashlib.sha256(value).hexdigest(), "size": len(value)} for name, value in files.items()}
    return json.dumps({"format": "jsmemory-export", "version": 1, "files": listed} | changes).encode()


def member(name: str, value: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(value)
    for field, wanted in fields.items():
        setattr(info, field, wanted)
    return info, value


def packed(members: Iterable[tuple[tarfile.TarInfo, bytes]], kind: int = tarfile.PAX_FORMAT) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=kind) as archive:
        for info, value in members:
            archive.addfile(info, io.BytesIO(value))
    return gzip.compress(plain.getvalue())


def with_one_more(info: tarfile.TarInfo, value: bytes, *, listed: bool = True) -> bytes:
    """An archive that is good but for one file, which its manifest has too."""
    files = GOOD | {info.name: value} if listed else GOOD
    return packed(
        [*(member(*each) for each in GOOD.items()), (info, value), member("manifest.json", manifest_of(files))]
    )


def lying(name: str, size: int) -> bytes:
    """A file that promises more than there is."""
    info = tarfile.TarInfo(name)
    info.size = size
    return gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + b"x" * 1024)


def good() -> bytes:
    return packed([*(member(*each) for each in GOOD.items()), member("manifest.json", manifest_of(GOOD))])


X = b'---\ndescription: "x"\n---\n\nx'
HOSTILE = {
    "traversal": (with_one_more(*member("../evil.md", X)), "archive_path"),
    "deep traversal": (with_one_more(*member("a/../../../evil.md", X)), "archive_path"),
    "absolute": (with_one_more(*member("/tmp/evil.md", X)), "archive_path"),
    "backslash": (with_one_more(*member("..\\evil.md", X)), "archive_path"),
    "dots": (with_one_more(*member("..", X)), "archive_path"),
    "hidden": (with_one_more(*member(".realm", X)), "archive_name"),
    "staged": (with_one_more(*member(".tmp-0.md", X)), "archive_name"),
    "no key": (with_one_more(*member("a b.md", X)), "archive_name"),
    "newline": (with_one_more(*member("a\n.md", X)), "archive_name"),
    "too long a key": (with_one_more(*member("k" * 201 + ".md", X)), "archive_name"),
    "program": (with_one_more(*member("run.sh", X)), "archive_name"),
    "link": (with_one_more(*member("x.md", type=tarfile.SYMTYPE, linkname="/etc/passwd")), "archive_link"),
    "hard link": (with_one_more(*member("x.md", type=tarfile.LNKTYPE, linkname="a.md")), "archive_link"),
    "device": (with_one_more(*member("x.md", type=tarfile.CHRTYPE, devmajor=1, devminor=5)), "archive_special"),
    "block device": (with_one_more(*member("x.md", type=tarfile.BLKTYPE, devmajor=8)), "archive_special"),
    "pipe": (with_one_more(*member("x.md", type=tarfile.FIFOTYPE)), "archive_special"),
    "folder": (with_one_more(*member("x.md", type=tarfile.DIRTYPE)), "archive_special"),
    "unknown kind": (with_one_more(*member("x.md", X, type=b"Z")), "archive_special"),
    "sparse": (
        with_one_more(*member("x.md", X, pax_headers={"GNU.sparse.map": "0,1", "GNU.sparse.size": "99999999999"})),
        "archive_special",
    ),
    "name in a header": (with_one_more(*member("x.md", X, pax_headers={"path": "../../evil.md"})), "archive_path"),
    "duplicate": (with_one_more(*member("a.md", X)), "archive_duplicate"),
    "two manifests": (with_one_more(*member("manifest.json", manifest_of(GOOD))), "archive_duplicate"),
    "unlisted": (with_one_more(*member("x.md", X), listed=False), "archive_unlisted"),
    "missing": (packed([member("manifest.json", manifest_of(GOOD))]), "archive_missing"),
    "no manifest": (packed([member(*each) for each in GOOD.items()]), "archive_no_manifest"),
    "nothing": (packed([]), "archive_no_manifest"),
    "changed": (
        packed([member("a.md", X), member("b.md", GOOD["b.md"]), member("manifest.json", manifest_of(GOOD))]),
        "archive_checksum",
    ),
    "too long a file": (with_one_more(*member("x.md", b"x" * 69_601)), "archive_too_large"),
    "too long a manifest": (packed([member("manifest.json", b" " * 1_048_577)]), "archive_too_large"),
    "too many": (packed([member(f"k{number}.md", X) for number in range(1025)]), "archive_too_many"),
    "a promise of a terabyte": (lying("x.md", 2**40), "archive_too_large"),
    "less than was promised": (lying("x.md", 60_000), "archive_damaged"),
    "other version": (packed([member("manifest.json", manifest_of({}, version=2))]), "archive_version"),
    "other format": (packed([member("manifest.json", manifest_of({}, format="notes"))]), "archive_manifest"),
    "a manifest of more": (packed([member("manifest.json", manifest_of({}, more=1))]), "archive_manifest"),
    "a manifest of lists": (packed([member("manifest.json", b"[" * 100_000)]), "archive_manifest"),
    "a manifest of bytes": (packed([member("manifest.json", b"\xff\xfe")]), "archive_manifest"),
    "text": (b"# just a note\n", "archive_damaged"),
    "empty": (b"", "archive_damaged"),
    "a zip": (b"PK\x03\x04" + bytes(100), "archive_damaged"),
    "a second member": (good() + gzip.compress(b"x" * 5000), "archive_trailing"),
    "an empty second member": (good() + gzip.compress(b""), "archive_trailing"),
    "the same once more": (good() + good(), "archive_trailing"),
    "words behind the end": (good() + b"more", "archive_trailing"),
    "zeros behind the end": (good() + bytes(100_000), "archive_trailing"),
    "words behind the last file": (gzip.compress(gzip.decompress(good())[:-1] + b"x"), "archive_trailing"),
    "an archive behind the last file": (gzip.compress(gzip.decompress(good()) * 2), "archive_trailing"),
    "no header behind the last file": (
        gzip.compress(gzip.decompress(good()).rstrip(b"\0").ljust(4608, b"\0") + b"x" * 512),
        "archive_trailing",
    ),
    "no gzip": (gzip.decompress(good()), "archive_damaged"),
    "no tar": (gzip.compress(b"x" * 5000), "archive_damaged"),
    "headers without an end": (
        gzip.compress(member("x.md", pax_headers={"comment": "x"})[0].tobuf(tarfile.PAX_FORMAT)[:1024] * 5000),
        "archive_damaged",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
async def test_a_hostile_archive_changes_nothing(tmp_path: Path, case: str) -> None:
    """Whoever imports an archive of a stranger must not pay for it: not one entry, not one file elsewhere."""
    data, code = HOSTILE[case]
    archive = tmp_path / "hostile.tar.gz"
    archive.write_bytes(data)
    store = await FileStore.open(tmp_path / "store")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    with pytest.raises(ArchiveUnfitError) as refused:
        await import_archive(archive, store, overwrite=True)
    (finding,) = refused.value.findings
    assert finding.code == code
    assert finding.cure.endswith(".")
    assert refused.value.__cause__ is None
    assert "evil" not in str(refused.value)
    assert await store.list() == ()
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("kind", ["zeros behind the end", "one header", "many headers", "many files"])
async def test_a_bomb_takes_neither_memory_nor_disk(tmp_path: Path, kind: str) -> None:
    """Two hundred kilobytes that unpack to hundreds of megabytes must not bring a worker host down."""
    archive = tmp_path / "bomb.tar.gz"
    block = bytes(1024 * 1024)
    with gzip.open(archive, "wb", compresslevel=1) as bomb:
        if kind == "zeros behind the end":
            bomb.write(gzip.decompress(good()))
        elif kind == "one header":
            header = tarfile.TarInfo("x")
            header.type, header.size = tarfile.XHDTYPE, 2**33
            bomb.write(header.tobuf(tarfile.GNU_FORMAT))
        elif kind == "many files":
            for number in range(300):
                info = tarfile.TarInfo(f"k{number}.md")
                info.pax_headers = {"comment": "x" * 300_000}
                bomb.write(info.tobuf(tarfile.PAX_FORMAT))
        else:
            info = tarfile.TarInfo("manifest.json")
            info.type, info.size = tarfile.XGLTYPE, len(block)
            for _ in range(100):
                bomb.write(info.tobuf(tarfile.GNU_FORMAT) + block)
        for _ in range(100):
            bomb.write(block)
    tracemalloc.start()
    try:
        with pytest.raises(ArchiveUnfitError) as refused:
            await import_archive(archive, InProcessStore())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refused.value.findings[0].code in ("archive_bomb", "archive_damaged")
    assert most < 8 * 1024 * 1024
    assert archive.stat().st_size < 2_000_000


async def test_no_damage_to_an_archive_passes_for_a_note(tmp_path: Path) -> None:
    """A bit that flipped on the way, or an end that is missing, is told, or else it changed nothing that counts."""
    source = InProcessStore()
    for number in range(5):
        await source.create(f"k{number}", f"about {number}", os.urandom(300).hex(), scope=None)
    await export_archive(source, tmp_path / "good.tar.gz")
    whole = (tmp_path / "good.tar.gz").read_bytes()
    expected = await everything_in(source)
    archive = tmp_path / "damaged.tar.gz"
    refused = 0
    damaged = [whole[:cut] for cut in range(0, len(whole), 23)]
    damaged += [whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :] for at in range(0, len(whole), 11)]
    plain = gzip.decompress(whole)
    damaged += [gzip.compress(plain[:cut]) for cut in range(0, len(plain), 512)]
    damaged += [gzip.compress(plain[:at] + b"~" + plain[at + 1 :]) for at in range(0, len(plain), 97)]
    for data in damaged:
        archive.write_bytes(data)
        store = InProcessStore()
        try:
            await import_archive(archive, store)
        except ArchiveUnfitError:
            refused += 1
            assert await store.list() == ()
        else:
            assert await everything_in(store) == expected
    assert refused > len(damaged) * 0.6


async def test_an_archive_that_changes_after_it_was_checked_is_noticed() -> None:
    """Whoever can write to it could give one archive to be checked, and another to be stored."""
    file = io.BytesIO(good())
    digests = {name: listed.sha256 for name, listed in verify(file).files.items()}
    assert dict(values(file, digests)) == GOOD
    for files in ({"a.md": GOOD["a.md"], "b.md": X}, {"a.md": GOOD["a.md"], "c.md": X}):
        other = packed([*(member(*each) for each in files.items()), member("manifest.json", manifest_of(files))])
        read = values(io.BytesIO(other), digests)
        assert next(read) == ("a.md", GOOD["a.md"])
        with pytest.raises(ArchiveUnfitError, match="changed while"):
            next(read)


async def test_a_good_archive_is_taken(tmp_path: Path) -> None:
    """The archive that all hostile ones are made from is no hostile one."""
    (tmp_path / "a.tar.gz").write_bytes(good())
    store = InProcessStore()
    report = await import_archive(tmp_path / "a.tar.gz", store)
    assert report.counts == {Outcome.CREATED: 2}
    assert await everything_in(store) == {"a": ("a", "alpha"), "b": ("b", "beta")}
    with pytest.raises(InvalidOptionsError, match="no file"):
        await import_archive(tmp_path, store)
