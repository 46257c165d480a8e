"""
A view of a store that is kept in memory: what is stored, without asking again for all of it.

A `Feed` keeps a `Picture` like the keyspace, in the way that its backend can; a `LiveView`
answers from the picture, and tells `Changes` to whoever iterates. A store with no feed of its
own is looked at again and again.
"""

from jsmemory.live.changes import Change, Changes
from jsmemory.live.feed import Feed
from jsmemory.live.looking import LookingFeed
from jsmemory.live.picture import MAX_KNOWN, Known, Picture
from jsmemory.live.sharing import shared_view
from jsmemory.live.view import LiveView

__all__ = [
    "MAX_KNOWN",
    "Change",
    "Changes",
    "Feed",
    "Known",
    "LiveView",
    "LookingFeed",
    "Picture",
    "shared_view",
]
