"""What `sakuin up` tells a person once the stack answers: what it read, an answer, the console, and what is next."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from sakuin.errors import SakuinError
from sakuin.texts.catalogue import Texts, chosen_language, counted, texts_in
from sakuin_cli.agent import AgentClient
from sakuin_cli.commands.search import show_answer
from sakuin_cli.connections import deployment_of
from sakuin_cli.settings import CommandSettings
from sakuin_cli.terminal import Terminal
from sakuin_cli.titles import description_from, question_about

from sakuin_local.errors import LocalError
from sakuin_local.stack import Stack

# A function loads its code with its first call.
FIRST_CALL_S = 90


def texts_of_locale(environ: Mapping[str, str] = os.environ) -> Texts:
    """Returns the texts of the locale's language, as the C library chooses it."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((environ[name] for name in names if environ.get(name)), "")
    return texts_in(chosen_language(None, locale.replace("_", "-")))


@dataclass(frozen=True, slots=True)
class Welcome:
    """Lines about a running stack. `pages` is the folder of the library; empty if it serves none."""

    terminal: Terminal
    stack: Stack
    texts: Texts
    pages: str

    def show(self, *, own_pages: bool) -> None:
        """Prints all lines; the last one is `ready` with the address for agents. Raises `LocalError`."""
        question = ""
        try:
            question = self._show_library(own_pages=own_pages) if self.pages else ""
        except SakuinError as error:
            raise LocalError(f"the first search failed: {error}\nsee logs/emulator.log in the data folder") from error
        url = self.stack.url
        self._block("console", f"{url}{self._console_link()}")
        key = f'"Authorization: Bearer {self.stack.api_key}"'
        self._block("connect", f"claude mcp add --transport http sakuin {url}/mcp --header {key}")
        if question:
            self._block("followed" if own_pages else "next", f'sakuin search "{question}"', pages=self.pages)
        if not own_pages:
            self._block("own_pages", "sakuin up my-pages/")
        self.terminal.print(f"ready {url}/mcp")

    def _block(self, text: str, line: str, **values: object) -> None:
        self.terminal.print(self.texts(f"up.{text}", **values))
        self.terminal.print(line, "\n")

    def _show_library(self, *, own_pages: bool) -> str:
        """Prints the size of the library, a question about it with its answer, and an offer; returns the question."""
        client = deployment_of(CommandSettings.read(self.stack.environment))
        agent = AgentClient(f"{self.stack.url}/mcp", self.stack.api_key, FIRST_CALL_S)
        counts = client.call("GET", "status")
        numbers = {"page": counts["materials"].get("ready", 0), "section": counts["chunks"]}
        pages, sections = (self.texts.said(counted(noun, number)) for noun, number in numbers.items())
        read = self.texts("up.read", pages=pages, sections=sections, folder=self.pages)
        self.terminal.print((read, "bold"), "\n")
        library = agent.call("list_materials", {})
        if not counts["chunks"]:
            return ""
        languages = library["about"]["languages"]
        titles = [concept["title"] for concept in agent.call("list_concepts", {})["concepts"]]
        question = question_about(titles, max(languages, key=lambda code: int(languages[code]), default=""))
        answer = agent.call("search_knowledge", {"query": question})
        self.terminal.print(self.texts("up.asks", question=question))
        show_answer(self.terminal, {**answer, "results": answer["results"][:1]})
        if own_pages and not any(one["folder"] == "" for one in client.call("GET", "descriptions")["descriptions"]):
            offer = description_from([page["title"] for page in library["materials"]])
            self._block("describe", f'sakuin describe "{offer}"')
        return question

    def _console_link(self) -> str:
        headers = {"Authorization": f"Bearer {self.stack.environment['SAKUIN_ADMIN_KEY']}"}
        path: str = call(self.stack, "POST", "/v1/console-links", expected=201, headers=headers).json()["path"]
        return path


def call(stack: Stack, method: str, path: str, *, expected: int, **request: Any) -> httpx.Response:
    """Returns the answer of the HTTP API; another status than the expected one is an error."""
    answer = httpx.request(method, f"{stack.url}{path}", timeout=FIRST_CALL_S, trust_env=False, **request)
    if answer.status_code != expected:
        raise LocalError(
            f"{method} {path} answered {answer.status_code} instead of {expected}: {answer.text[:1000]}\n"
            "see logs/emulator.log in the data folder"
        )
    return answer
