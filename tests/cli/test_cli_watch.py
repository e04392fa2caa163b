"""`sakuin push --watch`: what is pushed after a save, and what it says."""

import json
from collections.abc import Iterator

import pytest

from tests.builders import a_page
from tests.cli.conftest import Operator

TWO = {"rule-stays": "stays: one", "tip-goes": "goes: two"}


def watched(operator: Operator, monkeypatch: pytest.MonkeyPatch, *arguments: str, saves: Iterator[None]) -> list[str]:
    """The lines of `sakuin push --watch` on the folder `site`; each step of `saves` is a save."""
    monkeypatch.setattr("sakuin_cli.commands.authors.push.saved", lambda _folders: saves)
    run = operator.sakuin("push", operator.folder / "site", "--watch", *arguments)
    assert run.code == 0, run
    return run.out.splitlines()


def test_what_was_saved_is_pushed_and_nothing_else(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    operator.file("site/x.html", a_page(TWO))
    operator.file("site/same.html", a_page({"rule-same": "same: one"}))

    def saves() -> Iterator[None]:
        operator.file("site/x.html", a_page({"rule-stays": "stays: another", "def-new": "new: three"}))
        operator.file("site/same.html", a_page({"rule-same": "same: one"}))
        operator.file("site/new.html", b"<h1 id=t>Tea</h1><p>Hot</p><h2 id=c>Cups</h2><p>Cups</p>")
        yield
        yield
        operator.file("site/broken.html", b"")
        (operator.folder / "site/same.html").unlink()
        yield

    lines = watched(operator, monkeypatch, saves=saves())
    after = lines[lines.index(f"watching {operator.folder}/site; Ctrl-C ends it") + 1 :]
    assert [line.partition(": ")[0].rpartition(", in ")[0] or line.partition(": ")[0] for line in after] == [
        *("! new", "  x", "2 of 2 pages searchable, 3 sections"),
        f"✗ {operator.folder}/site/broken.html  The file is empty. Upload the built page again.",
        "! In the library, and not in your folders",
        "0 of 1 pages searchable, 0 sections",
    ]
    assert operator.sakuin("read", "x#def-new", "--details", "--json").document["chunk"]["title"] == "new"


def test_what_is_deleted_here_goes_when_asked_and_each_push_is_a_line_of_json(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator.deployment.put("theirs/z.html", a_page(TWO, title="theirs"))
    operator.file("site/x.html", a_page(TWO))
    operator.file("site/y.html", a_page({"rule-y": "y: one"}))

    def saves() -> Iterator[None]:
        operator.file("site/y.html", a_page({"rule-y": "y: two"}))
        operator.deployment.failures.append(503)
        yield
        (operator.folder / "site/x.html").unlink()
        yield
        (operator.folder / "site/y.html").unlink()
        yield

    push, failure, *changes = map(json.loads, watched(operator, monkeypatch, "--delete", "--json", saves=saves()))
    assert (push["pushed"], list(failure)) == (2, ["error"])
    pages = [([page["material"] for page in change["pages"]], change["deleted"]) for change in changes]
    assert pages == [(["y"], ["x.html"]), ([], ["y.html"])]
    assert operator.deployment.keys() == ["theirs/z.html"]


def test_a_whole_library_is_exactly_the_folder(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("_sakuin/canary.html", "old/x.html", "top.html"):
        operator.deployment.put(key, a_page(TWO, title=key))
    operator.deployment.put("learns.yml", b"old/x: {rule-stays: [x]}")
    operator.file("site/new/z.md", b"# New")

    def saves() -> Iterator[None]:
        assert operator.deployment.keys() == ["_sakuin/canary.html", "new/z.html"]
        (operator.folder / "site/new/z.md").unlink()
        yield

    watched(operator, monkeypatch, "--whole", "--replace", "--yes", saves=saves())
    assert operator.deployment.keys() == ["_sakuin/canary.html"]
    watched(operator, monkeypatch, "--whole", "--replace", "--yes", saves=iter(()))


def test_a_learns_file_may_lose_what_this_site_wrote_and_nothing_else(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator.deployment.put("learns.yml", b"other: {rule-o: [x]}")
    operator.file("site/x.html", a_page(TWO))

    def saves() -> Iterator[None]:
        operator.file("site/learns.yml", b"x: {rule-stays: [y]}")
        yield
        operator.file("site/learns.yml", b"x: {rule-stays: [y]}\nother: {rule-o: [x]}")
        yield
        operator.file("site/learns.yml", b"x: {rule-stays: [z]}")
        yield
        operator.deployment.put("learns.yml", b"third: {rule-t: [x]}")
        operator.file("site/learns.yml", b"x: {rule-stays: [w]}")
        yield

    lines = watched(operator, monkeypatch, "--json", saves=saves())
    outcomes = [json.loads(line)["learns_files"][0]["outcome"] for line in lines[1:]]
    assert outcomes == ["not_uploaded", "applied", "applied", "not_uploaded"]


def test_a_saved_page_that_loses_many_explanations_stays_here(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = {f"rule-{number}": f"rule {number}: words" for number in range(9)}
    operator.file("site/x.html", a_page(many))

    def saves() -> Iterator[None]:
        operator.file("site/x.html", a_page(TWO))
        yield
        operator.file("site/x.html", a_page(many | TWO))
        yield

    refused, pushed = map(json.loads, watched(operator, monkeypatch, "--json", saves=saves())[1:])
    assert (refused["pushed"], pushed["pushed"]) == (0, 1)
    assert refused["failed"][0]["reason"].startswith("x would lose 9 of its 9 sections: #rule-0, ")
