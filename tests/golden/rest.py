"""The REST API of the library: each route with an answer, and with each refusal that docs/reference/api.md names."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx

from tests.golden.deployment import Deployment, answer_entry
from tests.golden.files import Entries
from tests.golden.normalise import Normaliser
from tests.golden.searches import TOOL

_NOBODY = str(UUID(int=7))
_WRONG_KEY = "sk_sakuin_" + "w" * 43
_PAGE = "junior/確率の基本_教材"
_ADMIN_ONLY = (
    ("GET", "/v1/status"),
    ("GET", "/v1/materials"),
    ("GET", "/v1/work"),
    ("POST", "/v1/receipts"),
    ("POST", "/v1/anchors"),
    ("GET", "/v1/validation"),
    ("POST", "/v1/reapply"),
    ("GET", "/v1/index"),
    ("POST", "/v1/index/activate"),
    ("DELETE", "/v1/index/next"),
    ("POST", "/v1/reconcile"),
    ("GET", "/v1/keys"),
    ("POST", "/v1/explain"),
)


@dataclass(slots=True)
class Conversation:
    """Requests in their order, each recorded under a name."""

    deployment: Deployment
    normaliser: Normaliser
    entries: Entries = field(default_factory=dict)

    def ask(self, name: str, method: str, path: str, body: object = None, **parts: Any) -> httpx.Response:
        """Asks as an admin, or with another `key`, and records the answer."""
        parts.setdefault("key", self.deployment.admin_key)
        if body is not None:
            parts["json"] = body
        elif isinstance(parts.get("content"), str):
            parts["headers"] = {"Content-Type": "application/json"}
        answer = self.deployment.request(method, path, **parts)
        assert name not in self.entries, name
        self.entries[name] = {
            "request": self.normaliser.text(f"{method} {path}"),
            **answer_entry(answer, self.normaliser),
        }
        return answer


def rest(deployment: Deployment) -> Entries:
    """Returns every answer, in the order of the requests."""
    conversation = Conversation(deployment, deployment.normaliser())
    _library(conversation)
    _library_errors(conversation)
    _explanations(conversation)
    _indexes(conversation)
    _key_errors(conversation)
    return conversation.entries


def _library(conversation: Conversation) -> None:
    ask = conversation.ask
    ask("healthz", "GET", "/healthz", key=None)
    ask("status", "GET", "/v1/status")
    page = ask("materials", "GET", "/v1/materials?limit=2").json()
    ask("materials, next page", "GET", f"/v1/materials?limit=2&after={page['next_cursor']}")
    ask("materials below a prefix", "GET", "/v1/materials?prefix=senior/")
    ask("materials below nothing", "GET", "/v1/materials?prefix=nothing/")
    ask("work", "GET", "/v1/work")
    ask("work, filtered", "GET", "/v1/work?state=failed&subject=x&limit=1")
    [material] = conversation.deployment.api("GET", f"/v1/materials?prefix={_PAGE}")["materials"]
    version = {"key": material["key"], "version_id": material["version_id"]}
    ask("receipts", "POST", "/v1/receipts", {"versions": [version, {"key": "a", "version_id": "b"}]})
    ask("receipts of nothing", "POST", "/v1/receipts", {"versions": []})
    ask("anchors", "POST", "/v1/anchors", [_PAGE, "junior/nothing"])
    ask("validation", "GET", "/v1/validation")
    ask("validation, strict", "GET", "/v1/validation?strict=true&prefix=senior/")
    ask("validation, a page", "GET", "/v1/validation?limit=1")
    ask("reapply", "POST", "/v1/reapply")
    for kind in ("keys", "pages", "words", "learns", "tables"):
        ask(f"reconcile {kind}", "POST", "/v1/reconcile", {"kind": kind})
    keys = ask("keys", "GET", "/v1/keys").json()["keys"]
    # Their order is that of random hashes, and their number that of the calls before.
    conversation.entries["keys"]["body"] = {"members": sorted({name for key in keys for name in key})}


def _library_errors(conversation: Conversation) -> None:
    ask = conversation.ask
    refused: dict[str, tuple[str, str, Any]] = {
        "no page": ("GET", "/v1/materials?limit=0", None),
        "a page that is too long": ("GET", "/v1/materials?limit=501", None),
        "a page of words": ("GET", "/v1/validation?limit=many", None),
        "work in another state": ("GET", "/v1/work?state=lost", None),
        "work of too many subjects": ("GET", "/v1/work?" + "&".join(["subject=1"] * 51), None),
        "too many receipts": ("POST", "/v1/receipts", {"versions": [{"key": "a", "version_id": "b"}] * 501}),
        "receipts of something else": ("POST", "/v1/receipts", {"versions": [{"key": "a"}]}),
        "too many anchors": ("POST", "/v1/anchors", ["a"] * 501),
        "anchors of something else": ("POST", "/v1/anchors", {"materials": []}),
        "reconciling something else": ("POST", "/v1/reconcile", {"kind": "everything"}),
        "a route that is not there": ("GET", "/v1/nothing", None),
        "a method that is not there": ("PUT", "/v1/status", None),
    }
    for name, (method, path, body) in refused.items():
        ask(name, method, path, body)
    ask("no JSON", "POST", "/v1/receipts", content="{")
    # The gateway of the local stack decodes what calls itself JSON.
    ask("no Unicode", "POST", "/v1/receipts", content=b'{"versions": "\xff"}')
    # The local gateway has no limit of its own.
    ask("a request that is too large", "POST", "/v1/receipts", content=" " * 6_000_001)


def _explanations(conversation: Conversation) -> None:
    ask, path = conversation.ask, "/v1/explain"
    endpoint = conversation.deployment.tools_url.rpartition("/")[2]
    formula = "junior/二次方程式の解き方_教材#rule-quadratic-formula"
    asked: dict[str, dict[str, Any]] = {
        "a question": {"query": "二次方程式を公式で解きたい", "top_k": 2, "depth": 3},
        "kana": {"query": "かいのこうしき", "expected": formula, "depth": 2, "top_k": 1},
        "a typo": {"query": "二次方定式", "depth": 2, "top_k": 1},
        "English": {"query": "quadratic formula", "depth": 2, "top_k": 1},
        "a formula": {"query": "x^2+5x+6=0", "depth": 2, "top_k": 1},
        "off topic": {"query": "おすすめのラーメン屋", "depth": 2, "top_k": 1},
        "words alone": {"query": "解の公式", "legs": "words", "depth": 2, "top_k": 1},
        "vectors alone": {"query": "解の公式", "legs": "vectors", "depth": 2, "top_k": 1},
        "without rules": {"query": "かいのこうしき", "without": ["rewriting", "readings"], "depth": 2, "top_k": 1},
        "filtered": {"query": "解の公式", "filters": {"type": "tip", "level": "中学"}, "depth": 2, "top_k": 1},
        "what is not found": {
            "query": "解の公式",
            "expected": "junior/一次関数_教材#rule-slope",
            "top_k": 1,
            "depth": 1,
        },
        "what is not there": {"query": "解の公式", "expected": "a#b", "top_k": 1, "depth": 1},
        "another index": {"query": "解の公式", "index": "next"},
        "a Search Tool": {"query": "復習の間隔", "tool": TOOL, "mcp_id": endpoint, "top_k": 1, "depth": 2},
        "a node of a Search Tool": {
            "query": "復習の間隔",
            "tool": TOOL,
            "mcp_id": endpoint,
            "top_k": 1,
            "depth": 1,
            "expected": "/articles/3/content",
        },
        "a Search Tool without its endpoint": {"query": "a", "tool": TOOL},
        "a Search Tool that is not there": {"query": "a", "tool": "nothing", "mcp_id": endpoint},
        "an endpoint that is not there": {"query": "a", "tool": TOOL, "mcp_id": _NOBODY},
        "a Search Tool with filters": {"query": "a", "tool": TOOL, "mcp_id": endpoint, "filters": {"type": "tip"}},
        "no question": {},
        "a blank question": {"query": " "},
        "too many results": {"query": "a", "top_k": 51},
        "an unknown rule": {"query": "a", "without": ["magic"]},
        "an unknown member": {"query": "a", "limit": 1},
    }
    for name, body in asked.items():
        ask(f"explain {name}", "POST", path, body)
    ask("explain nothing", "POST", path, content="{")
    ask("explain, by GET", "GET", path)
    ask("explain too much", "POST", path, content=" " * 100_001)


def _indexes(conversation: Conversation) -> None:
    ask = conversation.ask
    live = ask("index", "GET", "/v1/index").json()["indexes"][0]["fingerprint"]
    ask("activate: the live index", "POST", "/v1/index/activate", {"index": live})
    ask("activate: the next index", "POST", "/v1/index/activate", {})
    ask("activate: an unknown index", "POST", "/v1/index/activate", {"index": "0000"})
    ask("activate: no index", "POST", "/v1/index/activate", {"index": ""})
    ask("drop the live index", "DELETE", f"/v1/index/{live}")
    ask("drop an unknown index", "DELETE", "/v1/index/0000")


def _key_errors(conversation: Conversation) -> None:
    keys = {"no key": None, "a wrong key": _WRONG_KEY, "a knowledge key": conversation.deployment.knowledge_key}
    for method, path in _ADMIN_ONLY:
        for name, key in keys.items():
            conversation.ask(f"{name}: {method} {path}", method, path, key=key)
    for name, key in keys.items():
        conversation.ask(f"{name}: GET /v1/projects", "GET", "/v1/projects", key=key)
        conversation.ask(f"{name}: POST /v1/projects", "POST", "/v1/projects", {"name": "a"}, key=key)
    basic = {"Authorization": f"Basic {conversation.deployment.admin_key}"}
    conversation.ask("another scheme", "GET", "/v1/status", key=None, headers=basic)


def openapi(deployment: Deployment) -> Entries:
    """Returns the description that is served, by its parts."""
    document = deployment.normaliser().value(deployment.request("GET", "/openapi.json").json())
    paths, schemas = document.pop("paths"), document.get("components", {}).pop("schemas", {})
    return {
        **{f"path {path}": each for path, each in paths.items()},
        **{f"schema {name}": each for name, each in schemas.items()},
        "document": document,
    }
