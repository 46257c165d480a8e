"""Stores with one fault each. A kit that lets one pass would let it pass in anybody's store."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from jsmemory import (
    Entry,
    EntryExistsError,
    EntryNotFoundError,
    Info,
    Item,
    JsMemoryError,
    Scope,
    StaleEntryError,
    Store,
)
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.testing import STORE_CASES, run_case
from jsmemory.testing.case import named
from jsmemory.testing.harnesses.in_process import InProcessHarness

MUTANTS: list[tuple[type[InProcessHarness], str]] = []


def caught_by(*cases: str) -> Callable[[type[WrappingStore]], type[WrappingStore]]:
    """Make a harness whose stores are the mutant around an honest one."""

    def enter(mutant: type[WrappingStore]) -> type[WrappingStore]:
        class Mutated(InProcessHarness):
            async def open(self, *, require_read_before_update: bool = True) -> Store:
                return mutant(await super().open(require_read_before_update=require_read_before_update))

        Mutated.__name__ = mutant.__name__
        MUTANTS.extend((Mutated, case) for case in cases)
        return mutant

    return enter


# -- The guard ------------------------------------------------------------------------------


@caught_by(
    "guard/an_unread_entry_is_not_overwritten",
    "guard/no_scope_authorises_nothing",
    "guard/a_change_by_another_run_is_not_overwritten",
)
class ReadsBeforeItOverwrites(WrappingStore):
    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        own = Scope()
        await self.inner.read(key, scope=own)
        await self.inner.update(key, description, content, scope=own)


@caught_by("guard/a_refused_create_grants_no_authority")
class WordsARefusalByAReadOfTheRuns(WrappingStore):
    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        try:
            await self.inner.create(key, description, content, scope=scope)
        except EntryExistsError:
            await self.inner.read(key, scope=scope)
            raise


@caught_by("guard/a_listing_grants_no_authority")
class ReadsForTheRunWhatItLists(WrappingStore):
    listed = Scope()

    async def list(self) -> tuple[Item, ...]:
        items = await self.inner.list()
        for item in items:
            await self.inner.read(item.key, scope=self.listed)
        return items

    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        try:
            await self.inner.update(key, description, content, scope=scope)
        except StaleEntryError:
            await self.inner.update(key, description, content, scope=self.listed)


@caught_by("guard/a_mismatch_drops_the_old_revision", "concurrency/of_all_who_update_one_revision_one_did")
class ReadsAgainAfterAMismatch(WrappingStore):
    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        try:
            await self.inner.update(key, description, content, scope=scope)
        except StaleEntryError as refusal:
            if refusal.reason == "changed":
                await self.inner.read(key, scope=scope)
            raise


@caught_by("guard/a_delete_drops_the_authority", "guard/a_delete_that_comes_too_late_drops_the_authority_too")
class DeletesPastTheScope(WrappingStore):
    async def delete(self, key: str, *, scope: Scope | None) -> bool:
        return await self.inner.delete(key, scope=None)


@caught_by("guard/a_read_that_finds_nothing_drops_the_authority")
class ReadsPastTheScopeWhereNothingIs(WrappingStore):
    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        await self.inner.read(key, scope=None)
        return await self.inner.read(key, scope=scope)


@caught_by("guard/two_runs_never_share_authority", "guard/an_unread_entry_is_not_overwritten")
class HasOneScopeForAll(WrappingStore):
    shared = Scope()

    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        return await self.inner.read(key, scope=self.shared)

    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        await self.inner.create(key, description, content, scope=self.shared)

    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        await self.inner.update(key, description, content, scope=self.shared)


@caught_by("guard/a_create_authorises_an_update", "scopes/a_restore_adds_to_what_is_there")
class CreatesPastTheScope(WrappingStore):
    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        await self.inner.create(key, description, content, scope=None)


@caught_by("guard/an_absent_entry_is_not_updated_into_being", "capacity/an_update_adds_nothing_to_a_full_store")
class CreatesWhatItCannotUpdate(WrappingStore):
    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        try:
            await self.inner.update(key, description, content, scope=scope)
        except StaleEntryError:
            await self.inner.create(key, description, content, scope=scope)


# -- What is stored -------------------------------------------------------------------------


@caught_by("entries/a_content_comes_back_byte_for_byte", "entries/an_update_replaces_the_whole_value")
class StripsContents(WrappingStore):
    async def create(self, key: str, description: str, content: Any, *, scope: Scope | None) -> None:
        await self.inner.create(key, description, content.strip(), scope=scope)

    async def update(self, key: str, description: str, content: Any, *, scope: Scope | None) -> None:
        await self.inner.update(key, description, content or "empty", scope=scope)


@caught_by("entries/a_content_comes_back_byte_for_byte", "foreign/a_value_without_a_valid_header_is_all_content")
class TranslatesLineEnds(WrappingStore):
    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        entry = await self.inner.read(key, scope=scope)
        return dataclasses.replace(entry, content=entry.content.replace("\r\n", "\n"))


@caught_by("entries/a_content_comes_back_byte_for_byte")
class SplitsAtTheLastDelimiter(WrappingStore):
    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        entry = await self.inner.read(key, scope=scope)
        return dataclasses.replace(entry, content=entry.content.split("\n---\n\n")[-1])


@caught_by("entries/a_content_over_the_limit_is_refused_whole")
class CutsContents(WrappingStore):
    async def create(self, key: str, description: str, content: Any, *, scope: Scope | None) -> None:
        cut = content.encode()[:65_536].decode(errors="ignore")
        await self.inner.create(key, description, cut, scope=scope)


@caught_by("entries/a_description_becomes_one_line", "listing/an_item_is_a_key_and_its_description")
class CutsDescriptionsByBytes(WrappingStore):
    async def create(self, key: str, description: Any, content: str, *, scope: Scope | None) -> None:
        cut = description.encode()[:500].decode(errors="ignore")
        await self.inner.create(key, cut, content, scope=scope)


@caught_by("entries/an_empty_description_is_refused")
class DescribesWhatIsNotDescribed(WrappingStore):
    async def create(self, key: str, description: Any, content: str, *, scope: Scope | None) -> None:
        await self.inner.create(key, description.strip() or "untitled", content, scope=scope)


@caught_by("entries/what_is_no_text_is_refused_in_clear_words")
class EncodesFirst(WrappingStore):
    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        content.encode()
        await self.inner.create(key, description, content, scope=scope)


@caught_by("entries/a_revision_changes_with_every_value")
class HasRevisionsOfContentsOnly(WrappingStore):
    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        entry = await self.inner.read(key, scope=scope)
        return dataclasses.replace(entry, revision=str(hash(entry.content)))


@caught_by("entries/nothing_shows_a_content_but_a_read")
class ShowsContents(WrappingStore):
    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        entry = await self.inner.read(key, scope=scope)
        return Telling(entry.key, entry.description, entry.content, entry.revision)


class Telling(Entry):
    def __repr__(self) -> str:
        return f"Entry({self.key}, {self.content})"


@caught_by("foreign/a_broken_header_stays_as_it_is")
class MendsWhatItReads(WrappingStore):
    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        own = Scope()
        entry = await self.inner.read(key, scope=own)
        if not entry.description:
            await self.inner.update(key, "mended", entry.content, scope=own)
        return await self.inner.read(key, scope=scope)


@caught_by("foreign/a_planted_entry_is_listed_as_it_reads")
class ListsOnlyWhatIsDescribed(WrappingStore):
    async def list(self) -> tuple[Item, ...]:
        return tuple(item for item in await self.inner.list() if item.description)


# -- Keys, listings, deletes ----------------------------------------------------------------


@caught_by("keys/deleting_refuses_an_illegal_key")
class DeletesAnyKey(WrappingStore):
    async def delete(self, key: str, *, scope: Scope | None) -> bool:
        try:
            return await self.inner.delete(key, scope=scope)
        except ValueError:
            return False


@caught_by("keys/reading_refuses_an_illegal_key")
class FindsNothingUnderAnIllegalKey(WrappingStore):
    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        try:
            return await self.inner.read(key, scope=scope)
        except ValueError:
            raise EntryNotFoundError(key) from None


@caught_by("keys/creating_refuses_an_illegal_key")
class TrimsKeys(WrappingStore):
    async def create(self, key: Any, description: str, content: str, *, scope: Scope | None) -> None:
        await self.inner.create(key.strip() if isinstance(key, str) else key, description, content, scope=scope)


@caught_by("keys/keys_that_differ_in_case_are_two_keys")
class FoldsCase(WrappingStore):
    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        return await self.inner.read(key.lower(), scope=scope)

    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        await self.inner.create(key.lower(), description, content, scope=scope)


@caught_by("listing/a_listing_is_sorted_by_bytes")
class SortsAsPeopleDo(WrappingStore):
    async def list(self) -> tuple[Item, ...]:
        return tuple(sorted(await self.inner.list(), key=lambda item: item.key.lower()))


@caught_by("listing/a_full_store_is_listed_completely")
class ListsOnePage(WrappingStore):
    async def list(self) -> tuple[Item, ...]:
        return (await self.inner.list())[:1_000]


@caught_by(
    "listing/a_listing_shows_the_newest_description", "listing/a_listing_is_never_older_than_what_this_store_has_done"
)
class ListsWhatItListedBefore(WrappingStore):
    listed: tuple[Item, ...] | None = None

    async def list(self) -> tuple[Item, ...]:
        if not self.listed:
            self.listed = await self.inner.list()
        return self.listed


@caught_by("deletion/deleting_what_is_absent_answers_false", "deletion/of_all_who_delete_one_entry_one_did")
class AlwaysHasDeleted(WrappingStore):
    async def delete(self, key: str, *, scope: Scope | None) -> bool:
        await self.inner.delete(key, scope=scope)
        return True


@caught_by("deletion/a_delete_needs_no_read")
class DeletesOnlyWhatWasRead(WrappingStore):
    async def delete(self, key: str, *, scope: Scope | None) -> bool:
        await self.inner.update(key, "to be deleted", "", scope=scope)
        return await self.inner.delete(key, scope=scope)


@caught_by("deletion/deleting_what_is_absent_writes_nothing")
class LeavesATraceOfEveryDelete(WrappingStore):
    async def delete(self, key: str, *, scope: Scope | None) -> bool:
        existed = await self.inner.delete(key, scope=scope)
        if not existed:
            await self.inner.create(key, "deleted", "", scope=None)
        return existed


# -- Honesty --------------------------------------------------------------------------------


@caught_by("honesty/the_location_is_an_identifier")
class TellsWhereItLives(WrappingStore):
    def info(self) -> Info:
        return Info("file", "/home/agent/memory")


@caught_by("honesty/a_refusal_shows_no_text_of_an_entry")
class QuotesTheCollidingEntry(WrappingStore):
    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        try:
            await self.inner.create(key, description, content, scope=scope)
        except EntryExistsError:
            theirs = await self.inner.read(key, scope=None)
            raise EntryExistsError(f"{key}: {theirs.description}") from None


@caught_by("honesty/every_refusal_is_a_request_error_that_names_what_happened")
class RaisesItsOwnErrors(WrappingStore):
    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        try:
            return await self.inner.read(key, scope=scope)
        except EntryNotFoundError:
            raise KeyError(key) from None


@caught_by("guard/an_unread_entry_is_not_overwritten")
class RaisesWhatCannotBeSentOn(WrappingStore):
    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        try:
            await self.inner.update(key, description, content, scope=scope)
        except StaleEntryError as refusal:
            raise Unsendable(key, refusal.reason) from None


class Unsendable(StaleEntryError):
    def __reduce__(self) -> str | tuple[Any, ...]:
        return JsMemoryError, ("lost on the way",)


@caught_by("honesty/a_write_that_returned_has_landed", "sessions/a_store_reads_its_own_writes")
class SaysSavedAndSavesLater(WrappingStore):
    last: tuple[str, str, str] | None = None

    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        if self.last is not None:
            await self.inner.create(*self.last, scope=None)
        self.last = (key, description, content)


@pytest.mark.parametrize(("mutant", "case"), MUTANTS, ids=[f"{mutant.__name__}-{case}" for mutant, case in MUTANTS])
async def test_a_broken_store_is_caught(mutant: type[InProcessHarness], case: str) -> None:
    """The case named beside the mutant is the one that notices it; the honest store keeps it, as other tests show."""
    outcome = await run_case(named(STORE_CASES, case), mutant)
    assert outcome.verdict == "broken", outcome
