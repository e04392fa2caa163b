"""JSON Pointers (RFC 6901)."""

import hashlib
import re

from sakuin.errors import Invalid, NotFound

_BAD_ESCAPE = re.compile(r"~(?![01])")

# More digits than any array has items; int() refuses texts of thousands.
_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")


def tokens(pointer: str) -> tuple[str, ...]:
    """The unescaped steps of `pointer`; none for the root `""`. `Invalid` if it is no JSON Pointer."""
    if not pointer:
        return ()
    if not pointer.startswith("/"):
        raise Invalid(f'{shown(pointer)} is no JSON Pointer: begin it with "/", or use "" for the whole document.')
    if _BAD_ESCAPE.search(pointer):
        raise Invalid(f'{shown(pointer)} is no JSON Pointer: write "~" in a key as "~0" and "/" as "~1".')
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/"))


def pointer_of(tokens: tuple[str, ...]) -> str:
    """The pointer with these steps. Each node has exactly one spelling."""
    return "".join("/" + escaped(token) for token in tokens)


def escaped(token: str) -> str:
    """One step as it is written in a pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def ancestors(pointer: str) -> tuple[str, ...]:
    """Every pointer whose scope holds the node: the root `""` first, the node itself last."""
    tokens(pointer)
    slashes = [place for place, letter in enumerate(pointer) if letter == "/"]
    return tuple(pointer[:end] for end in (*slashes, len(pointer))) if pointer else ("",)


def is_within(pointer: str, scope: str) -> bool:
    """Whether the node is `scope` itself or below it: `/articles` does not hold `/articles2`."""
    return pointer == scope or pointer.startswith(scope + "/")


def relative(pointer: str, scope: str) -> str:
    """The pointer as seen from `scope`: `/articles/0/content` from `/articles` is `/0/content`, the scope is `""`."""
    if not is_within(pointer, scope):
        raise Invalid(f"{shown(pointer)} is not within {shown(scope)}.")
    return pointer[len(scope) :]


def resolve(document: object, pointer: str) -> object:
    """The node at `pointer`; `NotFound` if nothing stands there. `-` and `01` are no place in an array."""
    node = document
    for token in tokens(pointer):
        if isinstance(node, dict) and token in node:
            node = node[token]
        elif isinstance(node, list) and (index := index_of(token)) is not None and index < len(node):
            node = node[index]
        else:
            raise NotFound(f"The document has nothing at {shown(pointer)}. Check the pointer against the Table.")
    return node


def index_of(token: str) -> int | None:
    """The array index that a step names, None if it names none: no sign, no leading zero, no `-`."""
    return int(token) if _INDEX.fullmatch(token) else None


def pointer_hash(pointer: str) -> str:
    """The first 16 hex digits of SHA-256 of the pointer's UTF-8: short enough to filter and to name by."""
    return hashlib.sha256(pointer.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def shown(given: object) -> str:
    """What a caller gave, in a message: quoted, printable and not longer than a line."""
    text = given if isinstance(given, str) else str(type(given).__name__)
    return repr(text[:200]) if text[:200].isprintable() else ascii(text[:200])
