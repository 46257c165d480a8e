"""The file journal: one file of JSON lines a run, for one host and for trying things out."""

from jsmemory.journal.file.journal import FileJournal

__all__ = ["FileJournal"]
