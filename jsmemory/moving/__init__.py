"""
Entries on their way: from store to store, into one archive, and out of archives and folders.

`copying`, `exporting` and `importing` are the faces. `parcels` are entries on their way,
`carrying` puts one into a store and reads it back, `crew` does so with many at once, `report`
tells what came of each. `folder`, `notes` and `keying` make entries of files that people have;
`archive` is the file with checksums. A store is used by its six methods and nothing else.
"""

from jsmemory.moving.copying import copy_entries
from jsmemory.moving.exporting import export_archive
from jsmemory.moving.importing import import_archive, import_folder
from jsmemory.moving.report import Moved, MovingReport, Outcome

__all__ = ["Moved", "MovingReport", "Outcome", "copy_entries", "export_archive", "import_archive", "import_folder"]
