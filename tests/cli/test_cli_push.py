"""`sakuin push`."""

import json
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from sakuin.errors import Unavailable
from sakuin_cli.client import DeploymentClient
from sakuin_cli.site.changes import Change, await_learns, push_files
from sakuin_cli.site.library import LibraryFiles
from sakuin_cli.site.uploads import Upload, folder_path, uploads_below, uploads_of
from sakuin_cli.terminal import Terminal
from sakuin_local.supabase.database import Database

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Operator
from tests.cli.deployment import ADMIN_KEY, deployed
from tests.functions import MATERIALS

LEARNS = ["公式を使う方法", "値を求める方法", "式を作る方法"]


def test_a_folders_pages_keep_their_paths_and_are_searchable_afterwards(operator: Operator) -> None:
    operator.file("site/junior/式.html")
    operator.file("site/css/site.css", b"p {}")
    operator.file("site/.git/x.html")
    pushed = operator.sakuin("push", operator.folder / "site", "--json")
    assert pushed.code == 0
    assert pushed.err == ""
    document = pushed.document
    assert document.pop("seconds") > 0
    assert document == {
        "pushed": 1,
        "failed": [],
        "pending": [],
        "skipped": 1,
        "pages": [
            {
                "path": f"{operator.folder}/site/junior/式.html",
                "key": "junior/式.html",
                "version_id": boto3.client("s3").head_object(Bucket=MATERIALS, Key="junior/式.html")["VersionId"],
                "outcome": "applied",
                "reason": None,
                "material": "junior/式",
                "explanations": 1,
                "headings_without_id": 0,
                "words": document["pages"][0]["words"],
            }
        ],
        "learns_files": [],
        "synonyms_files": [],
        "skipped_files": [{"path": f"{operator.folder}/site/css/site.css", "reason": "not HTML"}],
        "deleted": [],
        "warnings": [],
    }
    assert {**document["pages"][0]["words"], "searched": 0} == {
        "searched": 0,
        "only_read": 0,
        "lost": 0,
        "left_out": {},
    }
    chunk = operator.sakuin("read", "junior/式#rule-formula", "--details", "--json").document["chunk"]
    assert chunk["title"] == "解の公式"


def test_learns_files_go_up_before_the_pages_that_read_them(operator: Operator) -> None:
    operator.file("site/a.html")
    operator.file("site/z/learns.yml", f"b:\n  rule-formula: [{', '.join(LEARNS)}]\n".encode())
    operator.file("site/z/b.html")
    document = operator.sakuin("push", operator.folder / "site", "--json").document
    assert [file["key"] for file in document["learns_files"]] == ["z/learns.yml"]
    chunk = operator.sakuin("read", "z/b#rule-formula", "--details", "--json").document["chunk"]
    assert chunk["learns"] == LEARNS
    written = {file.key: file.version_id for file in pushed_from(operator.folder / "site")}
    assert written["z/learns.yml"] == "version-1"


@pytest.mark.parametrize(("prefix", "key"), [("", "x.html"), ("/junior/", "junior/x.html")])
def test_a_single_page_lands_in_the_folder_that_was_named(operator: Operator, prefix: str, key: str) -> None:
    page = operator.file("deep/in/x.html")
    document = operator.sakuin("push", page, "--prefix", prefix, "--json").document
    assert [(file["key"], file["outcome"]) for file in document["pages"]] == [(key, "applied")]


@pytest.mark.parametrize(
    ("arguments", "settings", "code", "sentence"),
    [
        (("x.html", "--prefix", "junior/../.."), {}, 1, "`..`"),
        (("notes",), {}, 1, "There is no page"),
        (("nowhere.html",), {}, 2, "does not exist"),
        (("notes/style.css",), {}, 2, "is not an .html file"),
        (("x.html", "--delete"), {}, 2, "It needs folders"),
        (("x.html",), {"SAKUIN_ADMIN_KEY": "wrong"}, 1, "sakuin: The admin key is not valid."),
    ],
)
def test_what_cannot_be_pushed_is_refused_before_anything_is_uploaded(
    operator: Operator, arguments: tuple[str, ...], settings: dict[str, str], code: int, sentence: str
) -> None:
    operator.file("x.html")
    operator.file("notes/style.css", b"")
    refused = operator.sakuin("push", *arguments, **settings)
    assert (refused.code, refused.out, operator.deployment.keys()) == (code, "", [])
    assert sentence in " ".join(refused.err.replace("│", " ").split())
    assert ADMIN_KEY not in refused.err


