"""Forms of the console: their fields, and where one came from."""

import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from fastapi import Request
from starlette.formparsers import MultiPartException, MultiPartParser

from sakuin.console.sessions import Session
from sakuin.errors import Forbidden, Invalid
from sakuin.texts.catalogue import coded

_MOST_FIELDS = 1000


async def form_fields(request: Request) -> dict[str, str]:
    """Returns the fields of a form, of each name the last; `Forbidden` if a page of another site sent it."""
    if not is_from_here(request):
        raise Forbidden(coded("form.other_site"))
    try:
        if request.headers.get("content-type", "").startswith("multipart/form-data"):
            return await _parts(request)
        pairs = parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except (ValueError, MultiPartException) as error:
        raise Invalid(coded("form.unreadable")) from error
    return dict(pairs)


async def _parts(request: Request) -> dict[str, str]:
    """Returns the fields of a form, of a file its text and, as `field.name`, its name.

    Raises `ValueError` for a file that is not UTF-8.
    """
    sent = await MultiPartParser(request.headers, request.stream(), max_fields=_MOST_FIELDS).parse()
    try:
        parts = sent.multi_items()
        fields = {name: part if isinstance(part, str) else (await part.read()).decode() for name, part in parts}
        return fields | {f"{name}.name": part.filename or "" for name, part in parts if not isinstance(part, str)}
    finally:
        await sent.close()


def check_token(fields: Mapping[str, str], session: Session) -> None:
    """Raises `Forbidden` for a form that does not carry the token of this session."""
    if not hmac.compare_digest(fields.get("csrf", "").encode(), session.csrf.encode()):
        raise Forbidden(coded("form.too_old"))


def is_from_here(request: Request) -> bool:
    """Returns whether the browser says that a page of this origin sent the request. Every browser says one of both."""
    if (site := request.headers.get("sec-fetch-site")) is not None:
        return site == "same-origin"
    return urlsplit(request.headers.get("origin", "")).netloc == request.headers.get("host")
