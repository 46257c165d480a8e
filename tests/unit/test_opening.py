"""From a configuration and a name to a store: what opens, and in which words the rest is refused."""

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jsmemory.opening.reading
from jsmemory.backends.file import FileStore
from jsmemory.backends.in_process import InProcessStore
from jsmemory.errors import (
    InvalidKeyError,
    InvalidOptionsError,
    ReadOnlyStoreError,
    StaleEntryError,
    UnknownBackendError,
)
from jsmemory.layers.read_only import ReadOnlyStore
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.opening import Configuration, open_store
from jsmemory.opening.decoding import decode
from jsmemory.opening.reading import MAX_CONFIGURATION_LENGTH, read_yaml
from jsmemory.opening.registry import find_backend, known_backends
from jsmemory.scope import Scope
from jsmemory.store import Info

fuzz = settings(derandomize=True, deadline=None, max_examples=200, database=None)

Distribute = Callable[..., None]


@pytest.fixture
def distribute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Distribute:
    """Installs a distribution with backends, as a package manager leaves one behind."""

    def install(distribution: str, *, entry_points: dict[str, str], **modules: str) -> None:
        site = tmp_path / distribution
        info = site / f"{distribution}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in entry_points.items()]
        (info / "entry_points.txt").write_text("\n".join(["[jsmemory.backends]", *lines, ""]))
        for name, source in modules.items():
            (site / f"{name}.py").write_text(textwrap.dedent(source))
            monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.syspath_prepend(str(site))

    return install


ACME = """
    import msgspec
    from jsmemory.backends.in_process import InProcessStore
    from jsmemory.registration import Registration

    class Options(msgspec.Struct, frozen=True, kw_only=True):
        shelf: str

    seen = []

    async def open_it(options, surroundings):
        seen.append((options, surroundings))
        return InProcessStore()

    registration = Registration(name="{name}", options=Options, open=open_it, needs_nats={needs_nats})
"""


async def refused(config: Any, **arguments: Any) -> InvalidOptionsError:
    with pytest.raises(InvalidOptionsError) as raised:
        await open_store(config, **{"identity": "alice", **arguments})
    return raised.value


def refusal_of(config: Any) -> InvalidOptionsError | None:
    try:
        Configuration.of(config)
    except InvalidOptionsError as error:
        return error
    return None


# -- What opens -----------------------------------------------------------------------------


async def test_without_a_word_the_store_is_a_file_store_in_the_sub_directory_of_the_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who tries it out would otherwise have to read about backends first."""
    monkeypatch.chdir(tmp_path)
    store = await open_store({}, identity="alice")
    assert isinstance(store, FileStore)
    await store.create("note", "a line", "text", scope=None)
    assert (tmp_path / "memory" / "alice" / "note.md").is_file()


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({}, "memory/alice"),
        ({"directory": "notes"}, "notes/alice"),
        ({"directory": "a/../notes", "prefix": "team"}, "notes/team"),
        ({"prefix": ""}, "memory"),
        ({"prefix": None}, "memory/alice"),
    ],
)
async def test_a_directory_counts_from_base_dir_and_a_prefix_is_a_sub_directory(
    tmp_path: Path, options: dict[str, Any], place: str
) -> None:
    """Two agents that find each other's notes by accident act on what was not meant for them."""
    (tmp_path / "a").mkdir()
    store = await open_store({"backend": "file", "options": options}, identity="alice", base_dir=tmp_path)
    await store.create("note", "a line", "text", scope=None)
    assert [str(found.parent.relative_to(tmp_path)) for found in tmp_path.rglob("note.md")] == [place]


async def test_an_absolute_directory_is_taken_as_it_is(tmp_path: Path) -> None:
    """An operator who names a volume gets that volume, wherever the host was started."""
    directory = tmp_path / "volume"
    await open_store({"options": {"directory": str(directory)}}, identity="alice", base_dir=str(tmp_path / "other"))
    assert (directory / "alice").is_dir()
    assert not (tmp_path / "other").exists()


async def test_a_tilde_is_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that is really called ~ is removed one day by somebody who does not quote it."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    await open_store({"options": {"directory": "~/notes"}}, identity="alice", base_dir=tmp_path)
    assert (tmp_path / "home" / "notes" / "alice").is_dir()
    error = await refused({"options": {"directory": "~nobody-of-that-name/notes"}}, base_dir=tmp_path)
    assert error.option == "options.directory"