def test_the_library_s_own_prefix_comes_before_the_folder(database: Database, tmp_path: Path) -> None:
    with deployed(database, MATERIAL_PREFIX="site/") as deployment:
        deployment.empty()
        operator = Operator(tmp_path, deployment)
        page = operator.file("deep/in/x.html")
        pushed = operator.sakuin("push", page, "--prefix", "a//b", "--json")
    (file,) = pushed.document["pages"]
    assert (file["key"], file["material"], file["outcome"]) == ("site/a/b/x.html", "a/b/x", "applied")


def test_two_files_for_one_key_are_both_named_and_cost_no_other(operator: Operator) -> None:
    nfc, nfd = (unicodedata.normalize(form, "が.html") for form in ("NFC", "NFD"))
    operator.file(nfc)
    operator.file(nfd)
    operator.file("other.html")
    pushed = operator.sakuin("push", operator.folder, "--json")
    assert pushed.code == 1
    assert pushed.document["pushed"] == 1
    failed = {item["path"]: item["reason"] for item in pushed.document["failed"]}
    assert set(failed) == {f"{operator.folder}/{nfc}", f"{operator.folder}/{nfd}"}
    assert repr(f"{operator.folder}/{nfd}") in failed[f"{operator.folder}/{nfc}"]


def test_a_page_that_cannot_be_read_fails_alone(operator: Operator) -> None:
    operator.file("good.html")
    operator.file("empty.html", b"")
    pushed = operator.sakuin("push", operator.folder)
    assert pushed.code == 1
    assert "✗" in pushed.out
    assert "empty.html  The file is empty. Upload the built page again." in pushed.out
    before, _, after = pushed.out.partition("1 of 2 pages searchable")
    # It is repeated at the end, below what else there is to say.
    assert ("empty.html  The file is empty" in before, "empty.html  The file is empty" in after) == (True, True)


def test_a_page_whose_material_another_key_owns_waits(operator: Operator) -> None:
    operator.deployment.put(unicodedata.normalize("NFD", "が.html"), operator.file("x.html").read_bytes())
    operator.file("site/が.html")
    pushed = operator.sakuin("push", operator.folder / "site", "--json")
    assert pushed.code == 1
    assert pushed.document["pages"][0]["outcome"] == "waiting"
    assert "belongs to the key" in pushed.document["failed"][0]["reason"]


def test_a_page_that_is_not_searchable_in_time_is_listed(operator: Operator) -> None:
    operator.deployment.stuck = True
    operator.file("slow.html")
    pushed = operator.sakuin("push", operator.folder, "--timeout", "0")
    assert pushed.code == 1
    assert "… " in pushed.out
    assert "slow.html  not searchable after 0 s; see `sakuin status`" in pushed.out
    assert "0 of 1 pages searchable, 0 sections, 1 not finished yet" in pushed.out
    document = operator.sakuin("push", operator.folder, "--timeout", "0", "--json").document
    assert ([file["key"] for file in document["pending"]], document["failed"]) == (["slow.html"], [])


def test_a_bucket_that_cannot_be_written_to_is_one_sentence(operator: Operator) -> None:
    for name in "abc":
        operator.file(f"{name}.html")
    with pytest.raises(Unavailable, match=r"^S3 did not answer for a\.html$"):
        pushed_from(operator.folder, open_for=0)


def test_an_upload_that_fails_costs_no_other(operator: Operator) -> None:
    operator.file("a.html")
    operator.file("b.html")
    files = pushed_from(operator.folder, open_for=1)
    assert [(file.key, file.outcome, file.reason) for file in files] == [
        ("a.html", "applied", None),
        ("b.html", "not_uploaded", "S3 did not answer for b.html"),
    ]


def test_the_synonyms_of_the_site_and_of_a_folder_go_up_beside_the_pages(operator: Operator) -> None:
    operator.file("site/synonyms.yml", "- [速さの公式, みはじ]\n".encode())
    operator.file("site/junior/synonyms.yml", "- [速さの公式, はじき]\n".encode())
    operator.file("site/junior/式.html")
    document = operator.sakuin("push", operator.folder / "site", "--json").document
    assert [(one["key"], one["outcome"]) for one in document["synonyms_files"]] == [
        ("junior/synonyms.yml", "applied"),
        ("synonyms.yml", "applied"),
    ]
    assert (document["learns_files"], document["skipped"]) == ([], 0)


HEADINGS = b"<!doctype html><meta charset=utf-8><title>Momentum</title><h2>Impulse</h2><p>Force.</p><h2>Mass</h2><p>Kg."


