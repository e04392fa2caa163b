"""`sakuin keys`, and `sakuin push` with a key that pushes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import boto3
import jwt
import pytest
from sakuin.platform.keys import KeyUse, hash_of_key, known_hash
from sakuin.platform.secrets import Secrets, search_secret
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin_cli.client import DeploymentClient
from sakuin_cli.rest import session

from tests.builders import a_page
from tests.cli.conftest import Operator, Output
from tests.cli.deployment import ADMIN_KEY, API_KEY

VENDORS = {
    "admin": {"supabase_service_key": "sb_secret_x", "openai_api_key": "sk-x", "turbopuffer_api_key": "tpuf_x"},
    "knowledge": {"supabase_search_key": "eyJ.x.y", "openai_api_key": "sk-q", "turbopuffer_api_key": "tpuf_x"},
}

UNNAMED = dict.fromkeys(("name", "folder", "filter", "project", "expires_at"))

VALUES = [value for members in VENDORS.values() for value in members.values()]


@dataclass
class Keys:
    """An operator with a secret of a new deployment."""

    operator: Operator
    secret: str

    def sakuin(self, *arguments: object, **settings: str) -> Output:
        return self.operator.sakuin("keys", *arguments, **{"SAKUIN_SECRET": self.secret, **settings})

    def members(self, purpose: str) -> dict[str, object]:
        """What the functions read that check these keys."""
        current = boto3.client("secretsmanager").get_secret_value(
            SecretId=self._name(purpose), VersionStage="AWSCURRENT"
        )["SecretString"]
        members: dict[str, object] = json.loads(current)
        return members

    def put(self, purpose: str, **members: object) -> None:
        client, name = boto3.client("secretsmanager"), self._name(purpose)
        before = client.get_secret_value(SecretId=name, VersionStage="AWSCURRENT")["VersionId"]
        written = client.put_secret_value(
            SecretId=name, SecretString=json.dumps({**VENDORS[purpose], **members}), VersionStages=["AWSPENDING"]
        )["VersionId"]
        client.update_secret_version_stage(
            SecretId=name, VersionStage="AWSCURRENT", MoveToVersionId=written, RemoveFromVersionId=before
        )

    def _name(self, purpose: str) -> str:
        return self.secret if purpose == "admin" else search_secret(self.secret)


@pytest.fixture
def keys(operator: Operator) -> Keys:
    """The secrets have what a person has put there by hand."""
    name = f"sakuin/{uuid4()}"
    for each, purpose in ((name, "admin"), (search_secret(name), "knowledge")):
        boto3.client("secretsmanager").create_secret(Name=each, SecretString=json.dumps(VENDORS[purpose]))
    return Keys(operator, name)


def new(keys: Keys, purpose: str) -> Any:
    made = keys.sakuin("new", "--for", purpose, "--json")
    assert made.code == 0, made
    return made.document


def opens(made: Any, hashes: Sequence[str]) -> bool:
    return known_hash(made["key"], hashes) is not None


def functions_read(keys: Keys, purpose: str) -> Secrets:
    return Secrets.read(keys.members(purpose), "sakuin/prod")


def test_the_first_key_completes_the_secret_of_the_functions_that_check_it(keys: Keys) -> None:
    made = {purpose: new(keys, purpose) for purpose in ("knowledge", "admin")}
    search, main = functions_read(keys, "knowledge"), functions_read(keys, "admin")
    assert opens(made["knowledge"], search.knowledge_key_hashes)
    assert opens(made["admin"], main.admin_key_hashes)
    assert search.admin_key_hashes == main.knowledge_key_hashes == ()
    assert (search.database_key, search.openai_api_key) == ("eyJ.x.y", "sk-q")
    assert (main.database_key, main.openai_api_key) == ("sb_secret_x", "sk-x")
    assert made["admin"]["key"] not in str(keys.members("admin"))


def test_a_key_of_the_database_comes_with_the_key_pair_that_verifies_it(keys: Keys) -> None:
    made = keys.sakuin("new", "--for", "database", "--json").document
    jwk = json.loads(made["jwk"])
    assert (jwk["kty"], jwk["crv"], jwk["alg"], "d" in jwk) == ("EC", "P-256", "ES256", True)
    verified = jwt.decode(made["supabase_search_key"], jwt.PyJWK(jwk), ["ES256"])
    assert verified["role"] == "sakuin_search"
    assert jwt.get_unverified_header(made["supabase_search_key"])["kid"] == jwk["kid"]
    assert keys.members("knowledge") == VENDORS["knowledge"]


def test_a_key_is_replaced_with_an_overlap(keys: Keys) -> None:
    old, fresh = new(keys, "admin"), new(keys, "admin")
    now = functions_read(keys, "admin")
    assert all(opens(each, now.admin_key_hashes) for each in (old, fresh))
    listed = keys.sakuin("list", "--json").document
    assert listed == {
        "keys": [{"hash": each["hash"], "for": "admin", "last_used_on": None, **UNNAMED} for each in (old, fresh)]
    }
    removed = keys.sakuin("rm", old["hash"], "--json").document
    assert removed == {"hash": old["hash"], "for": "admin", "removed": True}
    later = functions_read(keys, "admin")
    assert opens(fresh, later.admin_key_hashes)
    assert not opens(old, later.admin_key_hashes)


def test_only_a_new_key_is_ever_shown(keys: Keys) -> None:
    output = keys.sakuin("new", "--for", "knowledge")
    key = output.out.split()[1]
    assert key.startswith("sk_sakuin_")
    listed = keys.sakuin("list")
    removed = keys.sakuin("rm", listed.out.splitlines()[1].split()[0])
    assert removed.code == 0, removed
    shown = "".join((output.err, listed.out, listed.err, removed.out, removed.err))
    assert not any(value in shown for value in (key, *VALUES))


def test_a_hash_that_names_no_key_or_two_is_refused(keys: Keys) -> None:
    keys.put("knowledge", knowledge_key_hashes=["a" * 64, "a" * 63 + "b"])
    for hash, sentence in (("a" * 12, "Give more digits"), ("b" * 12, "No key's hash"), ("a", "at least 8")):
        output = keys.sakuin("rm", hash)
        assert (output.code, sentence in output.err) == (1, True), output
    assert keys.sakuin("rm", "a" * 64).code == 0


def test_each_key_is_listed_with_the_day_on_which_it_was_last_used(operator: Operator) -> None:
    deployment = operator.deployment
    agent, admin = (hash_of_key(key) for key in (API_KEY, ADMIN_KEY))
    KeyUse(deployment.client).record(admin)
    today = datetime.now(UTC).date().isoformat()
    listed = operator.sakuin("keys", "list", "--json", SAKUIN_SECRET=deployment.functions.secret).document["keys"]
    assert [(each["for"], each["last_used_on"]) for each in listed] == [("knowledge", None), ("admin", today)]
    shown = operator.sakuin("keys", "list", SAKUIN_SECRET=deployment.functions.secret).out
    assert [line.split()[:3] for line in shown.splitlines()[1:]] == [
        [agent[:12], "knowledge", "–"],
        [admin[:12], "admin", today],
    ]


@pytest.mark.parametrize(
    "away", [{"SAKUIN_URL": "http://127.0.0.1:1"}, {"SAKUIN_ADMIN_KEY": "wrong"}, {"SAKUIN_URL": ""}]
)
def test_keys_are_listed_where_the_deployment_does_not_tell_when_they_were_used(
    keys: Keys, away: dict[str, str]
) -> None:
    keys.put("admin", admin_key_hashes=["b" * 64])
    listed = keys.sakuin("list", "--json", **away)
    row = {"hash": "b" * 12, "for": "admin", "last_used_on": None, **UNNAMED}
    assert (listed.code, listed.document) == (0, {"keys": [row]})


def test_a_secret_that_is_wrong_is_left_alone_and_not_shown(keys: Keys) -> None:
    keys.put("admin", admin_key_hashes="the-hash")
    for command in (("list",), ("new", "--for", "admin"), ("rm", "the-hash")):
        output = keys.sakuin(*command)
        assert output.code == 1
        assert "admin_key_hashes" in output.err
        assert keys.members("admin")["admin_key_hashes"] == "the-hash"
        shown = output.out + output.err
        assert not any(value in shown for value in ("the-hash", *VALUES))


def test_a_key_with_a_purpose_is_made_listed_and_removed_without_aws(operator: Operator) -> None:
    project = ProjectRecords(operator.deployment.client).create_project(None, "p").id
    options = {
        "search": ("--in", "math/7", "--days", "30", "--filter", "tenant=42", "--filter", "type=rule"),
        "push": ("--in", "math"),
        "read": ("--project", project),
    }
    made = {}
    for purpose, opens in options.items():
        output = operator.sakuin("keys", "new", "--for", purpose, "--name", f"of {purpose}", *opens, "--json")
        made[purpose] = output.document
    listed = operator.sakuin("keys", "list", "--json").document["keys"]
    rows = {key["for"]: (key["hash"], key["name"], key["folder"], key["project"]) for key in listed if key.get("name")}
    assert rows == {
        "search": (made["search"]["hash"], "of search", "math/7", None),
        "push": (made["push"]["hash"], "of push", "math", None),
        "read": (made["read"]["hash"], "of read", "", project),
    }
    lines = [line.split() for line in operator.sakuin("keys", "list").out.splitlines()]
    (search,) = (line for line in lines if line[1] == "search")
    assert search[:8] == [made["search"]["hash"], "search", "–", "of", "search", "math/7", "type=rule", "tenant=42"]
    assert next(key["filter"] for key in listed if key["for"] == "search") == {"tenant": "42", "type": "rule"}
    assert {line[1] for line in lines[1:]} == {"knowledge", "admin", "search", "push", "read"}
    for each in made.values():
        removed = operator.sakuin("keys", "rm", each["hash"], "--json").document
        assert removed == {"hash": each["hash"], "for": each["for"], "removed": True}
    assert [key for key in operator.sakuin("keys", "list", "--json").document["keys"] if key.get("name")] == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "Missing option"),
        (("--for", "everything"), "is not one of"),
        (("--for", "push"), "say whose key it is"),
        (("--for", "admin", "--name", "x"), "admin has no --name"),
        (("--for", "knowledge", "--in", "math"), "knowledge has no --name"),
        (("--for", "search", "--name", "x", "--days", "0"), "equal to 1"),
        (("--for", "search", "--name", "x", "--filter", "tenant"), "Write FIELD=VALUE"),
    ],
)
def test_options_of_another_purpose_are_wrong_usage(keys: Keys, options: tuple[str, ...], sentence: str) -> None:
    output = keys.sakuin("new", *options)
    assert (output.code, sentence in " ".join(output.err.replace("│", " ").split())) == (2, True), output


# What the workflow of `sakuin init` does not have.
WITHOUT_AWS = {"SAKUIN_BUCKET": "", "SAKUIN_ADMIN_KEY": "", "SAKUIN_API_KEY": "", "AWS_ACCESS_KEY_ID": ""}


@dataclass
class Author:
    """An author who has a key of the folder `docs`, and files in the folder `site`."""

    operator: Operator
    key: str

    def sakuin(self, *arguments: object) -> Output:
        return self.operator.sakuin(*arguments, **WITHOUT_AWS, SAKUIN_PUSH_KEY=self.key)

    def push(self, *options: object) -> Output:
        return self.sakuin("push", self.operator.folder / "site", "--prefix", "docs", *options, "--json")


def key_of(operator: Operator, *options: object) -> str:
    made = operator.sakuin("keys", "new", "--for", "push", "--name", "CI of the docs", *options, "--json")
    assert made.code == 0, made
    return str(made.document["key"])


@pytest.fixture
def author(operator: Operator) -> Author:
    operator.file("site/a.html")
    operator.file("site/b/因数分解 100%.html", a_page({"rule-factor": "因数分解: 積の形にする。"}))
    return Author(operator, key_of(operator, "--in", "/docs/"))


def stored(author: Author) -> list[str]:
    return author.operator.deployment.keys()


def test_a_folder_is_pushed_and_searchable(author: Author) -> None:
    pushed = author.push()
    assert pushed.code == 0, pushed
    assert [(page["material"], page["explanations"]) for page in pushed.document["pages"]] == [
        ("docs/a", 1),
        ("docs/b/因数分解 100%", 1),
    ]
    assert stored(author) == ["docs/a.html", "docs/b/因数分解 100%.html"]
    found = author.operator.sakuin("search", "解の公式", "--json").document
    assert found["results"][0]["url"] == "/docs/a.html#rule-formula"


def test_a_file_that_is_refused_fails_alone(author: Author) -> None:
    author.operator.file("site/large.html", b"<p>" + b"x" * 10_000_000)
    pushed = author.push()
    assert (pushed.code, len(pushed.document["pages"]), pushed.document["pushed"]) == (1, 3, 2)
    ((name, reason),) = [(one["key"], one["reason"]) for one in pushed.document["failed"]]
    assert (name, "(page_bytes)" in reason) == ("docs/large.html", True)
    assert stored(author) == ["docs/a.html", "docs/b/因数分解 100%.html"]


def test_another_folder_is_refused(author: Author) -> None:
    refused = author.sakuin("push", author.operator.folder / "site", "--prefix", "other")
    assert (refused.code, "opens 'docs/' alone" in " ".join(refused.err.split())) == (1, True), refused
    assert stored(author) == []


def test_a_file_that_changes_after_it_was_announced_is_requested_again(author: Author) -> None:
    from sakuin_cli.site.library import LibraryFiles
    from sakuin_cli.site.uploads import Upload

    library = LibraryFiles.of(DeploymentClient(session(author.operator.deployment.url, author.key)))
    path = author.operator.folder / "site/a.html"
    library.announce([Upload(path.as_posix(), "docs/a.html", "docs/a")])
    assert library.write("docs/a.html", a_page({"rule-new": "新しい: 文。"}))
    assert list(library.etags()) == ["docs/a.html"]
