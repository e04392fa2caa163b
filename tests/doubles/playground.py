"""The calls of the function `mcp` by `api`, in this process; what crosses is JSON, as between two functions."""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from sakuin.errors import SakuinError
from sakuin.explain.ask_mcp import EXPLANATION, AskMcp, answer_event
from sakuin.explain.explain import Explain, ExplainKnowledge, ExplainTool
from sakuin.mcp.admission import Allow
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.playground import AnswerExplanation
from sakuin.mcp.search_tools import SearchTools
from sakuin.platform.aws import Handler, LambdaFunction
from sakuin.wiring import api
from sakuin.wiring.clients import Clients

from tests.events import Context
from tests.worlds import TableWorld, World

FUNCTION = "arn:aws:lambda:ap-northeast-1:123456789012:function:sakuin-SakuinMcp:live"


@dataclass
class Invoked:
    """boto3's client of Lambda: `answer` is the function, or the failure of the call."""

    answer: Callable[[dict[str, Any]], Any] | Exception
    failed: bool = False
    asked: list[str] = field(default_factory=list)

    def invoke(self, *, FunctionName: str, Payload: str) -> dict[str, Any]:
        self.asked.append(FunctionName)
        if isinstance(self.answer, Exception):
            raise self.answer
        body = json.dumps(self.answer(json.loads(Payload)))
        return {"Payload": io.BytesIO(body.encode())} | ({"FunctionError": "Unhandled"} if self.failed else {})


@dataclass(frozen=True, slots=True)
class Failing:
    """Answers no event."""

    error: SakuinError

    def __call__(self, _event: object) -> dict[str, Any]:
        raise self.error


@dataclass(frozen=True)
class ApiClients(Clients):
    """Those of the function `api`, which invokes the handler `mcp` in this process."""

    mcp: Handler = lambda _event, _context: {}

    def mcp_function(self) -> LambdaFunction:
        return LambdaFunction(Invoked(lambda event: self.mcp(event, Context())), FUNCTION)


def api_handler(environ: Mapping[str, str], mcp: Handler) -> Handler:
    """Returns the handler of `api` that invokes that of `mcp`."""
    return api.handler(replace(ApiClients.of(environ, "Api"), mcp=mcp))


def asking_mcp(world: World | None, tables: TableWorld | None = None, allow: Allow = lambda *_: None) -> AskMcp:
    """Returns the client of a function over the pages of a world, and Tables."""
    pages: Any = world
    of_tables: Any = tables
    explain_tool = ExplainTool(of_tables and of_tables.records, of_tables)
    explain = Explain(ExplainKnowledge(pages, pages and pages.read), explain_tool)
    tools = KnowledgeTools(pages, pages and pages.read), SearchTools(of_tables)
    answers = {EXPLANATION: AnswerExplanation(*tools, explain, allow)}
    return AskMcp(LambdaFunction(Invoked(partial(answer_event, answers)), FUNCTION))