def test_each_page_is_named_with_its_explanations_and_headings_without_an_id(operator: Operator) -> None:
    operator.file("site/cms/momentum.html", HEADINGS)
    operator.file("site/cms/nothing.html", b"<title>Nothing</title><p>")
    operator.file("site/x.html")
    operator.file("site/notes.txt", b"Notes")
    pushed = operator.sakuin("push", operator.folder / "site")
    assert pushed.code == 0
    assert (
        "! cms/momentum: 2 sections, 2 headings without a usable id, 4 words searched, 0 only read, 0 left out, "
        "0 lost\n" in pushed.out
    )
    assert "! cms/nothing: 0 sections, 0 words searched, " in pushed.out
    assert "  x: 1 section, " in pushed.out
    assert "notes.txt (not HTML)" in pushed.out
    assert "3 of 3 pages searchable, 3 sections, in" in pushed.out


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp932"])
@pytest.mark.parametrize(
    "head",
    ["<html><head><title>T</title></head>", "\n<!doctype html>\n<!-- <head> --><html lang=ja>", "<title>T</title>", ""],
)
def test_the_file_of_a_site_says_how_its_pages_are_indexed(operator: Operator, head: str, encoding: str) -> None:
    declared = "<meta charset=Shift_JIS>" if encoding == "cp932" else ""
    operator.file("site/x.html", f"{head}{declared}<h1 id=t>表</h1><p>y</p><p id=rule-a>z</p>".encode(encoding))
    for index, anchors in {"": ["t", "rule-a"], "ids": ["rule-a"], "headings": ["t"]}.items():
        operator.file("sakuin.toml", f'pages = "site"\nindex = "{index}"\n'.encode())
        planned = operator.sakuin("push", operator.folder / "site", "--dry-run", "--json").document
        assert [one["id"] for one in planned["pages"][0]["explanations"]] == [f"x#{anchor}" for anchor in anchors]


def test_the_learns_of_other_pages_are_not_dropped_without_being_asked(operator: Operator) -> None:
    operator.file("one/a.html")
    operator.file("one/learns.yml", f"a:\n  rule-formula: [{', '.join(LEARNS)}]\n".encode())
    assert operator.sakuin("push", operator.folder / "one").code == 0
    operator.file("two/b.html")
    operator.file("two/learns.yml", f"b:\n  rule-formula: [{', '.join(LEARNS)}]\n".encode())
    refused = operator.sakuin("push", operator.folder / "two", "--json")
    (failed,) = refused.document["failed"]
    assert (refused.code, refused.document["pushed"], failed["key"]) == (1, 1, "learns.yml")
    assert "a #rule-formula" in failed["reason"]
    assert operator.sakuin("read", "a#rule-formula", "--details", "--json").document["chunk"]["learns"] == LEARNS
    # Who pushes the page may take its entries away, and who says --replace may take all.
    operator.file("one/learns.yml", b"b:\n  rule-formula: [x]\n")
    assert operator.sakuin("push", operator.folder / "one").code == 0
    assert operator.sakuin("push", operator.folder / "two" / "learns.yml", "--replace").code == 0


def test_the_synonyms_of_others_are_not_dropped_without_being_asked(operator: Operator) -> None:
    operator.deployment.put("synonyms.yml", "- [速さの公式, みはじ]\n- [一次関数の傾き, グラフの坂]\n".encode())
    refused = operator.sakuin("push", operator.file("synonyms.yml", "- [速さの公式, みはじ, はじき]\n".encode()))
    assert (refused.code, "一次関数の傾き, グラフの坂" in refused.out, "みはじ" in refused.out) == (1, True, False)
    assert operator.sakuin("push", "synonyms.yml", "--replace").code == 0


def test_entries_of_learns_without_a_page_or_an_anchor_are_named(operator: Operator) -> None:
    operator.deployment.put("junior/old.html", a_page(FORMULA, title="old"))
    operator.file("site/x.html")
    keys = "x: {rule-formul: [x]}\nold: {rule-formula: [x]}\nno-page: {rule-x: [x]}\n"
    operator.file("site/learns.yml", keys.encode())
    warnings = operator.sakuin("push", operator.folder / "site", "--json").document["warnings"]
    assert warnings == [
        "learns.yml names #rule-formul, which x does not have. Is it rule-formula?",
        "learns.yml names no-page, but there is no such page in the library.",
    ]


