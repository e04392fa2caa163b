"""What the names and texts of projects, Tables, Tools and endpoints may be."""

from sakuin.errors import Invalid
from sakuin.tables.scan import problem_of

_LONGEST_NAME = 200


def check_name(name: str) -> str:
    """Returns the name without white space around it. Raises `Invalid` if it is empty or too long."""
    name = check_text(name.strip(), "The name")
    if not 0 < len(name) <= _LONGEST_NAME:
        raise Invalid(f"A name has 1 to {_LONGEST_NAME} characters. Choose another one.")
    return name


def check_text(text: str, what: str) -> str:
    """Returns the text. Raises `Invalid` if Postgres cannot store it."""
    if problem := problem_of(text):
        raise Invalid(f"{what} cannot be stored. {problem}")
    return text
