"""
Text of strangers inside text for a model: on one line, and unable to leave its fence.

What is shown may differ from what is stored; it is an index, and a read gives every byte.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Final

_JOINERS: Final = "\u200c\u200d"
# Do not print, and still belong to the spelling of several languages and to many emoji.

_HIDING: Final = re.compile("[\U000e0100-\U000e01ef]")
# Variation selectors that count as printable, and can carry any bytes unseen.

_OPENING: Final = "<\u226e\uff1c\ufe64\u2039\u2329\u3008\u27e8\u02c2\u276c\u276e\u2770\u29fc\u1438\ufe3f"
_CLOSING: Final = ">\u226f\uff1e\ufe65\u203a\u232a\u3009\u27e9\u02c3\u276d\u276f\u2771\u29fd\u1433\ufe40"
_BRACKETS: Final = str.maketrans(dict.fromkeys(_OPENING, "[") | dict.fromkeys(_CLOSING, "]"))
# Whatever can be taken for an angle bracket: no tag can be begun, and none closed.


def one_line(text: str, limit: int) -> str:
    """
    Make text of a stranger harmless.

    Controls of C0 and C1, escape sequences, bidi controls, line separators, what is invisible
    and what is no character become spaces, and runs of those one; angle brackets and their
    look-alikes become square ones.

    Args:
        text: Any text, however long.
        limit: Code points that are left at most.
    """
    text = text[: 4 * limit]  # so that the time does not depend on what somebody planted
    if not text.isprintable():
        text = "".join(each if each.isprintable() or each in _JOINERS else " " for each in text)
    text = _HIDING.sub("", text).translate(_BRACKETS)
    return " ".join(text.split())[:limit].rstrip()


def fenced(name: str, lines: Sequence[str]) -> str:
    """
    Put lines between an opening and a closing mark.

    The marks bear a digest of the lines, so that nobody can write the closing one into a line
    beforehand; and the same lines give the same text, which a provider can cache.

    Args:
        name: What the lines are, in lower case.
        lines: Each the work of `one_line`, or the caller's own.
    """
    body = "\n".join(lines)
    mark = f"{name}-{hashlib.sha256(body.encode()).hexdigest()[:16]}"
    return f"<{mark}>\n{body}\n</{mark}>"
