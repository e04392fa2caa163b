"""What every page of the console shares: who asks, and the rendering of a template."""

import hashlib
import re
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool

from sakuin.console.forms import CONTENT_SECURITY_POLICY, ROOT, check_token, form_fields, own_path, redirect, set_cookie
from sakuin.console.sessions import SESSION_SECONDS, Session, Sessions
from sakuin.errors import Conflict, Invalid, NotFound, SakuinError, Unauthorized
from sakuin.http.access import ProjectServices, RestServices
from sakuin.knowledge.library import Library
from sakuin.knowledge.postgres_search import ReadKnowledge
from sakuin.platform.http_errors import CODES, HttpError, http_error
from sakuin.platform.supabase.auth import SupabaseAuth
from sakuin.retrieval.filters import filter_in
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.model import User
from sakuin.texts.catalogue import LANGUAGES, Texts, chosen_language, coded, texts_in

SESSION_COOKIE = "sakuin_console"
LANGUAGE_COOKIE = "sakuin_language"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the menu: the path below `/console`, its icon, the keys of its text and group, and who alone sees it.

    A phone shows the first four of a reader beside a sheet with the others.
    """

    path: str
    icon: str
    text: str
    group: str = ""
    admins_only: bool = False
    users_only: bool = False


ENTRIES = (
    Entry("/", "overview", "overview.title"),
    Entry("/playground", "ask", "playground.title"),
    Entry("/gaps", "gaps", "gaps.title"),
    Entry("/pages", "pages", "pages.title", "menu.content", admins_only=True),
    Entry("/projects", "projects", "projects.title", "menu.content"),
    Entry("/findings", "findings", "findings.title", "menu.content", admins_only=True),
    Entry("/connect", "connect", "connect.title", "menu.access", admins_only=True),
    Entry("/agents", "agents", "consent.title", "menu.access", users_only=True),
    Entry("/keys", "keys", "keys.title", "menu.access", admins_only=True),
)


class SentBefore(Conflict):
    """A form that makes a key was sent again: the browser is sent to the page above it."""


@cache
def _environment() -> Environment:
    """Returns the templates; each is compiled once in a process."""
    return Environment(
        loader=PackageLoader("sakuin.console"),
        auto_reload=False,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@dataclass(frozen=True, slots=True)
class Visit:
    """A request of somebody who is signed in. `fields` are those of a form; `problem` is what is wrong with them."""

    shell: "Shell"
    request: Request
    session: Session
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)
    problem: SakuinError | None = None

    @property
    def user(self) -> User | None:
        """The caller of the services of projects: None for an admin."""
        return self.session.user

    @property
    def projects(self) -> ProjectServices:
        """The use cases of projects."""
        return self.shell.rest.projects

    @property
    def records(self) -> ProjectRecords:
        """The records of projects."""
        return self.projects.records

    @property
    def library(self) -> Library:
        """The pages of the library."""
        return self.shell.rest.library

    @property
    def origin(self) -> str:
        """The address that agents use: that of the deployment, or of the host that served this page."""
        return self.shell.api_url or f"{self.request.url.scheme}://{self.request.url.netloc}"

    def text(self, name: str) -> str:
        """Returns a field without the spaces around it; empty if it was not sent."""
        return self.fields.get(name, "").strip()

    def filter(self) -> dict[str, str]:
        """Returns the field `filter`: FIELD=VALUE, with commas or in lines. Raises `Invalid`."""
        try:
            return filter_in(re.split(r"[,\n]", self.text("filter")))
        except Invalid as error:
            raise Invalid(coded("form.filter")) from error

    def with_problem(self, problem: SakuinError) -> "Visit":
        """Returns the same visit with a problem, to show its form again."""
        return replace(self, problem=problem)

    def page(self, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """Returns a page for this person, with the problem of the form, and the fields as `sent`."""
        if self.problem is not None:
            status = http_error(self.problem, self.request.headers).status
        shown = {"problem": self.problem and str(self.problem), "sent": self.fields, **values}
        return self.shell.page(self.request, template, self.session, status=status, **shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """What the pages use. `rest` has the use cases that REST has, too; `read` reads pages, `auth` signs users in.

    `counts` returns the numbers in the menu of an admin, by the path of the entry. `most_bytes` is the size of the
    database's disk; 0: the disk is not watched. `usd_per_million` are the prices of the tokens of embeddings and of
    learns; the price of a model may be unknown.
    """

    rest: RestServices
    sessions: Sessions
    auth: SupabaseAuth
    read: ReadKnowledge
    # Empty: agents use the host that serves the pages.
    api_url: str = ""
    counts: Callable[[], Mapping[str, int]] = dict
    most_bytes: int = 0
    usd_per_million: tuple[float | None, float | None] = (None, None)

    def page(
        self, request: Request, template: str, session: Session | None = None, *, status: int = 200, **values: Any
    ) -> HTMLResponse:
        """Returns the page of a template, which extends `base.html`.

        Beside `values`, of which `frames` is an origin whose pages it shows, templates know: `t`, the sentence of a
        key; `language`; `session` and `csrf`; `entries` of the menu; `once`, the id of a form; `path` and `query` of
        the request, below the console; `done`, the sentence after a form; `link`, the address of a path below the
        console; `static`, the address of a file.
        """
        texts = language_of(request)
        html = (
            _environment()
            .get_template(template)
            .render(
                values,
                t=texts,
                language=texts.language,
                languages=LANGUAGES,
                session=session,
                csrf=session.csrf if session else "",
                entries=_entries(session),
                counts_of=self._counts(session),
                once=secrets.token_urlsafe(16),
                path=request.url.path.removeprefix(ROOT) or "/",
                query=request.url.query,
                done=_done(request, texts),
                link=_link,
                static=_static,
                version=self.rest.version,
            )
        )
        policy = CONTENT_SECURITY_POLICY + (f"; frame-src {values['frames']}" if values.get("frames") else "")
        return HTMLResponse(html, status, {"Content-Security-Policy": policy})

    def _counts(self, session: Session | None) -> Mapping[str, int]:
        # A page is worth more than the numbers of its menu.
        with suppress(SakuinError):
            return self.counts() if session is not None and session.is_admin else {}
        return {}

    def error_page(self, request: Request, error: HttpError, request_id: str = "") -> HTMLResponse:
        """Returns the page of an error: a heading for its code, and the sentence that says what to do."""
        texts, key = language_of(request), f"error.{error.code or CODES.get(error.status, '')}"
        said = texts.said(error.detail)
        values = {
            "heading": texts(key if key in texts else "error.internal"),
            "sentence": said or error.detail,
            "request_id": request_id,
            "is_translated": bool(said),
        }
        session = getattr(request.state, "session", None)
        return self.page(request, "error.html", session, status=error.status, **values)

    def begin(self, request: Request, session: Session, target: str) -> Response:
        """Returns the redirect of somebody who has signed in, with the cookie of the session."""
        answer = redirect(own_path(target))
        set_cookie(request, answer, SESSION_COOKIE, session.id, SESSION_SECONDS)
        return answer


def language_of(request: Request) -> Texts:
    """Returns the sentences in the language of the reader."""
    return texts_in(chosen_language(request.cookies.get(LANGUAGE_COOKIE), request.headers.get("accept-language", "")))


async def shell_of(request: Request) -> Shell:
    """Returns what the pages of the application use."""
    shell: Shell = request.app.state.shell
    return shell


CurrentShell = Annotated[Shell, Depends(shell_of)]


def signed_in(request: Request, shell: CurrentShell) -> Visit:
    """Returns the visit with its session; `Unauthorized` without one."""
    session_id = request.cookies.get(SESSION_COOKIE)
    session = shell.sessions.find(session_id) if session_id else None
    if session is None:
        raise Unauthorized("Sign in first")
    # The page of an error has the menu of the person who asked.
    request.state.session = session
    return Visit(shell, request, session)


def _admin(visit: Visit) -> Visit:
    if not visit.session.is_admin:
        raise NotFound(coded("form.no_page"))
    return visit


async def admin(request: Request, shell: CurrentShell) -> Visit:
    """Returns the visit of an admin; `NotFound` for a user."""
    return _admin(await run_in_threadpool(signed_in, request, shell))


async def form(request: Request, shell: CurrentShell) -> Visit:
    """Returns the visit with the fields of a form; `Forbidden` if it does not come from a page of this session."""
    fields = await form_fields(request)
    visit = await run_in_threadpool(signed_in, request, shell)
    check_token(fields, visit.session)
    return replace(visit, fields=fields)


async def form_once(visit: Annotated[Visit, Depends(form)]) -> Visit:
    """Returns the visit with a form with `once_field`; `SentBefore` if it was sent before, as by a reload."""
    sessions, once = visit.shell.sessions, visit.text("once")
    if once and not await run_in_threadpool(sessions.use_form, visit.session, once):
        raise SentBefore("This form was sent before")
    return visit


async def admin_form(visit: Annotated[Visit, Depends(form)]) -> Visit:
    """Returns the visit with an admin's form; `NotFound` for a user."""
    return _admin(visit)


async def admin_form_once(visit: Annotated[Visit, Depends(form_once)]) -> Visit:
    """Returns the visit with an admin's form that may be sent once."""
    return _admin(visit)


Reader = Annotated[Visit, Depends(signed_in)]
AdminReader = Annotated[Visit, Depends(admin)]
Form = Annotated[Visit, Depends(form)]
FormOnce = Annotated[Visit, Depends(form_once)]
AdminForm = Annotated[Visit, Depends(admin_form)]
AdminFormOnce = Annotated[Visit, Depends(admin_form_once)]


def _entries(session: Session | None) -> list[Entry]:
    if session is None:
        return []
    return [entry for entry in ENTRIES if not (entry.users_only if session.is_admin else entry.admins_only)]


def _link(path: str) -> str:
    return f"{ROOT}{path}"


@cache
def _static(name: str) -> str:
    """Returns the address of a file, with a part that changes when the file does."""
    content = files("sakuin.console").joinpath("static", name).read_bytes()
    return f"{ROOT}/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"


def _done(request: Request, texts: Texts) -> str:
    key = f"done.{request.query_params.get('done', '')}"
    return texts(key) if key in texts else ""
