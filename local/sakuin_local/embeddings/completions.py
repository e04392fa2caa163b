"""`POST /v1/chat/completions`: `learns` out of the titles that are asked about, with OpenAI's limits."""

import json
import math
import re
from dataclasses import dataclass
from datetime import date
from typing import Any

from sakuin.platform.openai.models import ModelFacts, models

from sakuin_local.embeddings.question import Refused

# The smallest of the models in service.
CONTEXT_TOKENS = 128_000
_EFFORTS = ("none", "low", "medium", "high", "xhigh")
_ASKED = re.compile(r"^anchor: (?P<anchor>.+)\ntitle: (?P<title>.*)$", re.MULTILINE)


def count_tokens(text: str) -> int:
    """Returns about the tokens of a text: one for three bytes, as Japanese has about one a character."""
    return math.ceil(len(text.encode("utf-8", "replace")) / 3)


@dataclass(frozen=True, slots=True)
class Completion:
    """A valid request and its answer. `read` and `written` are tokens; an answer that is too long is cut off."""

    model: str
    content: str
    read: int
    written: int
    is_cut: bool

    @classmethod
    def of(cls, body: Any, today: date) -> "Completion":
        """Answers a JSON body; raises `Refused`. A model that is not served `today` does not exist."""
        if not isinstance(body, dict):
            raise Refused("the body is not a JSON object", parameter="body")
        facts = _model(body.get("model"), today)
        _check_parameters(body, facts)
        messages = body.get("messages")
        if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
            raise Refused("messages is a list of objects", parameter="messages")
        read = sum(count_tokens(str(one.get("content", ""))) for one in messages)
        most = body.get("max_completion_tokens", max(CONTEXT_TOKENS - read, 1))
        if read + most > CONTEXT_TOKENS:
            raise Refused(
                f"This model's maximum context length is {CONTEXT_TOKENS} tokens. Please reduce the length.",
                parameter="messages",
                code="context_length_exceeded",
            )
        asked = _ASKED.finditer(str(messages[-1].get("content", "")) if messages else "")
        items = [{"anchor": one["anchor"], "learns": _items(one["title"])} for one in asked]
        content = json.dumps({"items": items}, ensure_ascii=False)
        # Without `none`, a model that reasons writes at least as much again.
        effort = body.get("reasoning_effort", "medium") if facts.least_reasoning else "none"
        written = count_tokens(content) * (1 if effort == "none" else 2)
        is_cut = written > most
        return cls(facts.name, content[:most] if is_cut else content, read, min(written, most), is_cut)

    def as_json(self) -> dict[str, Any]:
        """Returns the body of the answer."""
        message = {"role": "assistant", "content": self.content, "refusal": None}
        choice = {"index": 0, "finish_reason": "length" if self.is_cut else "stop", "message": message}
        usage = {
            "prompt_tokens": self.read,
            "completion_tokens": self.written,
            "total_tokens": self.read + self.written,
        }
        return {
            "id": "chatcmpl-local",
            "object": "chat.completion",
            "created": 0,
            "model": self.model,
            "choices": [choice],
            "usage": usage,
        }


def _model(name: Any, today: date) -> ModelFacts:
    for facts in models():
        if facts.name == name and facts.usd_written is not None and (facts.shutdown is None or today < facts.shutdown):
            return facts
    raise Refused(
        f"The model `{name}` does not exist or you do not have access to it.",
        parameter=None,
        status=404,
        code="model_not_found",
    )


def _check_parameters(body: dict[str, Any], facts: ModelFacts) -> None:
    """Raises `Refused` for parameters that models which reason do not take, and the other way round."""
    effort, reasons = body.get("reasoning_effort"), facts.least_reasoning is not None
    if reasons and "max_tokens" in body:
        raise Refused("Unsupported parameter: use 'max_completion_tokens'.", parameter="max_tokens")
    if reasons and body.get("temperature", 1) != 1:
        raise Refused("Unsupported value: only the default (1) is supported.", parameter="temperature")
    if effort is not None and (not reasons or effort not in _EFFORTS):
        raise Refused(f"Unsupported value: {effort!r} is not supported.", parameter="reasoning_effort")


def _items(title: str) -> list[str]:
    return [f"{title}を使う方法", f"{title}の計算", f"{title}の説明"]
