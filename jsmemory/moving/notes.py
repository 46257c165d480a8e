"""What an entry is made of: from the bytes of a file that somebody wrote to a description and a content."""

import re
from pathlib import PurePath
from typing import Final

from jsmemory import frontmatter
from jsmemory.entries import normalise_description
from jsmemory.errors import InvalidEntryError
from jsmemory.moving.parcels import Text

_HEADER: Final = re.compile(r"\A---(\r?\n)(.*?)\1---(?:\1\1?|\Z)", re.DOTALL)
# As the stored format has it, and with the line ends of Windows.

_DESCRIPTION_ALONE: Final = re.compile(r"\n*description:[^\n]*(?:\n(?:[ \t][^\n]*)?)*")
# A header that says nothing else; its value may go on in indented lines.

_MARKUP: Final = re.compile(r"^[\s#>*+=_`~|-]+|\s#+\s*$")
# What Markdown puts around the words of a heading, of a list or of a quotation.


def text_of(data: bytes, name: str) -> Text:
    """
    The description and the content of a note.

    What this package stored comes back exactly. Otherwise the description is that of the front
    matter, else the first line that has words, else the name. The content is the text; front
    matter that says more than the description stays in it, so that nothing of it is lost.

    Args:
        data: The whole file.
        name: What the file is called.

    Raises:
        InvalidEntryError: it is no text in UTF-8.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        problem = f"is not UTF-8 at byte {fault.start}"
        raise InvalidEntryError(
            "content", problem, "Leave it out if it is no text, or convert it, e.g. with iconv -t UTF-8."
        ) from None
    header, body = _split(text)
    if header is None:
        return _first_words(text) or _words_of(name), text
    content = body if _DESCRIPTION_ALONE.fullmatch(header) else text
    return _described(header) or _first_words(body) or _words_of(name), content


def _split(text: str) -> tuple[str | None, str]:
    found = _HEADER.match(text)
    if found is None:
        return None, text
    header = found[2].replace("\r\n", "\n")
    _, rest = frontmatter.parse(_as_value(header))
    # What remains of a header and nothing behind it is nothing; or all of it, where it is none.
    return (header, text[found.end() :]) if not rest else (None, text)


def _described(header: str) -> str:
    return normalise_description(frontmatter.read_description(_as_value(header)))


def _as_value(header: str) -> bytes:
    return f"---\n{header}\n---\n".encode()


def _first_words(text: str) -> str:
    for line in text.splitlines():
        if words := normalise_description(_MARKUP.sub("", line)):
            return words
    return ""


def _words_of(name: str) -> str:
    # A name that is no text to the system has half surrogates, which nothing can store.
    legible = PurePath(name).stem.encode(errors="replace").decode()
    return normalise_description(legible) or "Imported note"
