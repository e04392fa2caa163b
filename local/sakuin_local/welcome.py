"""What a person sees when the stack is ready: an answer, and how an agent gets at it."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

QUESTION = "二次方程式を公式で解きたい"
SHOWN = 3


def show_answer(console: Console, answer: Mapping[str, Any]) -> None:
    """The best results as an agent gets them."""
    console.print(Text.assemble("\nAn agent that asks ", (f"「{QUESTION}」", "bold"), " is told:\n"))
    results = answer.get("results", [])
    if not results:
        console.print(Padding("nothing yet: no pages are indexed (`sakuin push FOLDER`)", (0, 2)))
    for result in results[:SHOWN]:
        console.print(Padding(_card(result), (0, 2, 1, 2)))


def show_connection(console: Console, *, url: str, api_key: str) -> None:
    """The line that gives Claude Code the tools; on one line, to be pasted."""
    console.print("Give it to Claude Code:\n")
    console.print(connection_line(url=url, api_key=api_key), soft_wrap=True, highlight=False, markup=False)
    console.print()


def connection_line(*, url: str, api_key: str) -> str:
    """The command to paste."""
    return f'claude mcp add --transport http sakuin {url}/mcp --header "Authorization: Bearer {api_key}"'


def _card(result: Mapping[str, Any]) -> Text:
    card = Text()
    card.append(f"{result['similarity']:.2f} ", style="green")
    card.append(str(result["title"]), style="bold")
    card.append(f"  {result['type']}\n", style="dim")
    card.append(f"{result['url']}\n", style="cyan")
    for learned in result["learns"]:
        card.append(f"  · {learned}\n")
    card.append(str(result["excerpt"]), style="dim")
    return card
