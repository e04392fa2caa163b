"""The console's pages of the library: what they show of a page, and what an author changes there."""

import re
from html import escape

import pytest
from sakuin.knowledge.learns.authored import parse_learns

from tests.builders import a_page
from tests.console.console_client import ConsoleClient
from tests.worlds import PAGE_BOXES, PAGE_KEY, World, Worlds

MATERIAL = PAGE_KEY.removesuffix(".html")
PAGE = f"/pages/page?material={MATERIAL}"
LEARNS = "# ours\nother:\n  rule-x: [ほかのページの計算]\n"
USER = "00000000-0000-4000-8000-0000000000aa"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def world(a_world: Worlds) -> World:
    """A library with a good page, one with findings, and one that cannot be read."""
    world = a_world()
    world.put("junior/learns.yml", LEARNS.encode())
    world.put(PAGE_KEY, a_page(PAGE_BOXES))
    world.put(
        "code.html", b"<!doctype html><h1>a</h1><div id=rule-a>A rule<pre>if x:\n    y()</pre></div><p id=rule-a>b"
    )
    world.put("bad.html", b"%PDF-1.7")
    return world


def console_of(world: World, language: str = "en") -> ConsoleClient:
    return ConsoleClient(world, language=language)


@pytest.fixture
def console(world: World) -> ConsoleClient:
    return console_of(world).sign_in_admin()


def texts_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_only_admins_see_and_change_pages(world: World) -> None:
    user = console_of(world).sign_in_user(USER)
    csrf = re.search(r'name="csrf" value="([^"]*)"', user.get("/").text)
    assert csrf
    for path in ("/pages", PAGE, "/findings"):
        assert user.get(path).status_code == 404
    for action in ("upload", "again", "remove", "learns"):
        assert user.post(f"/pages/{action}", {"csrf": csrf[1], "material": MATERIAL}).status_code == 404
        # Without the token of a page nothing is done either.
        assert console_of(world).sign_in_admin().post(f"/pages/{action}", {"material": MATERIAL}).status_code == 403
    assert world.bucket.current_version(PAGE_KEY)


def test_pages_are_listed_with_their_state_and_filtered(console: ConsoleClient) -> None:
    listed = texts_of(console.get("/pages").text)
    assert re.search(r"bad failed 0 1 – The file is a PDF, not an HTML page\..*code ready 2 2 .*junior/", listed)
    for rule in ("duplicate-id", "learns-none"):
        assert f'href="/console/findings?rule={rule}"' in console.get("/pages/page?material=code").text
    assert "bad" not in texts_of(console.get("/pages?prefix=junior/").text)
    assert MATERIAL not in console.get("/pages?status=failed").text
    assert console.get("/pages/page?material=unknown").status_code == 404


def test_a_page_shows_its_explanations_as_agents_get_them(console: ConsoleClient, world: World) -> None:
    html = console.get(PAGE).text
    for anchor, text in PAGE_BOXES.items():
        assert f'href="{escape(world.read.url(MATERIAL, anchor))}"' in html or anchor in html
        assert text.partition(": ")[2] in html
    code = console.get("/pages/page?material=code").text
    assert re.search(r"<pre [^>]*><code>if x:\n    y\(\)</code></pre>", code)
    assert "words searched, 0 only read, " in code
    # The finding stands with its explanation.
    assert re.search(r'id="rule-a">.*Id that is used twice</a>: .*2 elements have the id &#39;rule-a&#39;', code, re.S)


def test_the_original_is_framed_only_where_it_is_public(a_world: Worlds) -> None:
    world = a_world()
    world.put(PAGE_KEY, a_page(PAGE_BOXES))
    for base_url, policy in (("https://school.example/a", "frame-src https://school.example"), ("/a", "")):
        world.base_url = base_url
        answer = console_of(world).sign_in_admin().get(PAGE)
        assert ("<iframe" in answer.text) == bool(policy)
        assert answer.headers["content-security-policy"].endswith(policy or "frame-ancestors 'none'")


def test_a_long_page_is_shown_in_parts(console: ConsoleClient, world: World) -> None:
    boxes = "".join(f"<div id=rule-{n:02}><h3>Rule {n}</h3>{'text ' * 100}</div>" for n in range(60))
    world.put("long.html", f"<!doctype html><h1>a</h1>{boxes}".encode())
    seen: list[str] = []
    path = "/pages/page?material=long"
    while path:
        page = console.get(path)
        assert len(page.content) < 45_000
        seen += re.findall(r'id="(rule-\d\d)"', page.text)
        following = re.search(r'rel="next" href="/console([^"]*)"', page.text)
        path = following[1].replace("&amp;", "&") if following else ""
    assert seen == [f"rule-{n:02}" for n in range(60)]


def test_findings_are_grouped_by_rule_with_what_they_cost(console: ConsoleClient, world: World) -> None:
    page = texts_of(console.get("/findings").text)
    assert "Id that is used twice error 1 1 All but the first element cannot be opened" in page
    assert "Page that cannot be read error 1 1 Readers find the last readable version" in page
    assert "2 elements" not in page
    rule = console.get("/findings?rule=duplicate-id").text
    assert "2 elements have the id" in rule
    assert 'href="/console/pages/page?material=code#rule-a"' in rule
    assert "There are no findings" in console.get("/findings?prefix=junior/").text
    # A page that is corrected has none; a page that is removed neither.
    world.put("code.html", a_page({"rule-a": "A rule: of code."}))
    world.bucket.remove("bad.html")
    world.settle()
    assert "There are no findings" in console.get("/findings").text


