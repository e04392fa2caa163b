"""Forms of the console: their fields, where one came from, and the redirects, cookies and headers of answers."""

import hmac
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from sakuin.console.sessions import Session
from sakuin.errors import Forbidden, Invalid
from sakuin.texts.catalogue import coded


async def form_fields(request: Request) -> dict[str, str]:
    """Returns the fields of a form, of each name the last; of a file its text and, as `field.name`, its name.

    Raises `Forbidden` if a page of another site sent it, and `Invalid` for a file that is not UTF-8.
    """
    if not is_from_here(request):
        raise Forbidden(coded("form.other_site"))
    try:
        async with request.form() as sent:
            parts = sent.multi_items()
            fields = {name: part if isinstance(part, str) else (await part.read()).decode() for name, part in parts}
            return fields | {f"{name}.name": part.filename or "" for name, part in parts if not isinstance(part, str)}
    except (ValueError, HTTPException) as error:
        if isinstance(error, HTTPException) and error.status_code == 413:
            raise
        raise Invalid(coded("form.unreadable")) from error


def check_token(fields: Mapping[str, str], session: Session) -> None:
    """Raises `Forbidden` for a form that does not carry the token of this session."""
    if not hmac.compare_digest(fields.get("csrf", "").encode(), session.csrf.encode()):
        raise Forbidden(coded("form.too_old"))


def is_from_here(request: Request) -> bool:
    """Returns whether the browser says that a page of this origin sent the request. Every browser says one of both."""
    if (site := request.headers.get("sec-fetch-site")) is not None:
        return site == "same-origin"
    return urlsplit(request.headers.get("origin", "")).netloc == request.headers.get("host")


ROOT = "/console"
# Everything comes from our own origin, and nothing is inline. Browsers apply `form-action` also to the redirect that
# answers a form: a page that leads elsewhere after a form has a link.
CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect")),
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)


def redirect(target: str, done: str = "") -> RedirectResponse:
    """Returns the answer to a form: a GET of the target, a path below the console.

    `done` is the key of a sentence below `done.`, which the page then shows.
    """
    mark = "&" if "?" in target else "?"
    return RedirectResponse(f"{ROOT}{target}{mark}done={quote(done)}" if done else f"{ROOT}{target}", 303)


def page_above(request: Request) -> str:
    """Returns the path of the page above the address of a form."""
    return request.url.path.removeprefix(ROOT).rpartition("/")[0]


def own_path(target: str) -> str:
    """Returns the target if it is a path below the console, else `/`: no redirect leaves this origin."""
    return target if target.startswith("/") and href(target) else "/"


def href(url: str) -> str | None:
    """Returns the link if a browser may open it: of http(s), or a path of this origin."""
    # Browsers read a backslash as a slash, and skip control characters.
    if not url.isprintable() or "\\" in url:
        return None
    if url.startswith("/"):
        return None if url.startswith("//") else url
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return url if parts.scheme in ("http", "https") and parts.netloc else None


def set_cookie(request: Request, answer: Response, name: str, value: str, seconds: int) -> None:
    """Sets a cookie of the console that no script can read, and that requests of other sites' pages do not carry."""
    # `sakuin up` has no TLS.
    secure = request.url.scheme == "https"
    answer.set_cookie(name, value, max_age=seconds, path=ROOT, secure=secure, httponly=True, samesite="lax")
