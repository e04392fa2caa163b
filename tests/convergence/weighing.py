"""How often a schedule does what."""

from typing import Any

from hypothesis import strategies as st


def weighted(parts: tuple[tuple[st.SearchStrategy[Any], int], ...]) -> st.SearchStrategy[Any]:
    """One of the parts, each as often as its number says."""
    # A strategy that is named twice counts once; a mapped one is another each time.
    return st.one_of([part.map(_same) for part, weight in parts for _ in range(weight)])


def _same(drawn: Any) -> Any:
    return drawn
