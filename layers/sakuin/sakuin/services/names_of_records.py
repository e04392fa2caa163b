"""Names that people give to records, and texts that Postgres can hold."""

from sakuin.domain.table_walk import problem_of
from sakuin.errors import Invalid

_LONGEST_NAME = 200


def checked_name(name: str) -> str:
    """The name without space around it; `Invalid` if nothing is left, or too much."""
    name = checked_text(name.strip(), "The name")
    if not 0 < len(name) <= _LONGEST_NAME:
        raise Invalid(f"A name has 1 to {_LONGEST_NAME} characters. Give it another one.")
    return name


def checked_text(text: str, what: str) -> str:
    """The text itself; `Invalid` if Postgres cannot hold it."""
    if problem := problem_of(text):
        raise Invalid(f"{what} cannot be stored. {problem}")
    return text
