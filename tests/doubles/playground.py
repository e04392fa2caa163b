"""The call of the function `mcp` by the playground, in this process; what crosses is JSON, as between two functions."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sakuin.explain.answer_playground import AnswerPlayground
from sakuin.explain.explain import ExplainKnowledge, ExplainTool
from sakuin.explain.playground import AskPlayground
from sakuin.mcp.app import Allow
from sakuin.mcp.knowledge_tools import KnowledgeTools
from sakuin.mcp.search_tools import SearchTools
from sakuin.platform.aws import LambdaFunction

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


def playground(world: World | None, tables: TableWorld | None = None, allow: Allow = lambda *_: None) -> AskPlayground:
    """Returns the client of a function over the pages of a world, and Tables."""
    pages: Any = world
    of_tables: Any = tables
    answer = AnswerPlayground(
        KnowledgeTools(pages, pages and pages.read),
        SearchTools(of_tables),
        ExplainKnowledge(pages, pages and pages.read),
        ExplainTool(of_tables and of_tables.records, of_tables),
        allow,
    )

    def function(event: dict[str, Any]) -> dict[str, Any]:
        return {"statusCode": 200, "body": json.dumps(answer(event["playground"]))}

    return AskPlayground(LambdaFunction(Invoked(function), FUNCTION))
