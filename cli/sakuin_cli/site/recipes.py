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
        "astro",
        ("astro.config.mjs", "astro.config.ts", "astro.config.js"),
        "dist",
        f"{_NODE}- run: npx astro build\n",
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


def _check(generator: Generator) -> tuple[str, ...]:
    """Returns the steps that predict the answers of golden questions, with the pages of the last push to compare."""
    kept = ".sakuin-check"
    has_both = f"hashFiles('{GOLDEN_FILE}') != '' && hashFiles('{kept}/pages/**') != ''"
    return (
        "- uses: actions/cache@v4",
        f"  with: {{path: {kept}, key: 'sakuin-${{{{ github.sha }}}}', restore-keys: sakuin-}}",
        f"- run: sakuin check --before {kept}/pages --cache {kept}/check.sqlite"
        " --markdown sakuin.md --sarif sakuin-check.sarif",
        f"  if: github.event_name == 'pull_request' && {has_both}",
        "  env:",
        "    SAKUIN_URL: ${{ vars.SAKUIN_URL }}",
        "    SAKUIN_PUSH_KEY: ${{ secrets.SAKUIN_PUSH_KEY }}",
        "- run: gh pr comment ${{ github.event.number }} --body-file sakuin.md",
        "  if: failure() && hashFiles('sakuin.md') != ''",
        "  env: {GH_TOKEN: '${{ github.token }}'}",
        "- uses: github/codeql-action/upload-sarif@v3",
        "  if: always() && hashFiles('sakuin-check.sarif') != ''",
        "  with: {sarif_file: sakuin-check.sarif, category: sakuin-check}",
        f"- run: rm -rf {kept}/pages && mkdir -p {kept}/pages && cp -r {generator.pages}/. {kept}/pages",
        "  if: github.ref == 'refs/heads/main'",
    )


def workflow_text(generator: Generator, prefix: str) -> str:
    """Returns a workflow for GitHub Actions: build, check, push. Only the main branch is pushed."""
    key = f"sakuin keys new --for push --name NAME{f' --in {shlex.quote(prefix)}' if prefix else ''}"
    folder = f" --prefix {shlex.quote(prefix)}" if prefix else ""
    # Below a prefix of its own, the library has nothing of other sites. The dry run fails if pages lose much.
    push = "sakuin push --dry-run && sakuin push --delete --yes" if prefix else "sakuin push"
    steps = "".join(
        f"      {line}\n"
        for line in (
            "- uses: actions/checkout@v4",
            "- uses: actions/setup-python@v5",
            "  with: {python-version: '3.13'}",
            *generator.steps.splitlines(),
            "- name: Install Sakuin",
            "  run: |",
            "    git clone --depth 1 --branch ${{ vars.SAKUIN_VERSION }} ${{ vars.SAKUIN_REPOSITORY }} ../sakuin",
            "    python -m venv ../sakuin-env",
            "    ../sakuin-env/bin/pip install --require-hashes -r ../sakuin/requirements/dev.txt",
            "    ../sakuin-env/bin/pip install --no-deps ../sakuin",
            '    echo "$(realpath ../sakuin-env/bin)" >> "$GITHUB_PATH"',
            *(() if generator.name in WITHOUT_BOX_IDS else (f"- run: sakuin annotate {generator.pages} --check",)),
            f"- run: sakuin validate {generator.pages}{folder} --offline --sarif sakuin.sarif",
            "- uses: github/codeql-action/upload-sarif@v3",
            "  if: always() && hashFiles('sakuin.sarif') != ''",
            "  with: {sarif_file: sakuin.sarif}",
            *_check(generator),
            f"- run: {push}",
            "  if: github.ref == 'refs/heads/main'",
            "  env:",
            "    SAKUIN_URL: ${{ vars.SAKUIN_URL }}",
            "    SAKUIN_PUSH_KEY: ${{ secrets.SAKUIN_PUSH_KEY }}",
        )
    )
    return f"""\
# Builds the site, checks its pages, and pushes them to Sakuin from the main branch. In a pull request it comments on
# golden questions ({GOLDEN_FILE}) that would lose their answer.
# Variables of the repository: SAKUIN_URL, and SAKUIN_REPOSITORY with SAKUIN_VERSION (a tag or branch), from which the
# command is installed. Secret: SAKUIN_PUSH_KEY, which an operator makes with `{key}`.
name: sakuin
on:
  push: {{branches: [main]}}
  pull_request:
permissions: {{contents: read, pull-requests: write, security-events: write}}
jobs:
  pages:
    runs-on: ubuntu-latest
    steps:
{steps}"""
