"""The tools that the conformance suite calls, beside the product's own; none of them is in the product."""

from collections.abc import Callable
from typing import Any

from mcp import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
    Tool,
)
from sakuin.mcp.knowledge.tools import KnowledgeTools

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
# Word for word what the suite looks for.
SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
MIRRORED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "priority": {"type": "integer", "x-mcp-header": "Priority"},
        "query": {"type": "string"},
    },
    "required": ["region"],
}


def text(words: str) -> TextContent:
    return TextContent(type="text", text=words)


def image() -> ImageContent:
    return ImageContent(type="image", data=PNG, mime_type="image/png")


def resource(uri: str, mime_type: str, words: str) -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return EmbeddedResource(type="resource", resource=contents)


def result(*content: ContentBlock, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=list(content), is_error=is_error)


def _refused() -> CallToolResult:
    """Answers as a tool that needs a capability which no client of the suite has."""
    raise MCPError(
        MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs sampling", {"requiredCapabilities": {"sampling": {}}}
    )


ANSWERS: dict[str, Callable[[], CallToolResult]] = {
    "test_simple_text": lambda: result(text("This is a simple text response for testing.")),
    "test_image_content": lambda: result(image()),
    "test_audio_content": lambda: result(AudioContent(type="audio", data=WAV, mime_type="audio/wav")),
    "test_embedded_resource": lambda: result(
        resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": lambda: result(
        text("Multiple content types test:"),
        image(),
        resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ),
    "test_error_handling": lambda: result(text("This tool intentionally returns an error for testing"), is_error=True),
    "json_schema_2020_12_tool": lambda: result(text("ok")),
    "test_logging_tool": lambda: result(text("ok")),
    "test_missing_capability": lambda: _refused(),
    "test_streaming_elicitation": lambda: result(text("ok")),
    "test_headers": lambda: result(text("ok")),
}
SCHEMAS = {"json_schema_2020_12_tool": SCHEMA_2020_12, "test_headers": MIRRORED}


class ConformanceTools(KnowledgeTools):
    """The knowledge tools, and behind them the suite's."""

    def listed(self) -> list[Tool]:
        fixtures = [Tool(name=name, description=name, input_schema=SCHEMAS.get(name, NOTHING)) for name in ANSWERS]
        return [*super().listed(), *fixtures]

    def input_schema(self, name: str) -> dict[str, Any] | None:
        return next((tool.input_schema for tool in self.listed() if tool.name == name), None)

    def call(self, name: str, arguments: dict[str, Any] | None) -> CallToolResult | None:
        return ANSWERS[name]() if name in ANSWERS else super().call(name, arguments)
