"""Examples for the help of commands, where the options do not say enough."""

import typer

EXAMPLES: dict[str, tuple[str, ...]] = {
    "push": ("sakuin push my-pages/", "sakuin push my-pages/ --dry-run", "sakuin push x.html --prefix guides"),
    "rm": ("sakuin rm guides/x", "sakuin rm guides/learns.yml synonyms.yml", "sakuin rm guides/"),
    "list": ("sakuin list --prefix guides",),
    "init": ("sakuin init", "sakuin init --pages public --build hugo --prefix docs"),
    "watch": ("sakuin watch _site",),
    "annotate": ("sakuin annotate pages/", "sakuin annotate pages/ --write"),
    "learns": ("sakuin learns pages/ > work.md", "sakuin learns pages/ --check", "sakuin learns pages/ --accept"),
    "connect": ("sakuin connect", "sakuin connect codex cursor", "sakuin connect --print", "sakuin connect --undo"),
    "search": ('sakuin search "how to restore a file" --top-k 3', 'sakuin search "exit code 4" --exact --in guides'),
    "read": ("sakuin read guides/x", 'sakuin read "guides/x#prices" --details'),
    "explain": ('sakuin explain "restore a file" "guides/x#restore-one-file"',),
    "eval": ("sakuin eval golden.jsonl", "sakuin eval questions.csv", "sakuin eval --compare before.json now.json"),
    "status": ("sakuin status", "sakuin status --material guides/x"),
    "validate": ("sakuin validate", "sakuin validate my-pages/ --offline"),
    "redrive": ("sakuin redrive", "sakuin redrive material --all"),
    "erase": ("sakuin erase --folder alice --dry-run", "sakuin erase --folder alice --project ID"),
    "describe": ('sakuin describe "The manual of our product"', 'sakuin describe --in docs "How to use the app"'),
    "gaps": ("sakuin gaps", "sakuin gaps 3f9a1b2c4d5e"),
    "table put": ("sakuin table put columns.json --name Columns", "sakuin table put columns.json --id ID"),
    "table change": ("sakuin table change ID --chunk-threshold 80",),
    "tool create": ("sakuin tool create --table ID --json-path /articles --name search_articles --wait",),
    "mcp create": ("sakuin mcp create --name tutor --tool ID",),
    "mcp bind": ("sakuin mcp bind ID --tool ID",),
    "keys new": ("sakuin keys new --for admin",),
    "keys rm": ("sakuin keys rm 3f9a1b2c4d5e",),
    "index activate": ("sakuin index activate",),
    "index drop": ("sakuin index drop FINGERPRINT",),
}


def add_examples(app: typer.Typer, group: str = "") -> None:
    """Puts the examples below the help of the commands."""
    for command in app.registered_commands:
        name = command.name or getattr(command.callback, "__name__", "")
        if examples := EXAMPLES.get(f"{group}{name}"):
            # Of an epilog, help keeps the lines of paragraphs only.
            command.epilog = "\n\n".join(("Examples:", *examples))
    for below in app.registered_groups:
        if below.typer_instance is not None:
            add_examples(below.typer_instance, f"{below.typer_instance.info.name} ")
