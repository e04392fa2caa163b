"""An example or two for the help of each command."""

import typer

EXAMPLES: dict[str, tuple[str, ...]] = {
    "push": ("sakuin push my-pages/", "sakuin push my-pages/ --dry-run", "sakuin push x.html --prefix junior"),
    "rm": ("sakuin rm junior/x", "sakuin rm junior/learns.yml synonyms.yml", "sakuin rm junior/"),
    "list": ("sakuin list --prefix junior",),
    "init": ("sakuin init", "sakuin init --generator hugo --prefix docs"),
    "watch": ("sakuin watch _site",),
    "annotate": ("sakuin annotate pages/", "sakuin annotate pages/ --write", "sakuin annotate _site/ --check"),
    "learns": ("sakuin learns pages/", "sakuin learns --json"),
    "connect": ("sakuin connect", "sakuin connect codex cursor", "sakuin connect --print", "sakuin connect --undo"),
    "search": ('sakuin search "how to solve a quadratic equation" --top-k 3',),
    "chunk": ('sakuin chunk "junior/x#rule-quadratic-formula"',),
    "read": ("sakuin read junior/x", 'sakuin read "junior/x#rule-quadratic-formula" --line 2'),
    "find": ('sakuin find "quadratic formula" --in junior', "sakuin find 'x ?= ?[0-9]+' --pattern"),
    "explain": ('sakuin explain "quadratic formula" "junior/x#rule-quadratic-formula"',),
    "eval": ("sakuin eval labels.jsonl --min recall@5=0.85", "sakuin eval labels.jsonl --bootstrap --from site/"),
    "changes": ("sakuin changes", "sakuin changes --since CURSOR --kind page.failed"),
    "status": ("sakuin status", "sakuin status --material junior/x"),
    "validate": ("sakuin validate", "sakuin validate my-pages/ --offline --sarif sakuin.sarif"),
    "check": ("sakuin check _site/ --before ../main/_site/", "sakuin check --before old/ --markdown comment.md"),
    "coverage": ("sakuin coverage exam.json _site/", "sakuin coverage exam.html --html coverage.html --at 0.3"),
    "reconcile": ("sakuin reconcile --dry-run",),
    "redrive": ("sakuin redrive", "sakuin redrive material --all"),
    "doctor": ("sakuin doctor",),
    "describe": ('sakuin describe "Mathematics, grades 7 to 9"', 'sakuin describe --in docs "How to use the app"'),
    "gaps": ("sakuin gaps", "sakuin gaps 3f9a1b2c4d5e"),
    "project list": ("sakuin project list",),
    "table list": ("sakuin table list",),
    "table put": ("sakuin table put columns.json --name Columns", "sakuin table put columns.json --id ID"),
    "table change": ("sakuin table change ID --chunk-threshold 80",),
    "table rm": ("sakuin table rm ID",),
    "table synonyms": ("sakuin table synonyms synonyms.yml",),
    "tool list": ("sakuin tool list",),
    "tool create": ("sakuin tool create --table ID --json-path /articles --name search_articles --wait",),
    "tool rm": ("sakuin tool rm ID",),
    "tool reindex": ("sakuin tool reindex ID",),
    "mcp list": ("sakuin mcp list",),
    "mcp create": ("sakuin mcp create --name tutor --tool ID",),
    "mcp bind": ("sakuin mcp bind ID --tool ID",),
    "mcp unbind": ("sakuin mcp unbind ID --tool ID",),
    "mcp disable": ("sakuin mcp disable ID",),
    "mcp enable": ("sakuin mcp enable ID",),
    "mcp rotate": ("sakuin mcp rotate ID",),
    "keys new": ("sakuin keys new --for admin",),
    "keys database": ("sakuin keys database",),
    "keys list": ("sakuin keys list",),
    "keys rm": ("sakuin keys rm 3f9a1b2c4d5e",),
    "index status": ("sakuin index status",),
    "index activate": ("sakuin index activate",),
    "index drop": ("sakuin index drop FINGERPRINT",),
}


def add_examples(app: typer.Typer, group: str = "") -> None:
    """Puts the examples below the help of each command."""
    for command in app.registered_commands:
        name = command.name or getattr(command.callback, "__name__", "")
        if examples := EXAMPLES.get(f"{group}{name}"):
            # Of an epilog, help keeps the lines of paragraphs only.
            command.epilog = "\n\n".join(("Examples:", *examples))
    for below in app.registered_groups:
        if below.typer_instance is not None:
            add_examples(below.typer_instance, f"{below.typer_instance.info.name} ")
