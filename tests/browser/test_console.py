"""The console in a real browser.

Each flow also fails on what `tab.mjs` notes: errors, violations of the policy, requests that fail or go elsewhere, what
axe finds, and pages that are wider than a phone.
"""

import json
from collections.abc import Iterator

import pytest
from sakuin.platform.keys import is_key

from tests.browser.driving import Browser
from tests.browser.sample_console import SampleConsole, sample_console
from tests.events import KEY
from tests.world import Worlds


@pytest.fixture(scope="module")
def console(a_world: Worlds) -> Iterator[SampleConsole]:
    with sample_console(a_world()) as console:
        yield console


def test_a_link_signs_in_once(browser: Browser, console: SampleConsole) -> None:
    browser.run("signInByLink", origin=console.origin, link=console.link)


def test_a_key_signs_in_and_leads_to_the_wanted_page_and_is_stored_nowhere(
    browser: Browser, console: SampleConsole
) -> None:
    session = browser.run("signInByKey", origin=console.origin, key=KEY, wanted="/console/?a=1")
    assert session


def test_an_ended_session_leads_back_to_its_page(browser: Browser, console: SampleConsole) -> None:
    session = console.session
    console.world.sql.execute("update console_session set expires_at = now()")
    browser.run("sessionEnds", origin=console.origin, session=session, key=KEY, wanted="/console/")


def test_the_language_can_be_switched(browser: Browser, console: SampleConsole) -> None:
    browser.run("switchLanguage", origin=console.origin, session=console.session)


def test_the_keyboard_is_enough_to_sign_in(browser: Browser, console: SampleConsole) -> None:
    browser.run("signInWithKeyboard", origin=console.origin, key=KEY)


def test_no_scripts_are_needed_to_sign_in(browser: Browser, console: SampleConsole) -> None:
    browser.run("signInWithoutScripts", origin=console.origin, link=console.link, start="/console/")


def test_a_question_is_answered_and_explained(browser: Browser, console: SampleConsole) -> None:
    expected = "junior/二次方程式の解き方_教材#rule-quadratic-formula"
    question = "二次方程式を公式で解きたい"
    given = {"origin": console.origin, "session": console.session, "question": question, "title": "解の公式"}
    browser.run("askInPlayground", **given, expected=expected)


def test_a_project_grows_from_a_document_to_the_key_of_an_agent(browser: Browser, console: SampleConsole) -> None:
    document = json.dumps({"articles": [{"text": "解の公式を使う。" * 50}]})
    given = {"origin": console.origin, "session": console.session, "document": document}
    assert is_key(browser.run("fromDocumentToKey", **given))


def test_what_cannot_be_undone_is_asked_first(browser: Browser, console: SampleConsole) -> None:
    project = console.world.projects.projects(None)[0].id
    (table,) = console.world.projects.tables(None, project)
    path = f"/console/projects/{project}/tables/{table.id}"
    browser.run("keepsWhatIsNotConfirmed", origin=console.origin, session=console.session, table=path)
    assert console.world.projects.tables(None, project) == [table]


def test_every_page_is_free_of_faults(browser: Browser, console: SampleConsole) -> None:
    look = {"language": "en", "scheme": "light", "phone": False}
    visited = browser.run(
        "everyPage", **look, origin=console.origin, session=console.session, start="/console/", routes=console.routes
    )
    # Nobody who is signed in needs a link to it.
    assert {*visited, "sign-in"} == set(console.routes)
