"""
From one description of a bucket, or of a journal's stream, to what makes it.

`printing` writes it down for whatever an operator works with, `comparing` holds a live one
against it, and `live` asks and makes. Nothing is made unless `apply_recipe` is called, and
nothing that exists is ever changed from here: each deviation comes with the command.
`permissions` are what one worker may do in it.
"""

from jsmemory.provisioning.comparing import Comparison, Deviation
from jsmemory.provisioning.live import apply_recipe, compare_recipe
from jsmemory.provisioning.permissions import WorkerPermissions
from jsmemory.provisioning.printing import FORMATS, print_recipe

__all__ = [
    "FORMATS",
    "Comparison",
    "Deviation",
    "WorkerPermissions",
    "apply_recipe",
    "compare_recipe",
    "print_recipe",
]