def test_a_learns_file_that_cannot_be_read_stays_here(operator: Operator) -> None:
    operator.file("site/x.html")
    operator.file("site/learns.yml", b"x: [")
    pushed = operator.sakuin("push", operator.folder / "site")
    assert (pushed.code, operator.deployment.keys()) == (1, ["x.html"])
    assert "learns.yml  not uploaded: learns.yml, line" in pushed.out


def test_a_page_with_the_name_of_one_in_a_folder_is_a_warning(operator: Operator) -> None:
    page = operator.file("site/physics/newton.html")
    operator.sakuin("push", operator.folder / "site")
    pushed = operator.sakuin("push", page, "--json")
    assert pushed.code == 0
    assert pushed.document["warnings"] == [
        "newton has the name of physics/newton: to replace that page, push with --prefix physics"
    ]


def test_a_dry_run_shows_what_a_push_would_do_and_does_nothing(operator: Operator) -> None:
    operator.file("site/a/same.html")
    operator.file("site/a/edited.html")
    operator.file("site/a/gone.html", a_page({"rule-x": "x: y"}))
    operator.sakuin("push", operator.folder / "site")
    before = operator.deployment.keys()
    operator.file("site/a/edited.html", a_page({"tip-new": "新: 語"}))
    operator.file("site/a/new.html", HEADINGS)
    (operator.folder / "site/a/gone.html").unlink()
    planned = operator.sakuin("push", operator.folder / "site", "--dry-run", "--json")
    pages = {page["material"]: page for page in planned.document["pages"]}
    assert {name: page["state"] for name, page in pages.items()} == {
        "a/edited": "changed",
        "a/new": "new",
        "a/same": "unchanged",
    }
    assert pages["a/edited"]["explanations"] == [{"id": "a/edited#tip-new", "type": "tip", "title": "新"}]
    assert planned.document["gone"] == ["a/gone.html"]
    assert (planned.code, operator.deployment.keys()) == (0, before)
    shown = operator.sakuin("push", operator.folder / "site", "--dry-run", "--delete").out
    assert "delete     a/gone.html" in shown
    assert "3 pages: 1 new, 1 changed, 1 unchanged. Nothing was uploaded" in shown


def test_what_is_gone_from_a_folder_is_deleted_only_when_asked(operator: Operator) -> None:
    operator.deployment.put("_sakuin/canary.html", a_page(FORMULA))
    operator.deployment.put("other/x.html", a_page(FORMULA, title="other"))
    operator.file("site/gone.html", a_page({"rule-gone": "x: y"}))
    operator.file("site/sub/synonyms.yml", b"- [one, two]")
    operator.file("site/x.html")
    push = ("push", operator.folder / "site", "--prefix", "physics")
    operator.sakuin(*push)
    for place in ("gone.html", "sub/synonyms.yml"):
        (operator.folder / "site" / place).unlink()
    kept = operator.sakuin(*push, "--json")
    (warning,) = kept.document["warnings"]
    assert warning.startswith("In the library, and not in your folders: physics/gone.html. --delete")
    asked = operator.sakuin(*push, "--delete")
    assert (asked.code, "physics/gone.html" in asked.err, "--yes" in asked.err) == (1, True, True)
    assert len(operator.deployment.keys()) == 5
    deleted = operator.sakuin(*push, "--delete", "--yes", "--json")
    assert (deleted.code, deleted.document["deleted"]) == (0, ["physics/gone.html", "physics/sub/synonyms.yml"])
    assert operator.deployment.keys() == ["_sakuin/canary.html", "other/x.html", "physics/x.html"]


def test_without_a_prefix_only_folders_that_the_push_has_lose_what_is_gone(operator: Operator) -> None:
    for key in ("other/x.html", "other/learns.yml", "physics/gone.html"):
        operator.deployment.put(key, b"a: {rule-b: [c]}" if key.endswith("yml") else a_page(FORMULA, title=key))
    operator.file("site/physics/x.html")
    warned = operator.sakuin("push", operator.folder / "site", "--json").document["warnings"]
    assert [one.partition(". --delete")[0] for one in warned] == [
        "In the library, and not in your folders: physics/gone.html"
    ]
    pushed = operator.sakuin("push", operator.folder / "site", "--delete", "--yes", "--json")
    assert (pushed.code, pushed.document["deleted"]) == (0, ["physics/gone.html"])
    assert operator.deployment.keys() == ["other/learns.yml", "other/x.html", "physics/x.html"]


def rules(*numbers: int, title: str = "rules") -> bytes:
    return a_page({f"rule-{number}": f"rule {number}: words" for number in numbers}, title=title)


