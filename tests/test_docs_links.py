"""Every link between the documents leads somewhere."""

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")])
LINK = re.compile(r"\[[^\]\n]*\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


@cache
def headings(document: Path) -> set[str]:
    """The anchors that a Markdown viewer gives to a document's headings."""
    titles = re.findall(r"^#+ (.+)$", document.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_link_leads_to_a_file_and_a_heading_that_are_there() -> None:
    for document in DOCUMENTS:
        for target, heading in LINK.findall(CODE.sub("", document.read_text("utf-8"))):
            file = document.parent / target if target else document
            assert file.exists(), f"{document}: {target}"
            if heading and file.suffix == ".md":
                assert heading in headings(file.resolve()), f"{document}: {target}#{heading}"


def test_every_document_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    ahead = [ROOT / "README.md", ROOT / "docs" / "README.md"]
    while ahead:
        document = ahead.pop()
        if document in reached or document.suffix != ".md":
            continue
        reached.add(document)
        targets = [target for target, _ in LINK.findall(document.read_text("utf-8")) if target]
        files = [(document.parent / target).resolve() for target in targets]
        ahead += [file for path in files for file in ([path] if path.is_file() else path.glob("*.md"))]
    assert {document for document in DOCUMENTS if "docs" in document.parts} <= reached
