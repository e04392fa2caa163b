"""What is uploaded is found seconds later; what is gone is not."""

import json
import unicodedata

import pytest

from tests.integration.conftest import Deployed, eventually
from tests.integration.pages import page, rule

pytestmark = pytest.mark.integration

GOLDEN = rule("rule-golden-ratio", "黄金比", "線分を大小に分け、全体と大の比が大と小の比に等しいときの比である。")
BRONZE = rule("rule-bronze-ratio", "青銅比", "1 と (3+√13)/2 の比を青銅比という。")
PLATINUM = rule("rule-platinum-ratio", "白金比", "1 と √3 の比を白金比という。")
SILVER = rule("rule-silver-ratio", "白銀比", "1 と √2 の比を白銀比という。紙の縦と横の比に使われる。")


def ids(deployed: Deployed, query: str, **arguments: object) -> list[str]:
    return [result["id"] for result in deployed.search(query, **arguments)["results"]]


def test_an_uploaded_rule_is_found_by_its_name_and_by_its_meaning(deployed: Deployed) -> None:
    # Rules that stand on no other test's page: among twins another might be the first.
    assert deployed.put("試験/比_教材.html", page("比の話", PLATINUM, BRONZE)) == "applied"
    assert ids(deployed, "白金比とは")[0] == "試験/比_教材#rule-platinum-ratio"
    assert ids(deployed, "せいどうひ")[0] == "試験/比_教材#rule-bronze-ratio"


def test_an_edit_replaces_the_text_and_a_removed_rule_is_gone(deployed: Deployed) -> None:
    deployed.put("試験/編集_教材.html", page("編集", GOLDEN, SILVER))
    edited = rule("rule-silver-ratio", "白銀比", "大和比ともよばれ、建物に使われてきた。")
    assert deployed.put("試験/編集_教材.html", page("編集", edited)) == "applied"
    found = deployed.search("白銀比", material="試験/編集_教材")["results"]
    assert [result["id"] for result in found] == ["試験/編集_教材#rule-silver-ratio"]
    assert "大和比" in found[0]["excerpt"]


def test_a_deleted_page_is_gone_and_can_come_back(deployed: Deployed) -> None:
    key = "試験/戻る_教材.html"
    deployed.put(key, page("戻る", GOLDEN))
    assert deployed.delete(key) == "applied"
    assert "試験/戻る_教材#rule-golden-ratio" not in ids(deployed, "黄金比", top_k=50)
    code, output = deployed.sakuin("search", "黄金比", "--material", "試験/戻る_教材", "--json")
    assert (code, "There is no material '試験/戻る_教材'" in output) == (1, True)
    assert deployed.put(key, page("戻る", GOLDEN)) == "applied"
    assert ids(deployed, "黄金比", material="試験/戻る_教材") == ["試験/戻る_教材#rule-golden-ratio"]


def test_removing_the_current_version_brings_the_one_before_back(deployed: Deployed) -> None:
    key = "試験/版_教材.html"
    deployed.put(key, page("版", GOLDEN))
    s3 = deployed.client("s3")
    newest = s3.put_object(Bucket=deployed.bucket, Key=key, Body=page("版", SILVER).encode())["VersionId"]
    assert deployed.outcome(key, newest) == "applied"
    s3.delete_object(Bucket=deployed.bucket, Key=key, VersionId=newest)
    before = s3.head_object(Bucket=deployed.bucket, Key=key)["VersionId"]

    eventually(f"version {before}", lambda: deployed.state("試験/版_教材")["indexed_version_id"] == before)
    assert ids(deployed, "黄金比", material="試験/版_教材") == ["試験/版_教材#rule-golden-ratio"]


def test_other_files_are_left_alone(deployed: Deployed) -> None:
    s3 = deployed.client("s3")
    s3.put_object(Bucket=deployed.bucket, Key="css/site.css", Body=b"body {}")
    # Something after it in the queue has been worked on.
    deployed.put("試験/後_教材.html", page("後", SILVER))
    deployed.delete("試験/後_教材.html")
    assert deployed.api("GET", "/v1/materials", params={"prefix": "css"})["materials"] == []
    assert [key for key in deployed.api("GET", "/v1/status")["waiting"] if "css" in str(key)] == []
    work = deployed.api("GET", "/v1/work", params={"limit": 500})["work"]
    assert [row for row in work if "css" in str(row["subject"])] == []


def test_learns_of_an_author_arrive_and_go_with_the_file(deployed: Deployed) -> None:
    deployed.put("著者/比_教材.html", page("比", GOLDEN))
    items = ["黄金比を作図する方法", "黄金比の値の計算", "黄金比が現れるものの見分け方"]
    lines = "\n".join(f"    - {item}" for item in items)
    assert deployed.put("著者/learns.yml", f"比_教材:\n  rule-golden-ratio:\n{lines}\n") == "applied"

    def learns() -> list[str]:
        return list(deployed.search("黄金比", material="著者/比_教材")["results"][0]["learns"])

    eventually("the author's items", lambda: learns() == items)
    deployed.delete("著者/learns.yml")
    eventually("other items", lambda: learns() != items)
    # Of the list that rules write, a result has one item.
    assert len(learns()) == 1


def test_two_spellings_of_one_key_are_one_material_and_the_second_waits(deployed: Deployed) -> None:
    first = unicodedata.normalize("NFD", "綴り/グラフ_教材.html")
    second = unicodedata.normalize("NFC", first)
    assert deployed.put(first, page("綴り", GOLDEN)) == "applied"
    assert deployed.put(second, page("綴り", SILVER)) == "waiting"
    assert ids(deployed, "比", material="綴り/グラフ_教材") == ["綴り/グラフ_教材#rule-golden-ratio"]
    assert deployed.delete(first) == "applied"
    # The worker applies it after the deletion.
    eventually("the second page", lambda: "綴り/グラフ_教材#rule-silver-ratio" in ids(deployed, "比", top_k=50))
    assert ids(deployed, "比", material="綴り/グラフ_教材") == ["綴り/グラフ_教材#rule-silver-ratio"]


def test_the_same_page_again_and_one_changed_rule_cost_what_they_must(deployed: Deployed) -> None:
    key = "試験/費用_教材.html"
    earlier = len(embedded(deployed, "試験/費用_教材"))
    deployed.put(key, page("費用", GOLDEN, SILVER))
    # A log comes after its receipt.
    eventually("the first line", lambda: len(embedded(deployed, "試験/費用_教材")) == earlier + 1)
    deployed.put(key, page("費用", GOLDEN, SILVER))
    changed = rule("rule-silver-ratio", "白銀比", "1 対 √2 の比で、コピー用紙の形がそうである。")
    deployed.put(key, page("費用", GOLDEN, changed))
    eventually("two more lines", lambda: len(embedded(deployed, "試験/費用_教材")) == earlier + 3)
    assert embedded(deployed, "試験/費用_教材")[earlier + 1 :] == [0, 1]


def embedded(deployed: Deployed, material: str) -> list[int]:
    """How many texts each application of a page embedded, as the function's log says."""
    logs = deployed.client("logs")
    group = f"/sakuin/{deployed.environment['SAKUIN_STACK']}/index_material"
    pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group)
    lines = [
        event["message"]
        for found in pages
        for event in found["events"]
        if '"bucket event processed"' in event["message"]
    ]
    facts = [json.loads(line) for line in lines]
    return [fact["embedded"] for fact in facts if fact.get("material") == material]