async def test_yaml_says_the_same_as_a_mapping(tmp_path: Path) -> None:
    """An operator writes YAML, a test writes a mapping, and both must mean one thing."""
    text = """
        # memory of the team
        backend: file
        read_only: false
        options:
          directory: notes
          require_read_before_update: false
    """
    mapping = {
        "backend": "file",
        "read_only": False,
        "options": {"directory": "notes", "require_read_before_update": False},
    }
    assert Configuration.of(text) == Configuration.of(mapping)
    store = await open_store(text, identity="alice", base_dir=tmp_path)
    await store.update("note", "a line", "unguarded", scope=None)


@pytest.mark.parametrize("backend", ["file", "in_process"])
async def test_the_guard_is_on_until_an_operator_turns_it_off(tmp_path: Path, backend: str) -> None:
    """A guard that is off by default lets the last writer win over what nobody has read."""
    config = {"backend": backend, "options": {}}
    store = await open_store(config, identity="alice", base_dir=tmp_path)
    with pytest.raises(StaleEntryError):
        await store.update("note", "a line", "text", scope=None)
    config = {"backend": backend, "options": {"require_read_before_update": False}}
    store = await open_store(config, identity="alice", base_dir=tmp_path)
    await store.update("note", "a line", "text", scope=None)


async def test_read_only_reads_what_is_there_and_refuses_to_write(tmp_path: Path) -> None:
    """An endpoint that takes prompts from strangers would store what they want later runs to believe."""
    writable = await open_store({}, identity="alice", base_dir=tmp_path)
    await writable.create("note", "a line", "text", scope=None)
    store = await open_store("read_only: true", identity="alice", base_dir=tmp_path)
    assert tuple(await store.read("note", scope=None)) == ("a line", "text")
    assert store.info() == writable.info()
    with pytest.raises(ReadOnlyStoreError):
        await store.delete("note", scope=None)


def test_what_is_left_out_has_its_default_and_no_index_is_kept_for_the_host() -> None:
    """A default that moves changes every deployment that relied on it."""
    configuration = Configuration.of({})
    assert configuration == Configuration(enabled=True, backend=None, read_only=False, no_index=False, options={})
    assert Configuration.of("no_index: true").no_index is True
    assert Configuration.of(configuration) is configuration


async def test_a_disabled_memory_is_no_store_and_a_host_can_ask_first() -> None:
    """A host that got something to call would tell its model that it has a memory."""
    configuration = Configuration.of("enabled: false\nbackend: jetstream\n")
    assert configuration.enabled is False
    assert (await refused(configuration)).option == "enabled"


# -- A store that the caller has opened -----------------------------------------------------


async def test_a_passed_store_of_the_named_backend_is_taken() -> None:
    """A host that shares one store among its runs passes it, under the operator's configuration."""
    store = InProcessStore()
    assert await open_store({"backend": "in_process"}, identity="alice", store=store) is store


async def test_a_configuration_that_names_no_backend_leaves_the_choice_to_the_caller(tmp_path: Path) -> None:
    """The default is for those who choose nothing; a caller who passes a store has chosen."""
    store = InProcessStore()
    assert await open_store({}, identity="alice", store=store, base_dir=tmp_path) is store
    assert list(tmp_path.iterdir()) == []


async def test_a_passed_store_of_another_backend_is_refused_naming_both() -> None:
    """An operator who named a bucket would believe that notes survive, while they die with the process."""
    error = await refused({"backend": "jetstream", "options": {"bucket": "team"}}, store=InProcessStore())
    assert error.option == "backend"
    assert "'jetstream'" in str(error)
    assert "'in_process'" in str(error)


async def test_a_passed_store_of_a_backend_that_nobody_registered_may_be_named() -> None:
    """A host with a store of its own has no need to publish a distribution for it."""

    class Own(WrappingStore):
        def info(self) -> Info:
            return Info("own", "")

    store = Own(InProcessStore())
    assert await open_store({"backend": "own"}, identity="alice", store=store) is store


async def test_read_only_holds_for_a_passed_store_too() -> None:
    """The operator's word against writing would be worth nothing."""
    store = await open_store({"read_only": True}, identity="alice", store=InProcessStore())
    assert isinstance(store, ReadOnlyStore)


# -- Identity and prefix --------------------------------------------------------------------


