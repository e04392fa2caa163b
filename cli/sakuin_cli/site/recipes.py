"""How each site generator builds its pages, and the workflow that builds, checks and pushes them."""

import json
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from sakuin_cli.site.config import GOLDEN_FILE

WORKFLOW = Path(".github/workflows/sakuin.yml")


@dataclass(frozen=True, slots=True)
class Generator:
    """A site generator. `marks` are files that a site of it has; `pages` is the folder of built pages.

    `steps` are the lines of the workflow that build, below `steps:`.
    """

    name: str
    marks: tuple[str, ...]
    pages: str
    steps: str


# Their admonitions cannot have an id in the source, and their pages are indexed by headings.
WITHOUT_BOX_IDS = ("docusaurus", "mkdocs", "sphinx")

_NODE = """\
- uses: actions/setup-node@v4
  with: {node-version: 22}
- run: npm ci
"""
_PIP = "- run: pip install PACKAGES\n"

# The first whose mark exists is the one of a site.
GENERATORS = (
    Generator(
        "jekyll",
        ("_config.yml", "_config.toml"),
        "_site",
        "- uses: ruby/setup-ruby@v1\n  with: {ruby-version: '3.3', bundler-cache: true}\n"
        "- run: bundle exec jekyll build\n",
    ),
    Generator(
        "hugo",
        ("hugo.toml", "hugo.yaml", "hugo.json", "config/_default"),
        "public",
        "- uses: peaceiris/actions-hugo@v3\n  with: {hugo-version: latest, extended: true}\n- run: hugo\n",
    ),
    Generator(
        "astro", ("astro.config.mjs", "astro.config.ts", "astro.config.js"), "dist", f"{_NODE}- run: npx astro build\n"
    ),
    Generator(
        "docusaurus",
        ("docusaurus.config.ts", "docusaurus.config.js", "docusaurus.config.mjs"),
        "build",
        f"{_NODE}- run: npx docusaurus build\n",
    ),
    Generator("mkdocs", ("mkdocs.yml", "mkdocs.yaml"), "site", f"{_PIP}- run: mkdocs build\n"),
    *(
        Generator(
            "sphinx",
            (f"{folder}conf.py",),
            f"{built}_build/html",
            f"{_PIP}- run: sphinx-build -b html {folder or '.'} {built}_build/html\n",
        )
        for folder, built in (("docs/source/", "docs/"), ("docs/", "docs/"), ("source/", ""), ("", ""))
    ),
    Generator("html", (), ".", ""),
)
NAMES = tuple(dict.fromkeys(generator.name for generator in GENERATORS))


def generator_of(folder: Path, name: str | None) -> Generator:
    """Returns the named generator, otherwise the one whose files are in `folder`; plain HTML if there are none."""
    if name is not None and name not in NAMES:
        raise typer.BadParameter(f"It is one of {', '.join(NAMES)}", param_hint="--generator")
    known = [one for one in GENERATORS if name in (None, one.name)]
    marked = (one for one in known if any((folder / mark).exists() for mark in one.marks))
    found = next(marked, known[-1])
    if found.name != "html":
        lists = (path for path in ("requirements.txt", "docs/requirements.txt") if (folder / path).is_file())
        packages = next((f"-r {path}" for path in lists), found.name)
        return replace(found, steps=found.steps.replace("PACKAGES", packages))
    built = next((place for place in ("public", "html", "www", "site", "_site") if (folder / place).is_dir()), ".")
    return replace(found, pages=built)


def config_text(generator: Generator, prefix: str) -> str:
    """Returns the `sakuin.toml` of a site."""
    return (
        "# `sakuin push` and `sakuin watch` read this file.\n"
        f"# The folder of built pages ({generator.name}):\n"
        f"pages = {json.dumps(generator.pages)}\n"
        "# Their folder in the library; empty for its top. Links to pages begin with it.\n"
        f"prefix = {json.dumps(prefix, ensure_ascii=False)}\n"
        "# What agents read about this folder; a push with an admin key writes it:\n"
        '# description = "How to use the app, for its users."\n'
    )


def workflow_text(generator: Generator, prefix: str) -> str:
    """Returns a workflow for GitHub Actions: build, check, push. Only the main branch is pushed."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # GitHub's own expressions stand in double braces.
    templates = Environment(
        loader=PackageLoader("sakuin_cli", "site"),
        undefined=StrictUndefined,
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - YAML
    )
    return templates.get_template("workflow.yml").render(
        golden=GOLDEN_FILE,
        pages=generator.pages,
        prefix=shlex.quote(prefix) if prefix else "",
        steps=generator.steps.splitlines(),
        has_box_ids=generator.name not in WITHOUT_BOX_IDS,
    )
