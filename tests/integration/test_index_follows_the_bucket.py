"""What is uploaded is found seconds later; what is gone is not."""

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