@pytest.mark.parametrize("identity", ["", ".", "a.b", "a/b", "../x", "a\n", "ä", "x" * 201, None, 7])
async def test_an_identity_that_is_no_prefix_is_refused(tmp_path: Path, identity: Any) -> None:
    """An identity of nothing would open what belongs to all; one with a path in it, somebody else's."""
    error = await refused({}, identity=identity, base_dir=tmp_path)
    assert error.option == "identity"
    assert "prefix" in error.remedy
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("prefix", [".", "a.b", "a/b", "../x", "a\n", "x" * 201])
@pytest.mark.parametrize("backend", ["file", "in_process"])
async def test_a_prefix_that_is_no_token_is_refused(tmp_path: Path, backend: str, prefix: str) -> None:
    """A prefix with a dot would contain another one, and list its notes."""
    error = await refused({"backend": backend, "options": {"prefix": prefix}}, base_dir=tmp_path)
    assert error.option == "options.prefix"
    assert list(tmp_path.iterdir()) == []


async def test_an_identity_need_not_be_a_prefix_where_the_operator_wrote_one(tmp_path: Path) -> None:
    """A host whose identities are addresses can still open the memory of a team."""
    await open_store({"options": {"prefix": "team"}}, identity="alice@example.org", base_dir=tmp_path)
    assert (tmp_path / "memory" / "team").is_dir()


# -- Strict options -------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["file", "in_process", "jetstream"])
async def test_an_unknown_option_is_refused_in_the_same_words_by_every_backend(backend: str) -> None:
    """A misspelt option that is let pass is a setting that silently does not hold."""
    error = await refused({"backend": backend, "options": {"prefixx": "a", "bucket_ttl": 1}})
    assert error.option == "options.prefixx"
    assert error.problem == "is not known"
    assert error.remedy.startswith("Did you mean 'prefix'? Use one of: ")
    assert "require_read_before_update" in error.remedy


async def test_an_unknown_key_of_the_configuration_is_refused_in_the_same_words() -> None:
    """With readonly: true a fleet would write, and believe that it does not."""
    error = await refused("readonly: true")
    assert error.option == "readonly"
    assert error.problem == "is not known"
    assert error.remedy == "Did you mean 'read_only'? Use one of: enabled, backend, read_only, no_index, options."


@pytest.mark.parametrize(
    ("config", "option", "remedy"),
    [
        ({"enabled": "yes"}, "enabled", "Give true or false."),
        ({"enabled": 1}, "enabled", "Give true or false."),
        ({"read_only": None}, "read_only", "Give true or false."),
        ({"backend": 7}, "backend", "Give text."),
        ({"options": ["a"]}, "options", "Give names with their values."),
        ({"options": None}, "options", "Give names with their values."),
        ({"options": {"prefix": 1}}, "options.prefix", "Give text."),
        ({"options": {"directory": ""}}, "options.directory", "Give text of 1 characters or more."),
        (
            {"options": {"require_read_before_update": "no"}},
            "options.require_read_before_update",
            "Give true or false.",
        ),
        (
            {"backend": "jetstream"},
            "options.bucket",
            "Give text of 1 to 200 characters out of A-Z a-z 0-9 _ -.",
        ),
        (
            {"backend": "jetstream", "options": {"bucket": "b", "write_budget": 0}},
            "options.write_budget",
            "Give a number from 0.1 to 300.",
        ),
        (
            {"backend": "jetstream", "options": {"bucket": "b", "write_budget": float("nan")}},
            "options.write_budget",
            "Give a number from 0.1 to 300.",
        ),
        (
            {"backend": "jetstream", "options": {"bucket": "b", "bind_timeout": True}},
            "options.bind_timeout",
            "Give a number from 0.1 to 300.",
        ),
    ],
)
async def test_a_value_of_the_wrong_kind_is_refused_with_what_it_may_be(
    config: dict[str, Any], option: str, remedy: str
) -> None:
    """An operator who is told "invalid" has to guess."""
    error = await refused(config)
    assert (error.option, error.remedy) == (option, remedy)


class Inner(msgspec.Struct, frozen=True, kw_only=True):
    depth: Annotated[int, msgspec.Meta(gt=0)] = 1


