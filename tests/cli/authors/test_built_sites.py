"""Sites as the commands of the quick starts build them: each section is read, and a former address has none.

`make proofs` also installs VitePress and Docusaurus, for minutes; `tests/knowledge/reading/sites` has pages of both.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from sakuin.knowledge.page import Page
from sakuin_cli.site.pages import local_page
from sakuin_cli.site.uploads import uploads_below
from sakuin_local.places import REPOSITORY

from tests.clients.node import node
from tests.effort import EFFORT
from tests.knowledge.reading.test_sections import SITES as BUILT

PROGRAMS = REPOSITORY / ".tools" / "docs" / "bin"
LOCK = (REPOSITORY / "requirements" / "docs.txt").read_text("utf-8")
GUIDE = (REPOSITORY / "docs" / "how-to" / "documentation-sites.md").read_text("utf-8")
QUICK_STARTS = {
    name: block.splitlines() for name, block in re.findall(r"^### (\w+)\n\n```\n(.*?)^```", GUIDE, re.M | re.S)
}
CODE = "```sh\ntar xf kettle.tar\n    ./kettle --warm\n```"
MARKDOWN = f"""# Install

The program needs two megabytes.

## On Linux

Unpack the archive, then start it.

{CODE}

## Ports

| Port | For |
|---|---|
| 8080 | the kettle |
| 8081 | its lid |
"""
RST = """Install
=======

The program needs two megabytes.

On Linux
--------

Unpack the archive, then start it.

.. code-block:: sh

   tar xf kettle.tar
       ./kettle --warm

Ports
-----

==== ==========
Port For
==== ==========
8080 the kettle
8081 its lid
==== ==========
"""
MKDOCS = """site_name: Kettle
theme: {name: material, font: false}
plugins: [search, {redirects: {redirect_maps: {setup.md: install.md}}}]
markdown_extensions: [{pymdownx.highlight: {pygments_lang_class: true}}, pymdownx.superfences]
"""
SPHINX = """project = "Kettle"
extensions = ["sphinx_reredirects"]
redirects = {"setup": "install.html"}
"""
HUGO = """baseURL = "https://kettle.example/"
disableKinds = ["taxonomy", "term", "RSS", "sitemap", "section"]
"""
LAYOUT = """<!doctype html><html><head><title>{{ .Title }}</title></head><body>
<nav><a href=/>Home</a></nav><main><h1>{{ .Title }}</h1>{{ .Content }}</main></body></html>"""
INDEX = "# Kettle\n\nIt boils.\n"
ALIAS = "---\ntitle: Install\naliases: [/setup/]\n---"
SOURCES = {
    "MkDocs": {"mkdocs.yml": MKDOCS, "docs/index.md": INDEX, "docs/install.md": MARKDOWN},
    "Sphinx": {"docs/conf.py": SPHINX, "docs/index.rst": ".. toctree::\n\n   install\n", "docs/install.rst": RST},
    "Hugo": {
        "hugo.toml": HUGO,
        "layouts/single.html": LAYOUT,
        "content/install.md": MARKDOWN.replace("# Install", ALIAS, 1),
    },
}
DOCUSAURUS = """export default {title: "Kettle", url: "https://kettle.example", baseUrl: "/", onBrokenLinks: "ignore",
  presets: [["classic", {docs: {routeBasePath: "/"}, blog: false}]]};
"""
LARGE = {
    "VitePress": {"docs/index.md": INDEX, "docs/install.md": MARKDOWN},
    "Docusaurus": {"docusaurus.config.js": DOCUSAURUS, "docs/index.md": INDEX, "docs/install.md": MARKDOWN},
}


def pages(site: Path) -> dict[str, Page]:
    """Returns what a push of a folder reads, by the name of the page without its folder."""
    read = {one.path: local_page(one.path) for one in uploads_below([site], folder="").pages}
    names = {path: Path(path).relative_to(site).as_posix() for path in read}
    return {re.sub(r"(/index)?\.html$", "", names[path]): page for path, page in read.items() if isinstance(page, Page)}


@pytest.mark.parametrize("generator", [*SOURCES, *(LARGE if EFFORT > 1 else ())])
def test_the_site_of_a_quick_start_is_read_whole(generator: str, tmp_path: Path) -> None:
    for name, text in (SOURCES | LARGE)[generator].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    install, build, push = QUICK_STARTS[generator]
    # npm is this machine's, or the one that the Makefile got from PyPI.
    programs = (PROGRAMS, Path(node()).parent, REPOSITORY / ".tools" / "npm" / "bin", os.environ["PATH"])
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PATH": os.pathsep.join(map(str, programs))}
    for command in (install, build) if generator in LARGE else (build,):
        subprocess.run(command.split(), cwd=tmp_path, env=environment, check=True, capture_output=True, timeout=900)
    read = pages(tmp_path / push.split()[2])
    if generator in SOURCES:
        assert (read["setup"].explanations, "redirect" in read["setup"].words.left_out) == ((), True)
    intro, linux, ports = read["install"].explanations
    assert [intro.title, linux.title, ports.title] == ["Install", "On Linux", "Ports"]
    assert [linux.anchor, ports.anchor] == ["on-linux", "ports"]
    assert "The program needs two megabytes." in intro.content
    assert CODE in linux.content
    assert "| 8081 | its lid |" in ports.content
    assert {page.words.lost for page in read.values()} == {0}


@pytest.mark.parametrize("generator", ["VitePress", "Docusaurus"])
def test_the_folder_of_a_quick_start_is_read(generator: str, tmp_path: Path) -> None:
    _, _, push = QUICK_STARTS[generator]
    site = tmp_path / push.split()[2]
    site.mkdir(parents=True)
    shutil.copy(BUILT / f"{generator.lower()}.html", site / "install.html")
    assert pages(site)["install"].words.lost == 0


def test_the_versions_of_the_quick_starts_are_those_that_the_tests_build_with() -> None:
    named = [re.findall(r"([\w-]+)==([\d.]+)", install) for install, _, _ in QUICK_STARTS.values()]
    versions = [version for one in named for version in one]
    assert len(versions) == len(SOURCES)
    assert {f"{name}=={version}" for name, version in versions} <= set(re.findall(r"^[\w-]+==[\d.]+", LOCK, re.M))
