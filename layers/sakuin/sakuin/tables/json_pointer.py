"""JSON Pointers (RFC 6901)."""

import hashlib
import re

from sakuin.errors import Invalid, NotFound
from sakuin.texts.catalogue import coded

_BAD_ESCAPE = re.compile(r"~(?![01])")

# At most 18 digits, more than any array needs; int() rejects thousands of digits.
_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")


def tokens(pointer: str) -> tuple[str, ...]:
    """Returns the unescaped steps of `pointer`, none for the root `""`. Raises `Invalid` if it is not a pointer."""
    if not pointer:
        return ()
    if not pointer.startswith("/"):
        raise Invalid(coded("json.pointer_start", pointer=shown(pointer)))
    if _BAD_ESCAPE.search(pointer):
        raise Invalid(coded("json.pointer_escape", pointer=shown(pointer)))
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/"))


def pointer_of(tokens: tuple[str, ...]) -> str:
    """Returns the pointer with these steps. Each node has exactly one pointer."""
    return "".join("/" + escaped(token) for token in tokens)


def escaped(token: str) -> str:
    """Returns one step, escaped for a pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def ancestors(pointer: str) -> tuple[str, ...]:
    """Returns the pointers from the root `""` to the node itself."""
    tokens(pointer)
    slashes = [place for place, letter in enumerate(pointer) if letter == "/"]
    return tuple(pointer[:end] for end in (*slashes, len(pointer))) if pointer else ("",)


def is_within(pointer: str, scope: str) -> bool:
    """Returns whether the node is `scope` itself or below it: `/articles2` is not within `/articles`."""
    return pointer == scope or pointer.startswith(scope + "/")


def relative(pointer: str, scope: str) -> str:
    """Returns the pointer relative to `scope`: `/articles/0` in `/articles` is `/0`. Raises `Invalid` outside of it."""
    if not is_within(pointer, scope):
        raise Invalid(f"{shown(pointer)} is not within {shown(scope)}.")
    return pointer[len(scope) :]


def resolve(document: object, pointer: str) -> object:
    """Returns the node at `pointer`. Raises `NotFound` if there is none; `-` and `01` are not array indexes."""
    node = document
    for token in tokens(pointer):
        if isinstance(node, dict) and token in node:
            node = node[token]
        elif isinstance(node, list) and (index := index_of(token)) is not None and index < len(node):
            node = node[index]
        else:
            raise NotFound(coded("json.no_node", pointer=shown(pointer)))
    return node


def index_of(token: str) -> int | None:
    """Returns the array index that a step names; None for a sign, a leading zero or `-`."""
    return int(token) if _INDEX.fullmatch(token) else None


def pointer_hash(pointer: str) -> str:
    """Returns the first 16 hex digits of the SHA-256 of a pointer in UTF-8."""
    return hashlib.sha256(pointer.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def shown(given: object) -> str:
    """Returns a value of a caller for a message: quoted, printable, at most 200 characters."""
    text = given if isinstance(given, str) else str(type(given).__name__)
    return repr(text[:200]) if text[:200].isprintable() else ascii(text[:200])