class Outer(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    inner_part: Inner = Inner()
    names: tuple[str, ...] = ()
    last: int = 9

    def __post_init__(self) -> None:
        if self.inner_part.depth > self.last:
            raise ValueError("/secret/place")


def test_a_struct_in_a_struct_is_decoded_as_strictly_and_named_with_dots() -> None:
    """Another distribution's options would be lenient one level down."""
    assert decode({"inner-part": {"depth": 2}, "names": ["a"]}, Outer, at="options") == Outer(
        inner_part=Inner(depth=2), names=("a",)
    )
    for given_, option in [
        ({"inner-part": {"dept": 2}}, "options.inner-part.dept"),
        ({"inner-part": {"depth": 0}}, "options.inner-part.depth"),
        ({"inner-part": 3}, "options.inner-part"),
        ({"inner_part": {}}, "options.inner_part"),
        ({"names": "a"}, "options.names"),
        ({"inner-part": {"depth": 10}}, "options"),
    ]:
        with pytest.raises(InvalidOptionsError) as raised:
            decode(given_, Outer, at="options")
        assert raised.value.option == option
        assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "key", ["nats://user:secret@host:4222", "/home/secret", "secret word", 7, True, None, "x" * 99]
)
@pytest.mark.parametrize("nested", [False, True])
async def test_a_key_that_looks_like_a_value_is_not_repeated(key: Any, nested: bool) -> None:
    """A URL with a password that slipped one line up would end in a log."""
    error = await refused({"options": {key: 1}} if nested else {key: 1})
    assert str(key) not in str(error)
    assert error.option == ("options" if nested else "configuration")


SECRETS = st.recursive(
    st.just("/home/secret") | st.just(b"secret") | st.just(object()) | st.floats() | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["directory", "bucket"]), inner),
)


@fuzz
@given(st.dictionaries(st.sampled_from(["enabled", "backend", "read_only", "no_index", "options", "x"]), SECRETS))
def test_whatever_is_wrong_with_a_configuration_no_value_is_repeated(config: dict[str, Any]) -> None:
    """What an operator wrote in the wrong place may be a path or a password."""
    assert "secret" not in str(refusal_of(config))


# -- Which backends there are ---------------------------------------------------------------


async def test_a_backend_that_nobody_registered_is_refused_with_the_known_ones() -> None:
    """An operator who mistypes a name should not have to look for the right one."""
    with pytest.raises(UnknownBackendError) as raised:
        await open_store({"backend": "jetsream"}, identity="alice")
    assert raised.value.known == known_backends()
    assert {"file", "in_process", "jetstream"} <= set(raised.value.known)
    with pytest.raises(UnknownBackendError) as raised:
        await open_store({"backend": "nats://user:secret@host"}, identity="alice")
    assert "secret" not in str(raised.value)


async def test_a_backend_that_needs_nats_is_refused_without_a_connection() -> None:
    """A host that forgot the connection would see an AttributeError of None at the first write."""
    error = await refused({"backend": "jetstream", "options": {"bucket": "team"}})
    assert error.option == "nats"
    assert "jsmemory.connect" in error.remedy


async def test_another_distribution_adds_a_backend(distribute: Distribute) -> None:
    """A team with its own database would have to fork this package."""
    distribute(
        "acme_one",
        entry_points={"acme": "acme_one_memory:registration"},
        acme_one_memory=ACME.format(name="acme", needs_nats=False),
    )
    assert "acme" in known_backends()
    store = await open_store({"backend": "acme", "options": {"shelf": "upper"}}, identity="alice", base_dir="somewhere")
    assert isinstance(store, InProcessStore)
    ((options, surroundings),) = sys.modules["acme_one_memory"].seen
    assert options.shelf == "upper"
    assert (surroundings.prefix, surroundings.base_dir, surroundings.nats) == ("alice", Path("somewhere"), None)
    error = await refused({"backend": "acme", "options": {"shelv": "upper"}})
    assert error.option == "options.shelv"
    assert error.problem == "is not known"


async def test_another_distributions_backend_says_itself_that_it_needs_nats(distribute: Distribute) -> None:
    """It would be opened with nothing, and fail in its own way."""
    distribute(
        "acme_two",
        entry_points={"acme2": "acme_two_memory:registration"},
        acme_two_memory=ACME.format(name="acme2", needs_nats=True),
    )
    error = await refused({"backend": "acme2", "options": {"shelf": "upper"}})
    assert error.option == "nats"
    assert "'acme2'" in str(error)