def test_a_page_that_lost_much_is_named_with_the_version_before(console: ConsoleClient, world: World) -> None:
    whole = {f"rule-{n}": f"Rule {n}: text." for n in range(9)}
    good = world.put("lost.html", a_page(whole))
    assert "took" not in texts_of(console.get("/").text)
    world.put("lost.html", a_page({"rule-1": "Rule 1: text."}))
    page = texts_of(console.get("/pages/page?material=lost").text)
    assert "took 8 of the 9 explanations of the page" in page
    assert f"versionId={good}" in page
    # The first page leads to it.
    first = console.get("/").text
    assert "An upload took much of 1 page." in texts_of(first)
    assert "its page has the command that restores the version before. lost Show" in texts_of(first)
    assert '<a href="/console/pages/page?material=lost">lost</a></small>' in first
    assert "1ページの多くがなくなりました。" in texts_of(console_of(world, "ja").sign_in_admin().get("/").text)
    world.put("lost.html", a_page(whole))
    assert "took" not in texts_of(console.get("/").text)


def test_japanese_pages_are_japanese(world: World) -> None:
    console = console_of(world, "ja").sign_in_admin()
    for path in ("/pages", "/pages/page?material=bad", "/pages/page?material=code", "/findings?rule=duplicate-id", "/"):
        html = console.get(path).text
        assert 'lang="en"' not in html.replace('<a lang="en" hreflang="en"', ""), path
        assert not re.search(r"The file is|elements have", html), path
    refused = console.send(PAGE, "/pages/learns", {"action": "write"}).text
    assert "変更されたリストがありません" in refused
    assert "No list was changed" not in refused


def test_a_changed_list_is_written_into_learns_yml_and_the_rest_stays(console: ConsoleClient, world: World) -> None:
    changed = {"learns-ex-1": "噴水の高さの計算\n 頂点を読む方法 \n\n", "learns-unknown": "x"}
    done = console.send(PAGE, "/pages/learns", {**changed, "action": "write"})
    assert "learns.yml is written" in done.text
    text = world.bucket.read("junior/learns.yml", max_bytes=10**6).body
    assert text.decode().startswith(LEARNS)
    assert parse_learns(text).for_material(MATERIAL) == {"ex-1": ("噴水の高さの計算", "頂点を読む方法")}
    world.settle()
    page = console.get(PAGE).text
    assert "(from learns.yml)" in page
    assert "Too few or too many learns" in page
    # An empty list gives the explanation back to the writer.
    console.send(PAGE, "/pages/learns", {"learns-ex-1": "", "action": "write"})
    assert world.bucket.read("junior/learns.yml", max_bytes=10**6).body.decode() == LEARNS


def test_learns_yml_is_downloaded_and_nothing_changes(console: ConsoleClient, world: World) -> None:
    fields = {"learns-ex-1": "高さの計算", "action": "download"}
    answer = console.send(PAGE, "/pages/learns", fields)
    assert answer.headers["content-disposition"] == 'attachment; filename="learns.yml"'
    assert parse_learns(answer.content).for_material(MATERIAL) == {"ex-1": ("高さの計算",)}
    assert world.bucket.read("junior/learns.yml", max_bytes=10**6).body.decode() == LEARNS


@pytest.mark.parametrize("file", [b"- no mapping", b"{other: {rule-x: [a]}}\n", b"a: [*x]"])
def test_a_file_that_cannot_be_changed_keeps_what_was_typed(console: ConsoleClient, world: World, file: bytes) -> None:
    world.put("junior/learns.yml", file)
    answer = console.send(PAGE, "/pages/learns", {"learns-ex-1": f"高さの計算{HOSTILE}", "action": "write"})
    assert f"高さの計算{escape(HOSTILE)}" in answer.text or "is written" in answer.text
    assert world.bucket.read("junior/learns.yml", max_bytes=10**6).body.startswith(file)


def test_a_page_is_uploaded_replaced_indexed_again_and_removed(console: ConsoleClient, world: World) -> None:
    def upload(name: str, body: bytes, **fields: str) -> str:
        csrf = re.search(r'name="csrf" value="([^"]*)"', console.get("/pages").text)
        assert csrf
        files = {"document": (name, body, "text/html")}
        return console.http.post("/console/pages/upload", data={"csrf": csrf[1], **fields}, files=files).text

    assert "uploaded" in upload("新しい.html", a_page({"rule-a": "新しい規則: 本文。"}), folder="junior")
    world.settle()
    assert "新しい規則" in console.get("/pages/page?material=junior/新しい").text
    upload("any name.html", a_page({"rule-b": "別の規則: 本文。"}), material="junior/新しい")
    world.settle()
    assert "別の規則" in console.get("/pages/page?material=junior/新しい").text
    for name, folder, problem in (
        ("a.exe", "", "neither a page"),
        ("a.html", "../b", "is no key"),
        ("a.html", "_sakuin", "opens"),
        ("", "", "Choose a file"),
    ):
        assert problem in upload(name, b"<p id=rule-a>x", folder=folder)
    page = "/pages/page?material=junior/新しい"
    assert "being indexed again" in console.send(page, "/pages/again").text
    assert "removed" in console.send(page, "/pages/remove").text
    world.settle()
    assert console.get(page).status_code == 404
