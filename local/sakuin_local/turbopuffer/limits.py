"""turbopuffer's limits (https://turbopuffer.com/docs/limits, November 2026), and its answer to invalid requests."""

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
# The documentation has both 1,024 and 8,192: the smaller one is safe. It does not say whether the limit is one for all
# clauses together: here it is.
FULL_TEXT_QUERY_CHARACTERS = 1_024
# Longer tokens are dropped silently, by default and at most. Whether those of `pre_tokenized_array` are dropped too is
# not documented: here they are.
TOKEN_BYTES = 39
LONGEST_TOKEN_BYTES = 254


class Refused(Exception):
    """A request that turbopuffer would reject too, or that this stand-in does not support."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def require(condition: object, message: str, *, status: int = 400) -> None:
    """Raises `Refused` unless the condition holds."""
    if not condition:
        raise Refused(message, status=status)
