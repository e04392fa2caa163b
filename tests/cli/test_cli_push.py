"""`sakuin push`."""

import unicodedata
from dataclasses import dataclass
from pathlib import Path

import pytest
from sakuin.errors import Unavailable

from tests.cli.conftest import Keeper
from tests.in_memory.bucket import MemoryBucket
from tests.in_memory.desk import ADMIN_KEY, desk_of, library_of
from tests.in_memory.world import World


def test_a_folders_pages_keep_their_paths_and_are_searchable_afterwards(keeper: Keeper) -> None:
    keeper.file("site/junior/式.html")
    keeper.file("site/css/site.css", b"p {}")
    said = keeper.sakuin("push", keeper.folder / "site", "--json")
    assert said.code == 0
    assert said.err == ""
    assert said.document == {
        "pushed": 1,
        "failed": [],
        "skipped": 1,
        "pages": [
            {
                "path": f"{keeper.folder}/site/junior/式.html",
                "key": "junior/式.html",
                "version_id": "version-1",
                "outcome": "applied",
                "material": "junior/式",
            }
        ],
        "learns_files": [],
        "synonyms_files": [],
        "seconds": 0.1,
    }
    assert keeper.world.read.chunk("junior/式#rule-formula")[0].title == "解の公式"


def test_learns_files_go_up_before_the_pages_that_read_them(keeper: Keeper) -> None:
    keeper.file("site/a.html")
    keeper.file("site/z/learns.yml", "b:\n  rule-formula: [公式を使う方法, 値を求める方法, 式を作る方法]\n".encode())
    keeper.file("site/z/b.html")
    document = keeper.sakuin("push", keeper.folder / "site", "--json").document
    assert [file["key"] for file in document["learns_files"]] == ["z/learns.yml"]
    assert document["learns_files"][0]["version_id"] == "version-1"
    assert keeper.world.read.chunk("z/b#rule-formula")[0].learns == ("公式を使う方法", "値を求める方法", "式を作る方法")


@pytest.mark.parametrize(
    ("material_prefix", "prefix", "key"),
    [("", "", "x.html"), ("", "/junior/", "junior/x.html"), ("site/", "a//b", "site/a/b/x.html")],
)
def test_a_single_page_lands_in_the_folder_that_was_named(
    tmp_path: Path, material_prefix: str, prefix: str, key: str
) -> None:
    keeper = Keeper(tmp_path, World(prefix=material_prefix))
    page = keeper.file("deep/in/x.html")
    document = keeper.sakuin("push", page, "--prefix", prefix, "--json").document
    assert [(file["key"], file["outcome"]) for file in document["pages"]] == [(key, "applied")]


def test_a_lone_learns_file_lands_in_the_folder_that_was_named(keeper: Keeper) -> None:
    document = keeper.sakuin("push", keeper.file("my/learns.yml", b""), "--prefix", "junior", "--json").document
    assert [(file["key"], file["outcome"]) for file in document["learns_files"]] == [("junior/learns.yml", "applied")]


def test_keys_are_nfc(keeper: Keeper) -> None:
    keeper.file(unicodedata.normalize("NFD", "プログラム.html"))
    document = keeper.sakuin("push", keeper.folder, "--json").document
    assert document["pages"][0]["key"] == unicodedata.normalize("NFC", "プログラム.html")


def test_two_files_for_one_key_are_both_named_and_cost_no_other(keeper: Keeper) -> None:
    nfc, nfd = (unicodedata.normalize(form, "が.html") for form in ("NFC", "NFD"))
    keeper.file(nfc)
    keeper.file(nfd)
    keeper.file("other.html")
    said = keeper.sakuin("push", keeper.folder, "--json")
    assert said.code == 1
    assert said.document["pushed"] == 1
    failed = {item["path"]: item["reason"] for item in said.document["failed"]}
    assert set(failed) == {f"{keeper.folder}/{nfc}", f"{keeper.folder}/{nfd}"}
    assert repr(f"{keeper.folder}/{nfd}") in failed[f"{keeper.folder}/{nfc}"]


def test_a_page_that_cannot_be_read_fails_alone(keeper: Keeper) -> None:
    keeper.file("good.html")
    keeper.file("empty.html", b"")
    said = keeper.sakuin("push", keeper.folder)
    assert said.code == 1
    assert "✗" in said.out
    assert "empty.html  The file is empty. Upload the built page again." in said.out
    assert "1 of 2 pages searchable" in said.out


