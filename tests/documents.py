"""The site of the documentation, some of its pages, and questions about Sakuin that they answer.

The vectors of these pages and questions are recorded (`recorded_vectors.py`).
"""

import os
import subprocess
from pathlib import Path

from sakuin_local.places import REPOSITORY

MKDOCS = REPOSITORY / ".tools" / "docs" / "bin" / "mkdocs"
PAGES = (
    "tutorials/first-pages",
    "tutorials/first-pages.ja",
    "tutorials/first-agent",
    "tutorials/first-search-tool",
    "how-to/documentation-sites",
    "how-to/search-over-rest",
)
# Pages that the golden questions of the site are about (docs/golden.jsonl), beside some of `PAGES`.
GOLDEN_PAGES = ("reference/cost", "how-to/erase", "how-to/not-found", "how-to/embedding-model", "explanation/vendors")
QUESTIONS = (
    ("How do I start Sakuin on my machine?", "tutorials/first-pages#1-start-sakuin"),
    ("How do I see why a page was not found?", "tutorials/first-pages#5-see-why"),
    ("What does validate report about a box without an id?", "tutorials/first-pages#4-correct-what-is-missing"),
    ("How do I connect Claude Code?", "tutorials/first-agent#1-connect-claude-code"),
    ("How do I give an agent the key of a Search Tool?", "tutorials/first-search-tool#3-give-it-to-an-agent"),
    ("What happens when I change a text of the document?", "tutorials/first-search-tool#4-edit-the-document"),
    ("How do I get more results than fit into one answer?", "how-to/search-over-rest#more-results"),
    ("Which meta tags can a page have?", "how-to/documentation-sites#settings-of-a-page"),
    ("検索結果の順位の理由を調べたい", "tutorials/first-pages.ja#5-結果の理由を調べる"),
    ("箱に id がないと言われたらどう直せばいい", "tutorials/first-pages.ja#4-足りないところを直す"),
)


def build_site(folder: Path, *, search: str = "") -> None:
    """Builds the site as `make docs` does; `search` is the address that its search box asks."""
    command = [str(MKDOCS), "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "SAKUIN_SITE_SEARCH": search}
    subprocess.run(command, cwd=REPOSITORY, env=environment, check=True)
