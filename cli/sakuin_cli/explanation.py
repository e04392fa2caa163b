"""How an explanation looks on a terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

_COLUMNS = {
    "similarity": ".2f",
    "score": ".4f",
    "evidence": ".2f",
    "z": ".2f",
    "words": ".2f",
    "readings": ".2f",
    "cosine": ".3f",
    "nearest_rank": "d",
    "matching_rank": "d",
}
_HEADS = {"nearest_rank": "nearest", "matching_rank": "matching"}


def show_question(out: Console, said: Mapping[str, Any]) -> None:
    """What is embedded, what was done to the question, which words and readings are sought."""
    understood = said["understood"]
    out.print(Text.assemble((said["query"], "bold")), soft_wrap=True)
    out.print(Text.assemble(("embedded  ", "dim"), understood["text"]), soft_wrap=True)
    for step in understood["steps"]:
        out.print(
            Text.assemble(
                (f"{step['rule']:>8}  ", "dim"), (step["found"], "yellow"), " → ", (step["read_as"], "green")
            ),
            soft_wrap=True,
        )
    for kind, name in (("word", "words"), ("reading", "readings")):
        slots = [slot for slot in understood["slots"] if slot["kind"] == kind]
        if slots:
            out.print(Text.assemble((f"{name:>8}  ", "dim"), "  ".join(map(_slot, slots))), soft_wrap=True)
    out.print()


def _slot(slot: Mapping[str, Any]) -> str:
    """The ways to say one thing, the sure ones without their weight."""
    return "|".join(
        term["term"] if term["weight"] == 1 else f"{term['term']}×{term['weight']:.2g}" for term in slot["terms"]
    )


def show_results(out: Console, said: Mapping[str, Any]) -> None:
    """The best chunks with all that was judged of them."""
    results = said["results"]
    if said["index_state"] not in (None, "ready"):
        out.print(Text(f"The tool's index is not ready ({said['index_state']})", "bold yellow"))
    if degraded := said.get("degraded"):
        out.print(Text(degraded, "bold yellow"), soft_wrap=True)
    if said["refused"]:
        best = f": the best similarity is below {said['threshold']:.2f}" if results else ""
        out.print(Text.assemble(("An agent gets no answer", "bold yellow"), best), soft_wrap=True)
    if not results:
        return
    known = [name for name in _COLUMNS if any(result[name] is not None for result in results)]
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right", style="dim")
    for name in known:
        table.add_column(_HEADS.get(name, name), justify="right", no_wrap=True)
    for result in results:
        table.add_row(str(result["rank"]), *(_figure(result[name], _COLUMNS[name]) for name in known))
    out.print(table)
    out.print()
    for result in results:
        _print_hit(out, result)
    out.print()


def _figure(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _print_hit(out: Console, result: Mapping[str, Any]) -> None:
    rank = "–" if result["rank"] is None else str(result["rank"])
    matched = f"  {' '.join(result['matched'])}" if result["matched"] else ""
    type = f"  {result['type']}" if result["type"] else ""
    out.print(
        Text.assemble(
            (f"{rank:>3}  ", "dim"), (result["title"] or result["id"], "bold"), (type, "magenta"), (matched, "green")
        ),
        soft_wrap=True,
    )
    part = "" if result["chunk_index"] is None else f" chunk {result['chunk_index']}"
    out.print(Text(f"     {result['id']}{part}", "cyan"), soft_wrap=True)


def show_expected(out: Console, said: Mapping[str, Any]) -> None:
    """What became of the expected chunk."""
    expected = said["expected"]
    if expected is None:
        return
    out.print(Text.assemble(("expected  ", "dim"), (expected["id"], "bold")), soft_wrap=True)
    out.print(Text(f"  {expected['why']}"), soft_wrap=True)
    if (hit := expected["hit"]) is not None:
        figures = (
            f"{_HEADS.get(name, name)} {_figure(hit[name], form)}"
            for name, form in _COLUMNS.items()
            if hit[name] is not None
        )
        out.print(Text(f"  {', '.join(figures)}", "dim"), soft_wrap=True)
        if hit["matched"]:
            out.print(Text.assemble(("  matched ", "dim"), (" ".join(hit["matched"]), "green")), soft_wrap=True)
