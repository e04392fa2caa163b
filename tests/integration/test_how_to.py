"""The commands of the how-to guides do what the guides say, typed in their order on the local stack."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.connecting.programs import calls_of, installed
from tests.documents import PAGES, QUESTIONS, build_site
from tests.integration.conftest import REPOSITORY, Deployed
from tests.integration.terminal import Terminal

pytestmark = pytest.mark.integration

GUIDES = REPOSITORY / "docs" / "how-to"
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
SHELL = ("", "sh", "console")
TYPED = (
    *("clients.md", "documentation-sites.md", "evaluation.md", "rotation.md"),
    *("search-over-rest.md", "tables.md", "writing-pages.md"),
)
ELSEWHERE = {
    "backup.md": "tests/upkeep/test_backup.py types it",
    "deploy.md": "tests/integration/test_guides.py types it",
    "embedding-model.md": "it needs a model of 1 GB; tests/local/test_local_embeddings.py embeds with a small one",
    "erase.md": "it needs a customer's data; tests/cli/test_cli_erase.py erases one's",
    "events.md": "it needs AWS; tests/integration/test_redrive.py makes the same by boto3",
    "upgrade.md": "tests/upgrade types what is not AWS",
    "local-invoke.md": "it needs Docker; tests/local_invoke does the same",
}
ASKS = "sakuin connect"  # on a terminal
# Commands that begin so are not typed.
LEFT_OUT = (
    "sakuin push --watch",  # it runs until Ctrl-C
    "claude ",  # it is another program
    *("pip install", "npm install"),  # tests/cli/authors/test_built_sites.py builds with these versions
    "npx @modelcontextprotocol/inspector",  # test_clients.py runs it
    "export SAKUIN_API_KEY=",  # it is known
    "sakuin eval labels.jsonl --json > live.json",  # tests/cli/test_cli_index.py has another index version
    "sakuin eval labels.jsonl --index next",
    "sakuin eval --compare live.json",
    "sakuin index --activate next",
)
# One question of each, and one that nothing answers.
LABELLED = ("natural", "kana-only", "typo", "english", "off-topic")


def commands(guide: str) -> list[str]:
    """The commands in the blocks of a guide, without the comment behind them: a line, with those that continue it."""
    found = [""]
    blocks = BLOCK.findall((GUIDES / guide).read_text("utf-8"))
    for line in "\n".join(block for language, block in blocks if language in SHELL).splitlines():
        found[-1] += re.sub(r"(^| +)# .*", "", line)
        if is_open(found[-1]):
            found[-1] += "\n"
        else:
            found.append("")
    return [command.strip() for command in found if command.strip()]


def is_open(command: str) -> bool:
    """Whether the next line continues the command."""
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return True
    return command.endswith("\\")


def follow(reader: Terminal, guide: str) -> Iterator[tuple[str, str]]:
    """Types the commands of a guide; yields each with what it prints."""
    assert guide in TYPED
    for command in commands(guide):
        if command != ASKS and not command.startswith(LEFT_OUT):
            yield command, reader.types(command)


@pytest.fixture
def reader(deployed: Deployed, tmp_path: Path) -> Terminal:
    (tmp_path / ".sakuin").symlink_to(deployed.environment["SAKUIN_DATA_FOLDER"])
    return Terminal(tmp_path, deployed.url, {"https://HOST": deployed.url})


@pytest.fixture
def articles(reader: Terminal) -> str:
    """The first articles of the sample Table, in the reader's folder."""
    document = json.loads((REPOSITORY / "samples" / "tables" / "学習コラム.json").read_text("utf-8"))
    text = json.dumps({"articles": document["articles"][:3]}, ensure_ascii=False)
    reader.saves("articles.json", text)
    return text


def test_every_guide_with_commands_is_typed_here_or_elsewhere() -> None:
    assert {path.name for path in GUIDES.glob("*.md") if commands(path.name)} == {*TYPED, *ELSEWHERE}


def test_a_command_that_is_left_out_is_in_a_guide() -> None:
    typed = [command for guide in TYPED for command in commands(guide)]
    assert [begin for begin in LEFT_OUT if not any(command.startswith(begin) for command in typed)] == []


@pytest.mark.usefixtures("articles")
def test_tables_and_searches_over_rest(reader: Terminal, deployed: Deployed) -> None:
    given = deployed.environment
    reader.known |= {"PROJECT_ID": given["SAKUIN_PROJECT"]}
    entry = {"question": "Can I get my money back?", "answer": "Within 30 days.", "plan": "pro"}
    reader.saves("faq.json", json.dumps({"faq": [{**entry, "tenant": tenant} for tenant in (42, 43)]}))
    printed = dict(follow(reader, "tables.md"))
    (found,) = [text for line, text in printed.items() if line.startswith("sakuin tool new --table faq")]
    assert "4 indexed, of entries /faq/*" in found
    printed = [text for command, text in follow(reader, "search-over-rest.md") if command.startswith("curl")]
    pages, read, find, feedback, table = map(json.loads, printed)
    assert pages["results"][0]["title"] == "解の公式"
    assert "二次方程式" in read["text"]
    assert find["places"]
    assert feedback["answered"] is True
    assert {"results", "no_good_match"} <= table.keys()
    reader.types("sakuin endpoint change MCP_ID --disable && sakuin table rm TABLE_ID")


