"""Every command: its help, and with `--json` a call that succeeds and calls that fail."""

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.golden.deployment import REPOSITORY, Deployment
from tests.golden.files import Entries
from tests.golden.normalise import Normaliser, lines
from tests.golden.searches import TOOL

_SAMPLES = REPOSITORY / "samples"
_LABELS = REPOSITORY / "tests" / "labels"
_NOBODY = str(UUID(int=7))
_FORMULA = "junior/二次方程式の解き方_教材#rule-quadratic-formula"
_PAGE = """<!DOCTYPE html><html lang="ja"><head><title>角の二等分線</title><meta name="category" content="図形">
<meta name="level" content="中学"></head><body><h1>角の二等分線</h1>
<div class="rule-box" id="rule-bisector"><strong>角の二等分線と比</strong>
<p>角の二等分線は、対辺を残りの二辺の比に分けます。<a href="#nothing">ここ</a></p></div>
<div class="tip-box"><strong>ひと息</strong><p>折り紙で確かめられます。</p></div></body></html>
"""
_LEARNS = "角の二等分線:\n  rule-bisector:\n    - 対辺の比を求める方法\n"


@dataclass(slots=True)
class Terminal:
    """A person at a terminal, in a folder with some files."""

    deployment: Deployment
    folder: Path
    normaliser: Normaliser
    entries: Entries = field(default_factory=dict)

    def run(self, name: str, *arguments: str, settings: dict[str, str] | None = None) -> Any:
        """Runs a command and records it; returns the JSON that it printed."""
        done = self.deployment.sakuin(*arguments, settings=settings, folder=self.folder)
        printed = _json(done.stdout)
        assert name not in self.entries, name
        self.entries[name] = {
            "command": self.normaliser.text(" ".join(arguments)),
            "exit": done.returncode,
            "stdout": self.normaliser.value(printed),
            "stderr": self.normaliser.value(lines(done.stderr)),
        }
        return printed

    def with_json(self, name: str, *arguments: str, settings: dict[str, str] | None = None) -> Any:
        """Does the same with `--json`."""
        return self.run(name, *arguments, "--json", settings=settings)

    def file(self, name: str, content: str) -> str:
        """Writes a file into the folder; returns its relative path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return name


def commands(deployment: Deployment) -> Entries:
    """Returns what each command prints and its exit code."""
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        folder = Path(name).resolve()
        normaliser = deployment.normaliser()
        normaliser.name(str(folder), "<folder>")
        terminal = Terminal(deployment, folder, normaliser)
        _searches(terminal)
        _validation(terminal)
        _evaluation(terminal)
        _projects(terminal)
        _pages(terminal)
        _operation(terminal)
        _keys(terminal)
        _misconfiguration(terminal)
        return terminal.entries


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return lines(text)


def _searches(terminal: Terminal) -> None:
    run, plain = terminal.with_json, terminal.run
    run("search", "search", "二次方程式を公式で解きたい", "--top-k", "2")
    run(
        "search, filtered",
        "search",
        "求め方",
        "--type",
        "rule",
        "--category",
        "図形",
        "--level",
        "中学",
        "--top-k",
        "2",
    )
    run("search without a match", "search", "おすすめのラーメン屋")
    run("search: a Search Tool", "search", "復習の間隔", "--tool", TOOL, "--top-k", "1")
    run("search: no Search Tool of this name", "search", "復習の間隔", "--tool", "nothing")
    run("search: a blank question", "search", " ")
    run("search: no question", "search")
    run("search: too many results", "search", "a", "--top-k", "51")
    run("search: a wrong type", "search", "a", "--type", "theorem")
    plain("search, for people", "search", "二次方程式を公式で解きたい", "--top-k", "2")
    plain("search without a match, for people", "search", "おすすめのラーメン屋")
    run("chunk", "chunk", _FORMULA)
    run("chunk: not there", "chunk", "junior/nothing#rule-nothing")
    plain("chunk, for people", "chunk", _FORMULA)
    plain("chunk: not there, for people", "chunk", "junior/nothing#rule-nothing")
    run("explain", "explain", "かいのこうしき", _FORMULA, "--top-k", "1")
    run("explain: words, without a rule", "explain", "かいのこうしき", "--legs", "words", "--without", "rewriting")
    run("explain: a Search Tool", "explain", "復習の間隔", "/articles/12/content", "--tool", TOOL, "--top-k", "1")
    run("explain: an unknown index", "explain", "a", "--index", "0000")
    run("explain: an unknown rule", "explain", "a", "--without", "magic")
    plain("explain, for people", "explain", "かいのこうしき", _FORMULA, "--top-k", "1")
    status = run("status", "status")
    assert status["last_indexed"], status
    run("status: a page", "status", "--material", "junior/一次関数_教材")
    run("status: a page that is not there", "status", "--material", "junior/nothing")
    run("status: a Tool that is not there", "status", "--tool", _NOBODY)
    run("status: a Tool that is no UUID", "status", "--tool", "five")
    plain("status, for people", "status")


def _validation(terminal: Terminal) -> None:
    run = terminal.with_json
    page = terminal.file("pages/角の二等分線.html", _PAGE)
    terminal.file("double/a.html", '<div id="rule-a"><b>A</b></div><div id="rule-a"><b>B</b></div>')
    terminal.file("double/empty.html", "")
    run("validate", "validate")
    run("validate: below a prefix", "validate", "--prefix", "junior")
    run("validate: pages here", "validate", str(_SAMPLES))
    run("validate: a page here, strict", "validate", page, "--strict")
    run("validate: errors here", "validate", "double")
    run("validate: not there", "validate", "nothing")
    terminal.run("validate, for people", "validate", "double")


def _evaluation(terminal: Terminal) -> None:
    run = terminal.with_json
    labels = (_LABELS / "knowledge.jsonl").read_text(encoding="utf-8").splitlines()
    some = terminal.file("some.jsonl", "\n".join(labels[:3] + labels[-1:]))
    one = terminal.file("one.jsonl", labels[0])
    bad = terminal.file("bad.jsonl", labels[0] + '\n{"query": ""}\nno JSON\n{"query": "a", "gold": "b"}\n')
    columns = (_LABELS / "table.jsonl").read_text(encoding="utf-8").splitlines()
    table = terminal.file("table.jsonl", "\n".join(columns[:2]))
    run("eval", "eval", some, "--save", "run.json")
    run("eval: compared", "eval", some, "--compare", "run.json", "--half", "dev")
    run("eval: a floor is missed", "eval", one, "--min", "recall@5=1.01")
    run("eval: bad lines", "eval", bad)
    run("eval: a Search Tool", "eval", table, "--tool", TOOL, "--k", "3")
    run("eval: ablations", "eval", one, "--ablations")
    run("eval: not there", "eval", "nothing.jsonl")
    run("eval: a bad floor", "eval", some, "--min", "recall")
    terminal.run("eval, for people", "eval", some)


def _projects(terminal: Terminal) -> None:
    run, normaliser, deployment = terminal.with_json, terminal.normaliser, terminal.deployment
    project = normaliser.name(deployment.api("POST", "/v1/projects", {"name": "golden"})["id"], "<project>")
    here = ("--project", project)
    document = terminal.file(
        "columns.json", json.dumps({"articles": [{"content": "円の面積は半径で決まります。" * 90}]})
    )
    broken = terminal.file("broken.json", '{"articles": [')
    table = normaliser.name(run("table put", "table", "put", document, *here)["table_id"], "<table>")
    terminal.entries["table put"]["stdout"]["table_id"] = "<table>"
    run("table put: the next version", "table", "put", document, "--id", table)
    run("table put: no JSON", "table", "put", broken, *here)
    run("table put: not there", "table", "put", "nothing.json", *here)
    run("table put: no such Table", "table", "put", document, "--id", _NOBODY)
    create = ("tool", "create", "--table", table, "--json-path", "/articles", *here)
    made = run("tool create", *create, "--name", "golden_articles", "--description", "円", "--wait")
    tool = normaliser.name(made["tool_id"], "<tool>")
    terminal.entries["tool create"]["stdout"]["tool_id"] = "<tool>"
    run("status: a Tool", "status", "--tool", tool)
    run("tool create: a bad name", *create, "--name", "a b")
    run("tool create: no such Table", "tool", "create", "--table", _NOBODY, "--json-path", "", "--name", "a", *here)
    run("tool create: no pointer", "tool", "create", "--table", table, "--json-path", "articles", "--name", "a", *here)
    run("tool reindex", "tool", "reindex", tool)
    deployment.wait_for_tool(tool)
    run("tool reindex: not there", "tool", "reindex", _NOBODY)
    with deployment.without_schedule("Schedule"):
        _lose_chunks(deployment, project, table)
        run("reconcile: what would be repaired", "reconcile", "--tables", "--dry-run")
        terminal.run("reconcile: what is repaired, for people", "reconcile", "--tables")
        deployment.wait_for_rest()
        deployment.wait_for_tool(tool)
        run("reconcile: after the repair", "reconcile", "--tables")
    made = run("mcp create", "mcp", "create", "--name", "golden", "--tool", tool, *here)
    endpoint = normaliser.name(made["mcp_id"], "<endpoint>")
    terminal.entries["mcp create"]["stdout"]["mcp_id"] = "<endpoint>"
    run("mcp create: no such Tool", "mcp", "create", "--name", "a", "--tool", _NOBODY, *here)
    for verb in ("unbind", "bind"):
        run(f"mcp {verb}", "mcp", verb, endpoint, "--tool", tool)
        run(f"mcp {verb}: no such Tool", "mcp", verb, endpoint, "--tool", _NOBODY)
    for verb in ("disable", "enable", "rotate"):
        run(f"mcp {verb}", "mcp", verb, endpoint)
        run(f"mcp {verb}: not there", "mcp", verb, _NOBODY)
    user = str(UUID(int=1))
    normaliser.name(user, "<user>")
    for each in (user, str(UUID(int=2))):
        deployment.request("POST", f"/v1/projects/{project}/members", key=deployment.admin_key, json={"user_id": each})
    members = run("member list", "member", "list", *here)
    assert len(members["members"]) == 2, members
    run("member list: no such project", "member", "list", "--project", _NOBODY)
    run("member rm", "member", "rm", user, *here)
    run("member rm: no member", "member", "rm", user, *here)
    run("member rm: the last one", "member", "rm", str(UUID(int=2)), *here)
    run("tool rm", "tool", "rm", tool)
    run("tool rm: not there", "tool", "rm", tool)
    run("table rm", "table", "rm", table)
    run("table rm: not there", "table", "rm", table)
    deployment.api("DELETE", f"/v1/projects/{project}")


def _lose_chunks(deployment: Deployment, project: str, table: str) -> None:
    """Deletes what the search engine holds of a Table."""
    url = f"{deployment.environment['SAKUIN_TURBOPUFFER_BASE_URL']}/v2/namespaces/project_{project}_table_{table}"
    answer = deployment.http.delete(url, headers={"Authorization": "Bearer any"})
    answer.raise_for_status()


def _pages(terminal: Terminal) -> None:
    run = terminal.with_json
    terminal.file("pages/learns.yml", _LEARNS)
    terminal.file("pages/style.css", "p {}")
    terminal.file("failing/empty.html", "")
    terminal.file("failing/good.html", _PAGE.replace("角の", "線分の"))
    run("push", "push", "pages", "--prefix", "golden")
    run("push: the same again", "push", "pages/角の二等分線.html", "--prefix", "golden")
    run("push: a page fails", "push", "failing", "--prefix", "golden")
    run("push: not there", "push", "nothing")
    run("push: another kind of file", "push", "pages/style.css")
    run("chunk: a pushed one", "chunk", "golden/角の二等分線#rule-bisector")
    run("status: with a failed page", "status")
    run("status: a failed page", "status", "--material", "golden/empty")
    run("validate: with a failed page", "validate", "--prefix", "golden")
    pages = ("golden/角の二等分線", "golden/good", "golden/empty")
    run("rm", "rm", pages[0])
    run("rm: one is not there", "rm", *pages)
    run("rm: no name", "rm")
    run("chunk: a removed one", "chunk", "golden/角の二等分線#rule-bisector")
    _remove_object(terminal.deployment, "golden/learns.yml")
    terminal.deployment.wait_for_rest()


def _remove_object(deployment: Deployment, key: str) -> None:
    deployment.aws("s3").delete_object(Bucket=deployment.environment["SAKUIN_BUCKET"], Key=key)


def _operation(terminal: Terminal) -> None:
    run = terminal.with_json
    live = run("index status", "index", "status")["indexes"][0]["fingerprint"]
    terminal.run("index status, for people", "index", "status")
    run("index activate: to the live one", "index", "activate", live)
    run("index activate: no next one", "index", "activate")
    run("index activate: not there", "index", "activate", "0000")
    run("index drop: the live one", "index", "drop", live)
    run("index drop: not there", "index", "drop", "0000")
    run("reconcile: a dry run", "reconcile", "--dry-run")
    run("reconcile: pages", "reconcile", "--materials")
    run("reconcile: Tables", "reconcile", "--tables")
    terminal.run("reconcile, for people", "reconcile", "--dry-run")
    run("redrive", "redrive")
    run("redrive: a queue", "redrive", "embed", "--all")
    run("redrive: not there", "redrive", "--id", "00000000")
    run("redrive: no such queue", "redrive", "mail")
    terminal.run("redrive, for people", "redrive")


def _keys(terminal: Terminal) -> None:
    run = terminal.with_json
    made = run("keys new", "keys", "new", "--for", "knowledge")
    terminal.normaliser.name(made["hash"], "<hash of the new key>")
    run("keys new: for nobody", "keys", "new", "--for", "people")
    kept = run("keys list", "keys", "list")
    assert {each["for"] for each in kept["keys"]} == {"knowledge", "admin"}, kept
    for each in kept["keys"]:
        if each["hash"] != made["hash"]:
            terminal.normaliser.name(each["hash"], f"<hash of the {each['for']} key>")
    run("keys rm", "keys", "rm", made["hash"])
    run("keys rm: not there", "keys", "rm", "0123456789ab")
    run("keys rm: too short", "keys", "rm", "01")
    run("keys pepper: nothing to forget", "keys", "pepper", "--forget")
    run("keys pepper", "keys", "pepper")
    run("keys pepper: too early to forget", "keys", "pepper", "--forget")


def _misconfiguration(terminal: Terminal) -> None:
    settings = dict(terminal.deployment.environment)
    wrong = {**settings, "SAKUIN_ADMIN_KEY": "sk_sakuin_" + "w" * 43, "SAKUIN_API_KEY": "sk_sakuin_" + "w" * 43}
    # Nothing listens there.
    away = {**settings, "SAKUIN_URL": "http://127.0.0.1:9", "SAKUIN_TOOLS_MCP_URL": "http://127.0.0.1:9/mcp/x"}
    bare = {"SAKUIN_URL": settings["SAKUIN_URL"]}
    calls = {
        "push": ("push", "pages"),
        "rm": ("rm", "a"),
        "search": ("search", "a"),
        "chunk": ("chunk", "a#b"),
        "explain": ("explain", "a"),
        "eval": ("eval", "one.jsonl"),
        "status": ("status",),
        "validate": ("validate",),
        "reconcile": ("reconcile", "--dry-run"),
        "redrive": ("redrive",),
        "table rm": ("table", "rm", _NOBODY),
        "tool rm": ("tool", "rm", _NOBODY),
        "mcp disable": ("mcp", "disable", _NOBODY),
        "member list": ("member", "list"),
        "keys list": ("keys", "list"),
        "index status": ("index", "status"),
    }
    for name, arguments in calls.items():
        terminal.with_json(f"an address alone: {name}", *arguments, settings=bare)
    for name in ("push", "status", "keys list"):
        terminal.with_json(f"no settings: {name}", *calls[name], settings={})
    for name in ("search", "status", "explain", "index status", "table rm"):
        terminal.with_json(f"a wrong key: {name}", *calls[name], settings=wrong)
        terminal.with_json(f"nobody answers: {name}", *calls[name], settings=away)
    terminal.run("no settings, for people", "status", settings={})
    terminal.run("a wrong key, for people", "status", settings=wrong)
    terminal.run("an unknown command", "nothing")
    terminal.run("an unknown option", "status", "--nothing")
    terminal.run("no command")
    port = settings["SAKUIN_URL"].rpartition(":")[2]
    terminal.run("up: the port is taken", "up", "--port", port, "--data", "data", "--no-samples", settings={})
    terminal.run("up: a folder of somebody else", "up", "--port", "0", "--data", "pages", settings={})
    terminal.run("up: no port", "up", "--port", "many", settings={})
