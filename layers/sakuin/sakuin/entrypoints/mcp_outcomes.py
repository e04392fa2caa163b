"""What becomes of a tool's call: its answer, or in a sentence what went wrong."""

from collections.abc import Callable
from typing import Any

from mcp_types import CallToolResult
from pydantic import ValidationError

from sakuin.entrypoints.mcp_answers import answered, failed
from sakuin.entrypoints.mcp_arguments import sentence
from sakuin.errors import Invalid, NotFound, Refused, Unavailable


def outcome_of(run: Callable[[], dict[str, Any]]) -> CallToolResult:
    """The answer that `run` gives. Other errors than a caller can do something about pass through."""
    try:
        return answered(run())
    except ValidationError as error:
        return failed(str(sentence(error)))
    except (Invalid, NotFound) as error:
        return failed(str(error))
    except Refused as error:
        return failed(f"{error}. Those who keep this server have to mend that; until then it cannot search.")
    except Unavailable as error:
        return failed(f"{error}. Try again in a moment.")
