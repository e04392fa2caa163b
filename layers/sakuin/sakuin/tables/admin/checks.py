"""Texts of requests that Postgres can store. SQL checks everything else about them, for every caller."""

from sakuin.errors import Invalid
from sakuin.tables.scan import problem_of


def check_text(text: str, what: str) -> str:
    """Returns the text. Raises `Invalid` if Postgres cannot store it: SQL would not see it."""
    if problem := problem_of(text):
        raise Invalid(f"{what} cannot be stored. {problem}")
    return text
