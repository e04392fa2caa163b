"""The pages on this machine: HTML as it is, and Markdown as a page."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from sakuin.errors import NotFound, UnreadablePage
from sakuin.knowledge.page import DEFAULT_BOX_SELECTORS, Page
from sakuin.knowledge.reading.decoding import encoding_of
from sakuin.knowledge.reading.page_reader import read_page

from sakuin_cli.files import read_bytes
from sakuin_cli.site.config import index_of
from sakuin_cli.site.uploads import is_markdown, is_page

# What may stand before the first element of a head.
_BEFORE_HEAD = re.compile(
    r"(?:\ufeff|\xef\xbb\xbf)?(?:\s+|<\?xml[^>]*>|<!doctype[^>]*>|<!--.*?-->|<html\b[^>]*>|<head\b[^>]*>)*+",
    re.IGNORECASE | re.DOTALL,
)


def content_of(path: str) -> bytes:
    """Returns what is uploaded of a file. Raises `NotFound`, and `UnreadablePage` for Markdown without an encoding.

    A page gets the meta tag `sakuin:index` that `sakuin.toml` asks for, unless it has one.
    """
    body = _body(path)
    if not is_page(path) or not (index := index_of(Path(path).resolve().parent)):
        return body
    # Of all encodings of pages, these alone write a tag with other bytes than ASCII.
    encoding = encoding_of(body) if body.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "latin-1"
    html = body.decode(encoding, "replace")
    if "sakuin:index" in html:
        return body
    before = _BEFORE_HEAD.match(html)
    place = before.end() if before else 0
    return f'{html[:place]}<meta name="sakuin:index" content="{index}"/>{html[place:]}'.encode(encoding)


def _body(path: str) -> bytes:
    if not is_markdown(path):
        return read_bytes(path)
    try:
        state = Path(path).stat()
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}") from error
    return _built(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=200)
def _built(path: str, _changed: int, _size: int) -> bytes:
    """Returns the page of a Markdown file; a push asks for it several times."""
    from sakuin_cli.site.markdown import page_of

    return page_of(read_bytes(path), Path(path).name)


def local_page(path: str, box_selectors: Sequence[str] = DEFAULT_BOX_SELECTORS) -> Page | str:
    """Returns a page as the index would read it, or the reason why it cannot be read."""
    try:
        return read_page(content_of(path), box_selectors=box_selectors)
    except (UnreadablePage, NotFound) as error:
        return str(error)