@pytest.mark.parametrize(("before", "after", "asks"), [(20, 14, False), (20, 13, True), (9, 5, False), (9, 4, True)])
def test_a_page_that_loses_many_explanations_is_pushed_only_when_asked(
    operator: Operator, before: int, after: int, asks: bool
) -> None:
    page = operator.file("x.html", rules(*range(before)))
    operator.sakuin("push", page)
    version = boto3.client("s3").head_object(Bucket=MATERIALS, Key="x.html")["VersionId"]
    operator.file("x.html", rules(*range(after)))
    other = operator.file("y.html")
    pushed = operator.sakuin("push", page, other)
    assert (pushed.code, operator.deployment.keys() == ["x.html"]) == (int(asks), asks)
    if asks:
        assert boto3.client("s3").head_object(Bucket=MATERIALS, Key="x.html")["VersionId"] == version
        lost = f"x would lose {before - after} of its {before} sections: #rule-{after}, #rule-{after + 1}, "
        assert (lost in pushed.err, "--yes" in pushed.err, pushed.out) == (True, True, "")
        planned = operator.sakuin("push", page, "--dry-run", "--json")
        assert (planned.code, lost in planned.document["failed"][0]["reason"]) == (1, True)
        assert operator.sakuin("push", page, "--yes", "--json").document["pages"][0]["explanations"] == after


def test_a_page_that_cannot_be_read_loses_nothing(operator: Operator) -> None:
    page = operator.file("x.html", rules(*range(9)))
    operator.sakuin("push", page)
    operator.file("x.html", b"")
    assert "The file is empty" in operator.sakuin("push", page).out
    assert operator.sakuin("status", "--json").document["chunks"] == 9


def test_a_push_without_a_path_takes_the_folder_of_sakuin_toml(operator: Operator) -> None:
    assert operator.sakuin("push").code == 2
    operator.file("sakuin.toml", b'pages = "built"\nprefix = "docs"\n')
    assert "build the site first" in operator.sakuin("push").err
    operator.file("built/x.html")
    document = operator.sakuin("push", "--json").document
    assert [page["material"] for page in document["pages"]] == ["docs/x"]


def test_a_description_in_sakuin_toml_is_what_agents_read_and_describe_changes_it(operator: Operator) -> None:
    operator.file("built/x.html")
    operator.file("sakuin.toml", 'pages = "built"\nprefix = "docs"\ndescription = "数学の\u202e手引き"\n'.encode())
    assert "describe   数学の" in operator.sakuin("push", "--dry-run").out
    assert operator.sakuin("describe", "--json").document == {"descriptions": []}
    assert operator.sakuin("push").code == 0
    described = [{"folder": "docs", "description": "数学の手引き"}]
    assert operator.sakuin("describe", "--json").document == {"descriptions": described}
    assert "All of it" in operator.sakuin("describe", "All of it").out
    assert operator.sakuin("describe", "", "--in", "docs", "--json").document["descriptions"][0]["folder"] == ""
    refused = operator.sakuin("describe", "長い" * 100)
    assert (refused.code, "about 400 English or 133 Japanese" in " ".join(refused.err.split())) == (1, True)
    operator.file("sakuin.toml", b'pages = "built"\ndescription = 1\n')
    assert "`description` as text" in " ".join(operator.sakuin("push").err.split())


def test_a_page_that_waits_says_why(operator: Operator) -> None:
    for name in "abc":
        operator.file(f"{name}.html")
    reason, later = "Waiting for embeddings, about 3 minutes", "; see `sakuin status`"
    waiting = [{"subject": "b.html", "since": "2026-11-25T00:00:00Z", "reason": reason}]
    files = {one.key: one.reason for one in pushed_from(operator.folder, late={"b.html", "c.html"}, waiting=waiting)}
    assert (files["b.html"], files["c.html"]) == (reason + later, "not searchable after 0 s" + later)


def pushed_from(
    folder: Path, *, late: Collection[str] = (), waiting: Sequence[dict[str, Any]] = (), open_for: int = 100
) -> list[Change]:
    """What becomes of a folder's files at a deployment that takes `open_for` uploads, and applies all but `late`."""

    def applied(request: httpx.Request) -> httpx.Response:
        asked = [one for one in json.loads(request.content)["versions"] if one["key"] not in late]
        results = [{**one, "outcome": "applied", "reason": None} for one in asked]
        return httpx.Response(200, json={"results": results, "waiting": waiting})

    client = DeploymentClient(httpx.Client(transport=httpx.MockTransport(applied), base_url="http://sakuin"))
    uploads = uploads_below([folder], folder="")
    library = FewFiles(client, "", open_for)
    return push_files(library, uploads, seconds=0, on_progress=lambda _phase, _done, _total: None)


