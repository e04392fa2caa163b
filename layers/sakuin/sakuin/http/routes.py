"""What the routes of projects share."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from sakuin.http.errors import may_fail


async def _raw(request: Request) -> bytes:
    return await request.body()


# The body as it was sent, for requests with a document.
Raw = Annotated[bytes, Depends(_raw)]


def member_routes(subject: str) -> APIRouter:
    """Returns an empty router for members and admins, with the errors that all of its routes may answer with."""
    return APIRouter(prefix="/v1", tags=[subject], responses=may_fail(401, 403, 422, 429, 503))