def test_a_page_whose_material_another_key_owns_is_said_to_wait(keeper: Keeper) -> None:
    keeper.world.put(unicodedata.normalize("NFD", "が.html"), keeper.file("x.html").read_bytes())
    keeper.file("site/が.html")
    said = keeper.sakuin("push", keeper.folder / "site", "--json")
    assert said.code == 1
    assert said.document["pages"][0]["outcome"] == "waiting"
    assert "belongs to the key" in said.document["failed"][0]["reason"]


def test_what_is_not_searchable_in_time_is_listed(keeper: Keeper) -> None:
    keeper.time.stuck = True
    keeper.file("slow.html")
    said = keeper.sakuin("push", keeper.folder, "--timeout", "3")
    assert said.code == 1
    assert "slow.html  not searchable after 3 s; look at `sakuin status`" in said.out
    assert keeper.time.now == pytest.approx(3)


def test_it_asks_less_and_less_often(keeper: Keeper) -> None:
    keeper.time.stuck = True
    keeper.sakuin("push", keeper.file("slow.html"), "--timeout", "20")
    naps = keeper.time.naps[:-1]
    assert naps == sorted(naps)
    assert naps[0] == pytest.approx(0.1)
    assert naps[-1] == pytest.approx(1)


def test_a_folder_without_pages_is_a_failure_with_a_sentence(keeper: Keeper) -> None:
    keeper.file("site/notes.txt", b"")
    said = keeper.sakuin("push", keeper.folder / "site", "--json")
    assert said.code == 1
    assert "no .html file" in said.document["error"]


@pytest.mark.parametrize("place", ["nowhere.html", "style.css"])
def test_other_files_and_missing_ones_are_wrong_usage(keeper: Keeper, place: str) -> None:
    keeper.file("style.css", b"")
    assert keeper.sakuin("push", keeper.folder / place).code == 2


def test_hidden_folders_stay_at_home(keeper: Keeper) -> None:
    keeper.file("site/.git/x.html")
    keeper.file("site/x.html")
    assert keeper.sakuin("push", keeper.folder / "site", "--json").document["pushed"] == 1


def test_a_wrong_key_is_noticed_before_anything_is_uploaded(keeper: Keeper) -> None:
    desk = desk_of(keeper.world, keeper.time, library=library_of(keeper.world, key="wrong"))
    said = keeper.sakuin("push", keeper.file("x.html"), desk=desk)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("sakuin: The admin key does not fit.")
    assert ADMIN_KEY not in said.err
    assert keeper.world.bucket.keys("") == []


@dataclass
class ClosedBucket(MemoryBucket):
    """A bucket that nobody can write to, or only nobody after `open_for` writes."""

    open_for: int = 0

    def write(self, key: str, body: bytes, *, content_type: str = "text/html") -> str:
        if self._count >= self.open_for:
            raise Unavailable(f"S3 did not answer for {key}")
        return super().write(key, body, content_type=content_type)


def test_a_bucket_that_cannot_be_reached_is_one_sentence(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, World(bucket=ClosedBucket()))
    for name in "abc":
        keeper.file(f"{name}.html")
    said = keeper.sakuin("push", keeper.folder)
    assert (said.code, said.out, said.err) == (1, "", "sakuin: S3 did not answer for a.html\n")


def test_an_upload_that_fails_costs_no_other(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, World(bucket=ClosedBucket(open_for=1)))
    keeper.file("a.html")
    keeper.file("b.html")
    document = keeper.sakuin("push", keeper.folder, "--json").document
    assert {page["key"]: page["outcome"] for page in document["pages"]} == {
        "a.html": "applied",
        "b.html": "not_uploaded",
    }


def test_the_site_s_synonyms_go_up_beside_the_pages_and_one_in_a_folder_stays(keeper: Keeper) -> None:
    keeper.file("site/synonyms.yml", "- [速さの公式, みはじ]\n".encode())
    keeper.file("site/junior/synonyms.yml", "- [速さの公式, はじき]\n".encode())
    keeper.file("site/junior/式.html")
    document = keeper.sakuin("push", keeper.folder / "site", "--json").document
    assert [(one["key"], one["outcome"]) for one in document["synonyms_files"]] == [("synonyms.yml", "applied")]
    assert (document["learns_files"], document["skipped"]) == ([], 1)