async def test_a_distribution_that_cannot_be_imported_breaks_nobody_else(distribute: Distribute) -> None:
    """One broken package in the environment would take the memory of every run."""
    distribute(
        "broken",
        entry_points={"broken": "broken_memory:registration"},
        broken_memory="""
        raise RuntimeError("no /usr/lib/secret.so")
    """,
    )
    assert await open_store({"backend": "in_process"}, identity="alice")
    assert "broken" in known_backends()
    error = await refused({"backend": "broken"})
    assert error.option == "backend"
    assert "'broken'" in str(error)
    assert "secret" not in str(error)
    assert isinstance(error.__cause__, RuntimeError)


@pytest.mark.parametrize(
    ("entry_point", "source", "cause"),
    [
        ("{}.away:registration", "", "whose own module is missing. Install it anew, with all that it needs."),
        ("{}_away:registration", "", "whose own module is missing. Install it anew, with all that it needs."),
        ("{}:registration", "import secret_dependency", "which needs a module that is missing. Install it anew, with"),
        ("{}:registration", "from json import secret_name", "whose module raised an error when it was imported. Ask"),
        ("{}:registration", "raise AttributeError('secret')", "whose module raised an error when it was imported. Ask"),
        ("{}:secret_name", "", "whose module has no attribute of the name in its entry point. Ask its makers"),
    ],
)
async def test_a_broken_entry_point_says_which_kind_of_broken(
    distribute: Distribute, entry_point: str, source: str, cause: str
) -> None:
    """Who wrote a backend looks for a missing module where a name is misspelt; the text stays with its cause."""
    distribute("broken", entry_points={"broken": entry_point.format("breaking_memory")}, breaking_memory=source)
    error = await refused({"backend": "broken"})
    assert str(error).startswith(f"Option 'backend' names 'broken', {cause}")
    assert "secret" not in str(error)
    assert error.__cause__ is not None


@pytest.mark.parametrize("source", ["registration = 7", "", ACME.format(name="another", needs_nats=False)])
async def test_an_entry_point_that_is_no_registration_of_that_name_is_refused(
    distribute: Distribute, source: str
) -> None:
    """A backend under two names would be refused as another than the one that was named."""
    distribute("odd", entry_points={"odd": "odd_memory:registration"}, odd_memory=source)
    error = await refused({"backend": "odd", "options": {"shelf": "upper"}})
    assert error.option == "backend"
    assert "'odd'" in str(error)


async def test_a_built_in_name_cannot_be_taken_by_another_distribution(distribute: Distribute) -> None:
    """A package that somebody installed for something else would get to see every note."""
    distribute(
        "taker",
        entry_points={"file": "taker_memory:registration"},
        taker_memory=ACME.format(name="file", needs_nats=False),
    )
    assert known_backends().count("file") == 1
    assert find_backend("file").options.__module__ == "jsmemory.backends.file.options"
    assert "taker_memory" not in sys.modules


async def test_a_name_that_two_distributions_register_is_refused(distribute: Distribute) -> None:
    """Which of the two keeps the notes would hang on the order of a path."""
    for each in ("left", "right"):
        distribute(each, entry_points={"twice": f"{each}_memory:registration"})
    error = await refused({"backend": "twice"})
    assert "several distributions" in str(error)


