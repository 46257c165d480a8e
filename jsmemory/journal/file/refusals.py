"""What is said where the operating system refuses the journal something."""

from typing import Final

from jsmemory.backends.file.translate import Words

JOURNAL: Final = Words(directory="directory of the journal", owner="journal", name="name of the run")

OPENING: Final = "make and open the directory of the journal"
READING: Final = "read the directory of the journal and its files"
WRITING: Final = "write to the directory of the journal"