def test_a_site_is_pushed_and_answers_with_links_to_its_anchors(reader: Terminal) -> None:
    build_site(reader.folder / "whole")
    built = {"mkdocs": "site", "sphinx-build": "build/html", "hugo": "public", "npx": '"$site"'}
    one_page = f"mkdir -p $site/tutorials; cp whole/{PAGES[0]}.html $site/{PAGES[0]}.html"
    copies = (f"mkdir -p site/{Path(page).parent}; cp whole/{page}.html site/{page}.html" for page in PAGES)
    every_page = "\n".join(copies)
    for program, site in built.items():
        of_npx = (
            'rm -rf build; site=build; [ "$1" != vitepress ] || site=docs/.vitepress/dist\n' if program == "npx" else ""
        )
        reader.installs(program, f"{of_npx}site={site}\n{every_page if program == 'mkdocs' else one_page}")
    pushes = [printed for typed, printed in follow(reader, "documentation-sites.md") if typed.startswith("sakuin push")]
    counts = [re.findall(r"(\d+) of \d+ pages searchable", pushed) for pushed in pushes]
    assert counts == [[str(len(PAGES))], *[["1"]] * 4]
    for question, expected in QUESTIONS[::4]:
        answer = json.loads(reader.types(f"sakuin search --json --top-k 3 {shlex.quote(question)}"))
        (link,) = [
            hit["url"]
            for hit in answer["results"]
            if hit["url"].endswith(f"handbook/{expected.replace('#', '.html#')}")
        ]
        page, _, anchor = link.partition("#")
        assert f'id="{anchor}"' in httpx.get(page).text
    reader.types("rm -r build public docs")
    init, *others = [command for command, _ in follow(reader, "writing-pages.md")]
    assert init == "sakuin init --prefix handbook"
    others = [command for command in others if not command.startswith("sakuin describe")]
    assert others == ["sakuin push --dry-run", "sakuin push --delete", "sakuin list"]
    reader.types("sakuin rm " + " ".join(f"handbook/{page}" for page in PAGES))


def test_the_quality_of_answers_is_measured(reader: Terminal) -> None:
    labels = REPOSITORY / "tests" / "labels"
    lines = [line for line in (labels / "knowledge.jsonl").read_text("utf-8").splitlines() if '"dev"' in line]
    chosen = [next(line for line in lines if f'"category": "{name}"' in line) for name in LABELLED]
    reader.saves("tests/labels/knowledge.jsonl", "\n".join(chosen[:2]))
    reader.saves("tests/labels/table.jsonl", "\n".join((labels / "table.jsonl").read_text("utf-8").splitlines()[:2]))
    reader.saves("labels.jsonl", "\n".join(chosen))
    answered = json.loads(chosen[0])["query"]
    reader.saves("golden.jsonl", json.dumps({"query": answered}, ensure_ascii=False))
    reader.saves("exercises.html", f"<ol><li>{answered}</ol>")
    printed = dict(follow(reader, "evaluation.md"))
    assert "0 of 1 question have another answer" in printed["sakuin eval --compare before.json now.json"]


def test_clients_are_connected(reader: Terminal) -> None:
    programs = installed(reader.folder / "bin", "codex")
    printed = dict(follow(reader, "clients.md"))
    assert "codex added" in printed["sakuin connect codex cursor"]
    assert "Cursor: write into ~/.cursor/mcp.json" in printed["sakuin connect codex cursor"]
    assert calls_of(programs)[-1].startswith("codex mcp remove sakuin")


def test_keys_are_replaced(reader: Terminal, deployed: Deployed) -> None:
    secret, name = deployed.client("secretsmanager"), deployed.environment["SAKUIN_SECRET"] + "-search"
    before = secret.get_secret_value(SecretId=name)["SecretString"]
    reader.known["MCP_ID"] = deployed.printed("endpoint", "new", "--name", "rotated")["mcp_id"]
    printed = dict(follow(reader, "rotation.md"))
    assert "removed" in printed["sakuin keys rm HASH"]
    assert json.loads(secret.get_secret_value(SecretId=name)["SecretString"]) == json.loads(before)
    reader.types("sakuin endpoint change MCP_ID --disable")


def test_a_key_that_pushes_needs_no_right_in_aws(reader: Terminal) -> None:
    made = json.loads(reader.types("sakuin keys new --for push --name CI --in keyed --json"))
    reader.saves("pages/a.html", (REPOSITORY / "samples" / "junior" / "一次関数_教材.html").read_text("utf-8"))
    author = f"env -u AWS_ACCESS_KEY_ID SAKUIN_ADMIN_KEY= SAKUIN_BUCKET= SAKUIN_PUSH_KEY={made['key']}"
    assert "1 of 1 pages searchable" in reader.types(f"{author} sakuin push pages --prefix keyed")
    reader.types("rm pages/*")
    reader.saves("pages/b.html", (REPOSITORY / "samples" / "junior" / "一次関数_教材.html").read_text("utf-8"))
    assert "keyed/a" in reader.types(f"{author} sakuin push pages --prefix keyed --delete --yes --json")
    reader.types("sakuin rm keyed/b")
    reader.types(f"sakuin keys rm {made['hash']}")