def test_a_learns_file_alone_waits_for_the_pages_that_it_changes(tmp_path: Path) -> None:
    (tmp_path / "learns.yml").write_text("a: {rule-a: [one, two, three]}")
    answers = iter([[["old"]], [["one", "two", "three"]]])

    def respond(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/files"):
            return httpx.Response(200, json={"files": {"a.html": "1", "learns.yml": "2"}, "next_cursor": None})
        (given,) = next(answers)
        chunk = {"anchor": "rule-a", "learns": given, "learns_given": given}
        return httpx.Response(200, json={"materials": {"a": [chunk]}})

    library = LibraryFiles(
        DeploymentClient(httpx.Client(transport=httpx.MockTransport(respond), base_url="http://sakuin")), ""
    )
    pushed = [Change("learns.yml", None, f"{tmp_path}/learns.yml", "v1", "applied")]
    (still,) = await_learns(library, pushed, seconds=0)
    assert (still.outcome, (still.reason or "").partition(";")[0]) == ("pending", "1 of its pages wait")
    assert await_learns(library, pushed, seconds=0) == pushed


@dataclass(frozen=True)
class FewFiles(LibraryFiles):
    """A library that takes `open_for` uploads and no more."""

    open_for: int = 100
    written: list[str] = field(default_factory=list)

    def announce(self, _uploads: Sequence[Upload]) -> None:
        """Needs no addresses."""

    def write(self, key: str, _body: bytes) -> str:
        if len(self.written) >= self.open_for:
            raise Unavailable(f"S3 did not answer for {key}")
        self.written.append(key)
        return f"version-{len(self.written)}"


def test_pages_and_learns_files_go_up_and_the_rest_is_named_with_a_reason() -> None:
    others = ("x.css", "genindex.md", "x.htm", "X.HTML", "learns.yaml", "../x.html", "404.html", "api/_modules/x.html")
    places = [("s/a.html", "a.html"), ("s/learns.yml", "learns.yml"), *((place, place) for place in others)]
    uploads = uploads_of(places, folder="junior", material_prefix="site/")
    assert uploads.files == (
        Upload("s/learns.yml", "site/junior/learns.yml", None),
        Upload("s/a.html", "site/junior/a.html", "junior/a"),
    )
    assert [page.path for page in uploads.pages] == ["s/a.html"]
    assert {one.path: one.reason for one in uploads.skipped} == {
        "x.css": "not HTML",
        "genindex.md": "made by the site generator",
        "x.htm": "rename it to .html",
        "X.HTML": "rename it to .html",
        "learns.yaml": "rename it to .yml",
        "../x.html": "a key with the segment `..` is not accepted",
        "404.html": "made by the site generator",
        "api/_modules/x.html": "made by the site generator",
    }


def test_the_same_file_named_twice_is_one() -> None:
    assert len(uploads_of([("a.html", "a.html"), ("a.html", "a.html")]).files) == 1


def test_a_folder_ends_with_one_slash_and_begins_with_none() -> None:
    assert [folder_path(folder) for folder in ("", "/", "a", "/a//b/", "./a")] == ["", "", "a/", "a/b/", "a/"]


def test_a_description_is_offered_from_titles_until_there_is_one(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator.file("site/a.html", a_page(FORMULA, title="Restore a file"))
    operator.file("site/b.html", a_page(FORMULA, title="Prices"))
    push = ("push", operator.folder / "site")
    assert operator.sakuin(*push).out.splitlines()[-1] == "Next: sakuin describe 'Restore a file, Prices'"
    assert operator.sakuin(*push, "--prefix", "docs").out.splitlines()[-1].startswith("Next: sakuin describe --in docs")
    assert "describe" not in operator.sakuin("push", operator.folder / "site" / "a.html").out
    with monkeypatch.context() as terminal:
        terminal.setattr(Terminal, "asks", True)
        terminal.setattr("typer.confirm", lambda *_, **__: True)
        assert "describe" not in operator.sakuin(*push).out
    stored = operator.sakuin("describe", "--json").document["descriptions"]
    assert stored == [{"folder": "", "description": "Restore a file, Prices"}]
    assert "describe" not in operator.sakuin(*push).out