@pytest.mark.parametrize("name", ["file", "in_process", "jetstream"])
def test_a_built_in_backend_is_known_without_metadata_and_calls_itself_so(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """In a checkout on PYTHONPATH there is no entry point to be found."""
    monkeypatch.setattr(sys, "path", [])
    assert known_backends() == ("file", "in_process", "jetstream")
    assert find_backend(name).name == name


async def test_what_a_backend_refuses_is_named_as_the_operator_wrote_it(tmp_path: Path) -> None:
    """An operator looks for the option under the name that it has in the configuration."""
    (tmp_path / "memory").write_text("a file")
    error = await refused({}, base_dir=tmp_path)
    assert error.option == "options.directory"
    assert str(tmp_path) not in str(error)


# -- YAML -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "# nothing\n", "configuration.yaml", "- a\n- b\n", "7", "~"])
def test_yaml_that_is_no_mapping_is_refused(text: str) -> None:
    """An empty file, or the name of one, would open a store that nobody configured."""
    with pytest.raises(InvalidOptionsError, match="no mapping"):
        Configuration.of(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("enabled: true\nenabled: false\n", "has a key twice in one place in line 2"),
        ('options: {directory: a, "directory": b}', "has a key twice in one place in line 1"),
        ("options: &a {}\n", "has an anchor or an alias in line 1"),
        ("backend: file\noptions: *a\n", "has an anchor or an alias in line 2"),
        ("<<: {enabled: true}\n", "has a merge in line 1"),
        ("? [a]\n: b\n", "has a key that is no name in line 1"),
        ("a: 1\n---\na: 2\n", "has a second document in line 2"),
        ("a: [\n", "is no YAML in line 2"),
        ("a: b: c\n", "is no YAML in line 1"),
        ("a: !!python/object/apply:os.system [ls]\n", "is no YAML in line 1"),
        ("a: \x07\n", "has a value that YAML cannot make sense of"),
        ("a: !!int ''\n", "has a value that YAML cannot make sense of"),
        ("a: 2024-13-01\n", "has a value that YAML cannot make sense of"),
        (f"a: {'1' * 5000}\n", "has a value that YAML cannot make sense of"),
        (f"a: {'[' * 17}{']' * 17}\n", "is nested too deeply in line 1"),
        (f"a: {'[' * 30_000}\n", "is nested too deeply in line 1"),
        ("{" * 30_000, "has a key that is no name in line 1"),
        (f"a: {'x' * MAX_CONFIGURATION_LENGTH}", "is too long"),
    ],
)
def test_hostile_or_careless_yaml_is_refused_and_the_line_is_told(text: str, problem: str) -> None:
    """A key that stands twice loses one of its values; an alias can stand for millions of them."""
    with pytest.raises(InvalidOptionsError) as raised:
        Configuration.of(text)
    assert raised.value.option == "configuration"
    assert raised.value.problem == problem


def test_the_same_key_in_two_places_is_no_key_twice() -> None:
    """A prefix here and a prefix there are two options."""
    assert read_yaml("a: {x: 1}\nb: [{x: 1}, {x: 2}]\nx: a\n") == {"a": {"x": 1}, "b": [{"x": 1}, {"x": 2}], "x": "a"}


def test_aliases_that_multiply_are_refused_before_anything_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine lines can stand for a billion values, and the host would die of them at start-up."""
    monkeypatch.delattr(jsmemory.opening.reading.yaml, "safe_load")
    bomb = "a: &a [x, x]\n" + "".join(
        f"{this}: &{this} [{','.join([f'*{last}'] * 9)}]\n" for last, this in zip("abcdefgh", "bcdefghi", strict=True)
    )
    with pytest.raises(InvalidOptionsError, match="anchor"):
        read_yaml(bomb)


@fuzz
@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"#%@`?,.\n \t\\x0~<é\x85\x00"), max_size=60))
def test_any_text_is_read_or_refused_in_own_words(text: str) -> None:
    """What a parser raises would reach the operator with a traceback and the text in it."""
    error = refusal_of(text)
    assert error is None or str(error).endswith(".")


async def test_a_store_that_was_opened_keeps_the_contract(tmp_path: Path) -> None:
    """Opening by configuration must give the same store as opening by hand."""
    store, scope = await open_store({}, identity="alice", base_dir=tmp_path), Scope()
    with pytest.raises(InvalidKeyError):
        await store.read("a/b", scope=scope)
    await store.create("note", "a line", "text", scope=scope)
    await store.update("note", "a line", "newer", scope=scope)
    other = await open_store({}, identity="bob", base_dir=tmp_path)
    assert await other.list() == ()


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"backend": "jetstream", "options": {"bucket": 5}}, "options.bucket"),
        ({"backend": "jetstream", "options": {"bucket": "b", "server": "x"}}, "options.server"),
        ({"backend": "jetstream", "options": {"bucket": "b", "prefix": "a.b"}}, "options.prefix"),
        ({"backend": "jetstream", "enabled": False, "options": {"bucket": "b"}}, "enabled"),
    ],
)
def test_a_configuration_is_checked_without_a_connection(config: dict[str, Any], named: str) -> None:
    """A host that connects first would report a server that is down, where an option is mistyped."""
    with pytest.raises(InvalidOptionsError) as refused:
        Configuration.of(config).check("alice")
    assert refused.value.option == named
    Configuration.of({"backend": "jetstream", "options": {"bucket": "b"}}).check("alice")
