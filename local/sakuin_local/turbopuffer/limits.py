"""What turbopuffer takes at most (https://turbopuffer.com/docs/limits, read in November 2026)."""

import re

NAMESPACE = re.compile(r"[A-Za-z0-9\-_.]{1,128}")
REQUEST_BYTES = 512 * 1024 * 1024
ID_BYTES = 64
ATTRIBUTE_NAME_BYTES = 128
ATTRIBUTES = 1_024
VALUE_BYTES = 8 * 1024 * 1024
FILTERABLE_VALUE_BYTES = 4 * 1024
DOCUMENT_BYTES = 64 * 1024 * 1024
DIMENSIONS = 10_752
QUERIES_A_REQUEST = 16
ROWS_AN_ANSWER = 10_000
NAMESPACES_A_PAGE = 1_000
DELETED_BY_FILTER = 5_000_000
PATCHED_BY_FILTER = 50_000
# The documents say 1,024 in one place and 8,192 in another: what passes here passes there.
FULL_TEXT_QUERY_CHARACTERS = 1_024
# A token of the built-in tokenizers; a longer one is dropped without a word.
TOKEN_BYTES = 39


class Refused(Exception):
    """A request that turbopuffer would refuse too, or that this stand-in does not know."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def missing(namespace: str) -> Refused:
    """The answer about a namespace that is not there."""
    return Refused(f"namespace '{namespace}' was not found", status=404)
