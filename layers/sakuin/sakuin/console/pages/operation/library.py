"""The pages of the library: the list, and one page with its explanations, findings and work."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.answers import redirect
from sakuin.console.pages.operation.services import Operation, address
from sakuin.console.shell import Shell, Visit
from sakuin.errors import Invalid, NotFound, SakuinError
from sakuin.language.unicode_text import nfc

_PAGES = 50
_EXPLANATIONS = 50
_RESULTS = 10


def routes(shell: Shell, operation: Operation) -> APIRouter:
    """Returns the routes."""
    router = APIRouter()
    library = operation.library

    @router.get("/pages")
    def list_pages(
        visit: Annotated[Visit, Depends(shell.admin)],
        prefix: str = "",
        status: Literal["", "ready", "failed"] = "",
        after: str | None = None,
    ) -> Response:
        """Lists pages by name."""
        wanted = nfc(prefix.strip())
        found = library.records.materials(prefix=wanted, status=status or None, after=after, limit=_PAGES)
        work = operation.work_of([state.material for state in found.items])
        more = found.next_cursor
        return visit.page(
            "operation/pages.html",
            pages=found.items,
            work=work,
            prefix=wanted,
            chosen=status,
            following=address("/pages", prefix=wanted, status=status, after=more) if more else None,
            page_address=_page_address,
        )

    @router.get("/pages/page")
    def show_page(visit: Annotated[Visit, Depends(shell.admin)], material: str, after: int = -1) -> Response:
        """Shows one page. Its findings are those of the version in the bucket."""
        state = library.index.state(nfc(material))
        if state is None:
            raise NotFound("There is no such page. Look for it by the beginning of its name")
        listed = operation.explanations.of_material(state.material, after=after, limit=_EXPLANATIONS + 1)
        more = len(listed) > _EXPLANATIONS
        listed = listed[:_EXPLANATIONS]
        try:
            findings, problem = library.findings_of([state]) if state.status != "deleted" else (), ""
        except SakuinError as error:
            # The page shows what is recorded also while the bucket does not answer.
            findings, problem = (), str(error)
        return visit.page(
            "operation/page.html",
            state=state,
            explanations=listed,
            findings=findings,
            problem=problem,
            work=operation.work_of([state.material]).get(state.material, ()),
            results=library.records.recorded_results(state.source.key, limit=_RESULTS),
            following=address("/pages/page", material=state.material, after=str(listed[-1].position)) if more else None,
            link_to=operation.link_to,
        )

    @router.post("/pages/outdated")
    def index_outdated(visit: Annotated[Visit, Depends(shell.admin_form)]) -> Response:
        """Indexes the pages again that were indexed with other settings."""
        if not visit.text("sure"):
            raise Invalid("Confirm that all outdated pages are to be indexed again")
        asked = library.reapply_outdated()
        return redirect("/pages", done="outdated_asked" if asked else "nothing_outdated")

    return router


def _page_address(material: str) -> str:
    return address("/pages/page", material=material)
