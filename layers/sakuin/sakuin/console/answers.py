"""Redirects, cookies and headers of the console."""

from urllib.parse import quote, urlsplit

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

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
    # Browsers read a backslash as a slash, and skip control characters.
    is_path = target.startswith("/") and not target.startswith("//") and "\\" not in target and target.isprintable()
    return target if is_path and not urlsplit(target).netloc else "/"


def set_cookie(request: Request, answer: Response, name: str, value: str, seconds: int) -> None:
    """Sets a cookie of the console that no script can read, and that requests of other sites' pages do not carry."""
    # `sakuin up` has no TLS.
    secure = request.url.scheme == "https"
    answer.set_cookie(name, value, max_age=seconds, path=ROOT, secure=secure, httponly=True, samesite="lax")
