"""`sakuin push`."""

import json
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import boto3
import httpx
import pytest
from sakuin.errors import Unavailable
from sakuin_cli.client import DeploymentClient
from sakuin_cli.commands.push import PushedFile, push_files
from sakuin_cli.uploads import uploads_below
from sakuin_local.supabase.database import Database

from tests.cli.conftest import Operator
from tests.cli.deployment import ADMIN_KEY, BUCKET, deployed
from tests.doubles.bucket import MemoryBucket

LEARNS = ["公式を使う方法", "値を求める方法", "式を作る方法"]


def test_a_folders_pages_keep_their_paths_and_are_searchable_afterwards(operator: Operator) -> None:
    operator.file("site/junior/式.html")
    operator.file("site/css/site.css", b"p {}")
    pushed = operator.sakuin("push", operator.folder / "site", "--json")
    assert pushed.code == 0
    assert pushed.err == ""
    document = pushed.document
    assert document.pop("seconds") > 0
    assert document == {
        "pushed": 1,
        "failed": [],
        "skipped": 1,
        "pages": [
            {
                "path": f"{operator.folder}/site/junior/式.html",
                "key": "junior/式.html",
                "version_id": boto3.client("s3").head_object(Bucket=BUCKET, Key="junior/式.html")["VersionId"],
                "outcome": "applied",
                "material": "junior/式",
            }
        ],
        "learns_files": [],
        "synonyms_files": [],
    }
    chunk = operator.sakuin("chunk", "junior/式#rule-formula", "--json").document["chunk"]
    assert chunk["title"] == "解の公式"


def test_learns_files_go_up_before_the_pages_that_read_them(operator: Operator) -> None:
    operator.file("site/a.html")
    operator.file("site/z/learns.yml", f"b:\n  rule-formula: [{', '.join(LEARNS)}]\n".encode())
    operator.file("site/z/b.html")
    document = operator.sakuin("push", operator.folder / "site", "--json").document
    assert [file["key"] for file in document["learns_files"]] == ["z/learns.yml"]
    chunk = operator.sakuin("chunk", "z/b#rule-formula", "--json").document["chunk"]
    assert chunk["learns"] == LEARNS
    written = {file.upload.key: file.version_id for file in pushed_to(MemoryBucket(), operator.folder / "site")}
    assert written["z/learns.yml"] == "version-1"


@pytest.mark.parametrize(("prefix", "key"), [("", "x.html"), ("/junior/", "junior/x.html")])
def test_a_single_page_lands_in_the_folder_that_was_named(operator: Operator, prefix: str, key: str) -> None:
    page = operator.file("deep/in/x.html")
    document = operator.sakuin("push", page, "--prefix", prefix, "--json").document
    assert [(file["key"], file["outcome"]) for file in document["pages"]] == [(key, "applied")]


def test_a_folder_outside_the_library_is_refused(operator: Operator) -> None:
    refused = operator.sakuin("push", operator.file("x.html"), "--prefix", "junior/../..")
    assert (refused.code, "`..`" in refused.err) == (1, True)


def test_the_library_s_own_prefix_comes_before_the_folder(database: Database, tmp_path: Path) -> None:
    with deployed(database, MATERIAL_PREFIX="site/") as deployment:
        deployment.empty()
        operator = Operator(tmp_path, deployment)
        page = operator.file("deep/in/x.html")
        pushed = operator.sakuin("push", page, "--prefix", "a//b", "--json", SAKUIN_MATERIAL_PREFIX="site")
    (file,) = pushed.document["pages"]
    assert (file["key"], file["material"], file["outcome"]) == ("site/a/b/x.html", "a/b/x", "applied")


def test_a_lone_learns_file_lands_in_the_folder_that_was_named(operator: Operator) -> None:
    document = operator.sakuin("push", operator.file("my/learns.yml", b""), "--prefix", "junior", "--json").document
    assert [(file["key"], file["outcome"]) for file in document["learns_files"]] == [("junior/learns.yml", "applied")]


def test_keys_are_nfc(operator: Operator) -> None:
    operator.file(unicodedata.normalize("NFD", "プログラム.html"))
    document = operator.sakuin("push", operator.folder, "--json").document
    assert document["pages"][0]["key"] == unicodedata.normalize("NFC", "プログラム.html")


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
    assert "1 of 2 pages searchable" in pushed.out


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
    assert "slow.html  not searchable after 0 s; see `sakuin status`" in pushed.out


def test_a_folder_without_pages_is_a_failure_with_a_sentence(operator: Operator) -> None:
    operator.file("site/notes.txt", b"")
    pushed = operator.sakuin("push", operator.folder / "site", "--json")
    assert pushed.code == 1
    assert "no .html file" in pushed.document["error"]


@pytest.mark.parametrize("place", ["nowhere.html", "style.css"])
def test_other_files_and_missing_ones_are_wrong_usage(operator: Operator, place: str) -> None:
    operator.file("style.css", b"")
    assert operator.sakuin("push", operator.folder / place).code == 2


def test_hidden_folders_are_left_out(operator: Operator) -> None:
    operator.file("site/.git/x.html")
    operator.file("site/x.html")
    assert operator.sakuin("push", operator.folder / "site", "--json").document["pushed"] == 1


def test_a_wrong_key_is_noticed_before_anything_is_uploaded(operator: Operator) -> None:
    pushed = operator.sakuin("push", operator.file("x.html"), SAKUIN_ADMIN_KEY="wrong")
    assert (pushed.code, pushed.out) == (1, "")
    assert pushed.err.startswith("sakuin: The admin key is not valid.")
    assert ADMIN_KEY not in pushed.err
    assert operator.deployment.keys() == []


def test_a_bucket_that_cannot_be_written_to_is_one_sentence(operator: Operator) -> None:
    for name in "abc":
        operator.file(f"{name}.html")
    pushed = operator.sakuin("push", operator.folder, SAKUIN_BUCKET="nobodys-bucket")
    assert (pushed.code, pushed.out, pushed.err) == (1, "", "sakuin: S3 answered NoSuchBucket for a.html\n")


@dataclass
class ClosedBucket(MemoryBucket):
    """A bucket that takes `open_for` writes and no more."""

    open_for: int = 1

    def write(self, key: str, body: bytes, *, content_type: str = "text/html") -> str:
        if self._count >= self.open_for:
            raise Unavailable(f"S3 did not answer for {key}")
        return super().write(key, body, content_type=content_type)


def test_an_upload_that_fails_costs_no_other(operator: Operator) -> None:
    operator.file("a.html")
    operator.file("b.html")
    files = pushed_to(ClosedBucket(), operator.folder)
    assert [(file.upload.key, file.outcome, file.reason) for file in files] == [
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


def pushed_to(bucket: MemoryBucket, folder: Path) -> list[PushedFile]:
    """What becomes of a folder's files at a bucket of this process, beside a deployment that applies every version."""

    def applied(request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)["versions"]
        return httpx.Response(200, json={"receipts": [{**one, "outcome": "applied", "reason": None} for one in asked]})

    client = DeploymentClient(httpx.Client(transport=httpx.MockTransport(applied), base_url="http://sakuin"))
    uploads = uploads_below([folder], folder="", material_prefix="")
    return push_files(bucket, client, uploads, seconds=0, on_progress=lambda _phase, _done, _total: None)
