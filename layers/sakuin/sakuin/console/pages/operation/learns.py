"""The page of `learns`: their source, and which are missing or weak."""

from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.pages.operation.services import Operation, address
from sakuin.console.shell import Shell, Visit
from sakuin.knowledge.learns.listed import ListedExplanation
from sakuin.language.unicode_text import nfc

Choice = Literal["", "marked", "author", "model", "provisional", "written"]
# Read in one request; a choice shows some of them.
_READ: Mapping[bool, int] = {False: 20, True: 500}


def routes(shell: Shell, operation: Operation) -> APIRouter:
    """Returns the routes."""
    router = APIRouter()

    @router.get("/learns")
    def list_learns(
        visit: Annotated[Visit, Depends(shell.admin)],
        prefix: str = "",
        only: Choice = "",
        after: str = "",
    ) -> Response:
        """Lists explanations by page. With a choice it reads more of them, and shows those that are chosen."""
        wanted, most = nfc(prefix.strip()), _READ[bool(only)]
        read = operation.explanations.all(prefix=wanted, after=after, limit=most)
        more = read[-1].id if len(read) == most else None
        return visit.page(
            "operation/learns.html",
            explanations=[one for one in read if _is_chosen(one, only)],
            read=len(read),
            prefix=wanted,
            only=only,
            following=address("/learns", prefix=wanted, only=only, after=more) if more else None,
            link_to=operation.link_to,
            address=address,
        )

    return router


def _is_chosen(one: ListedExplanation, only: Choice) -> bool:
    if only == "marked":
        return bool(one.marks)
    return only in ("", one.source)
