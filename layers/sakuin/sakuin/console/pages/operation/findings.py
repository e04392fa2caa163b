"""The pages of findings: of validation, page by page, and of the last nightly comparison."""

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.pages.operation.services import Operation, address
from sakuin.console.shell import Shell, Visit
from sakuin.language.unicode_text import nfc

# Each one is read from the bucket.
_PAGES = 20


def routes(shell: Shell, operation: Operation) -> APIRouter:
    """Returns the routes."""
    router = APIRouter()
    library = operation.library

    @router.get("/findings")
    def validate(
        visit: Annotated[Visit, Depends(shell.admin)],
        prefix: str = "",
        after: str | None = None,
    ) -> Response:
        """Compares some pages with their HTML in the bucket."""
        wanted = nfc(prefix.strip())
        pages = library.records.materials(prefix=wanted, after=after, limit=_PAGES)
        more = pages.next_cursor
        return visit.page(
            "operation/findings.html",
            findings=library.findings_of(pages.items),
            looked_at=len(pages.items),
            prefix=wanted,
            following=address("/findings", prefix=wanted, after=more) if more else None,
            link_to=operation.link_to,
            address=address,
        )

    @router.get("/findings/night")
    def show_night(visit: Annotated[Visit, Depends(shell.admin)]) -> Response:
        """Shows what the last nightly comparison found, or the present one so far."""
        return visit.page("operation/night.html", report=operation.runs.report())

    return router
