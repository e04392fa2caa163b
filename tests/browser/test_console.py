"""The console in a real browser.

Each flow also fails on what `tab.mjs` notes: errors, violations of the policy, requests that fail or go elsewhere, what
axe finds, and pages that are wider than a phone.
"""

import json
from collections.abc import Iterator

import pytest
from sakuin.platform.keys import is_key

from tests.browser.driving import Browser
from tests.browser.sample_console import LOOKS, Look, SampleConsole, sample_console
from tests.browser.sample_users import EMAIL, PASSWORD
from tests.effort import EFFORT
from tests.events import KEY
from tests.worlds import Worlds, world_of

MATERIAL = "junior/二次方程式の解き方_教材"
QUESTION = "二次方程式を公式で解きたい"
NO_QUESTION = "量子もつれとブラックホールの情報パラドックス"


@pytest.fixture(scope="module")
def console(a_world: Worlds, stand_in: str) -> Iterator[SampleConsole]:
    world = a_world()
    with sample_console(world, world_of(world.database, stand_in), is_hostile=True) as console:
        yield console


# ---------------------------------------------------------------- signing in


def test_a_link_signs_in_once(browser: Browser, console: SampleConsole) -> None:
    browser.run("signInByLink", origin=console.origin, link=console.link)


def test_a_key_signs_in_leads_to_the_wanted_page_and_is_not_stored(browser: Browser, console: SampleConsole) -> None:
    browser.run("signInByKey", origin=console.origin, key=KEY, wanted="/console/pages?status=failed")


def test_an_ended_session_leads_back_to_its_page(browser: Browser, console: SampleConsole) -> None:
    session = console.session
    console.world.sql.execute("update console_session set expires_at = now()")
    browser.run("sessionEnds", origin=console.origin, session=session, key=KEY, wanted="/console/pages")


def test_a_user_signs_in_allows_an_agent_and_revokes_it(browser: Browser, console: SampleConsole) -> None:
    back = f"{console.origin}/school/css/site.css"
    asked = console.users.agent_asks(back)
    browser.run("allowAgent", origin=console.origin, asked=asked, email=EMAIL, password=PASSWORD, back=back)


def test_the_language_can_be_switched(browser: Browser, console: SampleConsole) -> None:
    browser.run("switchLanguage", origin=console.origin, session=console.session)


def test_the_keyboard_is_enough_to_sign_in(browser: Browser, console: SampleConsole) -> None:
    browser.run("signInWithKeyboard", origin=console.origin, key=KEY)


def test_no_scripts_are_needed(browser: Browser, console: SampleConsole) -> None:
    given = {"origin": console.origin, "link": console.link, "question": QUESTION, "title": "解の公式"}
    browser.run("workWithoutScripts", **given)


# ---------------------------------------------------------------- pages


@pytest.mark.parametrize("look", LOOKS if EFFORT > 1 else LOOKS[:1], ids=str)
def test_every_page_is_free_of_faults(browser: Browser, console: SampleConsole, look: Look) -> None:
    more = {"answer": f"/console/playground?q={QUESTION}", "refusal": f"/console/playground?q={NO_QUESTION}"}
    more["page"] = f"/console/pages/page?material={MATERIAL}"
    more["missed"] = f"{more['answer']}&expected={MATERIAL}%23ex-1"
    more["rule"] = "/console/findings?rule=box-without-id"
    visited, faults = console.visit_every_page(browser, console.session, look, **more)
    assert faults == []
    # Nobody who is signed in needs a link to it; a user has agents, and Supabase Auth leads to the consent.
    assert {*visited, "sign-in", "agents", "consent"} == {*console.routes, *more}


@pytest.mark.parametrize("look", LOOKS if EFFORT > 1 else LOOKS[-1:], ids=str)
def test_every_page_of_a_user_is_free_of_faults(browser: Browser, console: SampleConsole, look: Look) -> None:
    asked = console.users.agent_asks(f"{console.origin}/")
    visited, faults = console.visit_every_page(browser, console.session_of_user, look, consent=asked)
    assert faults == []
    assert {"overview", "projects", "playground", "agents", "consent"} <= set(visited)
    assert not {"keys", "pages", "findings"} & set(visited)


def test_a_question_is_answered_and_explained(browser: Browser, console: SampleConsole) -> None:
    given = {"origin": console.origin, "session": console.session, "question": QUESTION, "title": "解の公式"}
    browser.run("askInPlayground", **given, expected=f"{MATERIAL}#rule-quadratic-formula")


def test_a_refused_question_is_told_so(browser: Browser, console: SampleConsole) -> None:
    browser.run("askForNothing", origin=console.origin, session=console.session, question=NO_QUESTION)


def test_a_project_grows_from_a_document_to_the_key_of_an_agent(browser: Browser, console: SampleConsole) -> None:
    document = json.dumps({"articles": [{"text": "解の公式を使う。" * 50}]})
    given = {"origin": console.origin, "session": console.session_of_user, "document": document}
    assert is_key(browser.run("fromDocumentToKey", **given))


def test_a_key_for_agents_is_made_once_and_revoked(browser: Browser, console: SampleConsole) -> None:
    assert is_key(browser.run("makeKey", origin=console.origin, session=console.session, key=KEY))


def test_an_agent_is_connected_with_a_line_and_its_first_question_is_awaited(
    browser: Browser, console: SampleConsole
) -> None:
    assert is_key(browser.run("connectAgent", origin=console.origin, session=console.session, key=KEY))


def test_what_cannot_be_undone_is_asked_first(browser: Browser, console: SampleConsole) -> None:
    project = console.content.project
    (table,) = console.world.projects.tables(None, project)
    path = f"/console/projects/{project}/tables/{table.id}"
    browser.run("keepsWhatIsNotConfirmed", origin=console.origin, session=console.session, table=path)
    assert console.world.projects.tables(None, project) == [table]


def test_what_a_table_has_is_shown_tried_and_set(browser: Browser, console: SampleConsole) -> None:
    project = console.content.project
    (table,) = console.world.projects.tables(None, project)
    path = f"/console/projects/{project}/tables/{table.id}"
    given = {"question": "分数の割り算", "place": "/articles/0"}
    browser.run("setEntries", origin=console.origin, session=console.session, table=path, **given)
    (changed,) = console.world.projects.tables(None, project)
    assert changed.entries is not None
    assert (changed.entries.pattern, "level" in changed.entries.filter) == ("/articles/*", True)
