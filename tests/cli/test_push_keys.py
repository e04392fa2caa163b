"""`sakuin push` with a key that pushes: one address and one key, without rights in AWS."""

from dataclasses import dataclass

import pytest
from sakuin_cli.client import DeploymentClient
from sakuin_cli.rest import session

from tests.builders import a_page
from tests.cli.conftest import Operator, Output

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
    assert found["results"][0]["material"] == "docs/a"


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


def test_a_file_that_changes_after_it_was_announced_is_announced_again(author: Author) -> None:
    from sakuin_cli.site.library import LibraryFiles
    from sakuin_cli.site.uploads import Upload

    library = LibraryFiles.of(DeploymentClient(session(author.operator.deployment.url, author.key)))
    path = author.operator.folder / "site/a.html"
    library.announce([Upload(path.as_posix(), "docs/a.html", "docs/a")])
    assert library.write("docs/a.html", a_page({"rule-new": "新しい: 文。"}))
    assert list(library.etags()) == ["docs/a.html"]
