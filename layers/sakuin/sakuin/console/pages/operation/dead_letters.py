"""The pages of dead letters: how many each queue has, what they ask for, and sending them again."""

import time
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.answers import redirect
from sakuin.console.pages.operation.services import Operation
from sakuin.console.shell import Shell, Visit
from sakuin.errors import Invalid
from sakuin.platform.retry import QUEUES, QueueName
from sakuin.upkeep.dead_letters import described

_SHOWN = 20
# API Gateway ends a request after 30 seconds.
_SECONDS = 15.0


def routes(shell: Shell, operation: Operation) -> APIRouter:
    """Returns the routes."""
    router = APIRouter()
    letters = operation.dead_letters

    @router.get("/dead-letters")
    def count(visit: Annotated[Visit, Depends(shell.admin)]) -> Response:
        """Counts the dead letters of each queue."""
        counts = {queue: letters.count(queue) for queue in QUEUES}
        return visit.page("operation/dead_letters.html", counts=counts)

    @router.get("/dead-letters/{queue}")
    def look(visit: Annotated[Visit, Depends(shell.admin)], queue: QueueName) -> Response:
        """Shows some letters of a queue. They stay there."""
        count = letters.count(queue)
        received = letters.receive(queue, most=min(count, _SHOWN)) if count else []
        letters.release(received)
        shown = described(received[:_SHOWN], operation.failures)
        return visit.page("operation/dead_letter_queue.html", queue=queue, count=count, letters=shown)

    @router.post("/dead-letters/{queue}")
    def send_again(queue: QueueName, visit: Annotated[Visit, Depends(shell.admin_form)]) -> Response:
        """Sends the letters of a queue again, for as long as a request may take."""
        if not visit.text("sure"):
            raise Invalid("Confirm that the messages are to be sent again")
        until = time.monotonic() + _SECONDS
        sent = letters.send_all_again(queue, until=lambda: time.monotonic() > until)
        return redirect(f"/dead-letters/{queue}", done="letters_sent" if sent else "no_letters")

    return router
