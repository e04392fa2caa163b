"""The MCP tool of an endpoint that reads what surrounds a result: its object, and the chunks after it."""

from dataclasses import dataclass

from mcp_types import Tool

from sakuin.arguments import ReadAroundArguments, schema_of
from sakuin.errors import Invalid, NotFound
from sakuin.mcp.answers import NOTE, Answer, add_fitting, cursor_of, position_of, visible_answer
from sakuin.mcp.schemas import NEXT_CURSOR, OBJECT, READ_ONLY, TRUNCATED, answer, records
from sakuin.tables.json_pointer import is_within, pointer_hash, relative
from sakuin.tables.model import BoundTool, Endpoint
from sakuin.tables.objects import nearest_pointers
from sakuin.tables.postgres import ToolSearch

NAME = "read_around"
# Of chunks and of texts; chunks that do not fit follow with a cursor.
_MOST = 20
# A path that is longer is not listed among the texts.
_LONGEST_PATH = 300

TOOL = Tool(
    name=NAME,
    title="Read around a result",
    description="Read what surrounds a search result: the short fields and texts of its object, and the text itself "
    f"from any chunk on. {NOTE}",
    input_schema=schema_of(ReadAroundArguments),
    output_schema=answer(
        {
            "tool": "As sent.",
            "json_path": "As sent.",
            "object": OBJECT,
            "texts": records("Texts in the object.", {"json_path": "For this tool.", "chunks": "How many it has."}),
            "chunks": records(
                "The text at json_path, in order; overlapping.",
                {
                    "chunk_index": "From 0.",
                    "total_chunks": "Chunks of the text.",
                    "char_start": "In the text.",
                    "char_end": "In the text.",
                    "chunk_text": "Text.",
                },
            ),
            "truncated": TRUNCATED,
            "next_cursor": NEXT_CURSOR,
        }
    ),
    annotations=READ_ONLY,
)


@dataclass(frozen=True, slots=True)
class ReadAround:
    """Reads what the Tools of one endpoint may show."""

    records: ToolSearch
    endpoint: Endpoint

    def __call__(self, wanted: ReadAroundArguments) -> Answer:
        """Returns the answer. A cursor has the index of the next chunk."""
        tool = _chosen(self.endpoint, wanted.tool)
        place = (tool.id, wanted.json_path)
        first = wanted.chunk_index if wanted.cursor is None else int(position_of(wanted.cursor, *place))
        pointer = tool.json_path + wanted.json_path
        around = self.objects(tool, [pointer]).get(pointer)
        scope = pointer if around is None else tool.json_path + around["json_path"]
        part = self.records.text(
            self.endpoint.id, tool.id, pointer_hash(pointer), around=scope, first=first, limit=_MOST
        )
        if part is None:
            raise removed(tool)
        texts = [
            {"json_path": relative(each["json_pointer"], tool.json_path), "chunks": each["chunks"]}
            for each in part["texts"]
            if len(each["json_pointer"]) <= _LONGEST_PATH
        ]
        chunks = part["chunks"]
        if not chunks and not texts and around is None:
            raise NotFound(f"{tool.name!r} has no text at {wanted.json_path[:200]!r}. Use the json_path of a result")
        answer: Answer = {"tool": tool.name, "json_path": wanted.json_path, "object": around, "texts": texts}
        end = first + add_fitting(answer, "chunks", chunks)
        if chunks and end < (total := chunks[0]["total_chunks"]):
            answer["truncated"] = f"Chunks {first} to {end - 1} of {total}. Send `next_cursor` for the others."
            answer["next_cursor"] = cursor_of(str(end), *place)
        return answer

    def objects(self, tool: BoundTool, pointers: list[str]) -> dict[str, Answer]:
        """Returns by pointer the nearest object at or around each node, if there is one in the scope of the Tool."""
        places = {
            pointer: [place for place in nearest_pointers(pointer) if is_within(place, tool.json_path)]
            for pointer in pointers
        }
        hashes = {pointer_hash(place) for several in places.values() for place in several}
        fields = self.records.objects(self.endpoint.id, tool.id, hashes)
        nearest = {
            pointer: next((place for place in several if place in fields), None) for pointer, several in places.items()
        }
        return {
            pointer: visible_answer({"json_path": relative(place, tool.json_path), "fields": fields[place]})
            for pointer, place in nearest.items()
            if place is not None
        }


def removed(tool: BoundTool) -> NotFound:
    """Returns the error about a Tool that was unbound during a call."""
    return NotFound(f"The tool {tool.name!r} was just removed from this endpoint. List its tools again")


def _chosen(endpoint: Endpoint, name: str | None) -> BoundTool:
    named = [tool for tool in endpoint.tools if name in (None, tool.name)]
    if len(named) != 1:
        raise Invalid(f"'tool' must be one of {', '.join(tool.name for tool in endpoint.tools)}")
    return named[0]


def is_offered(endpoint: Endpoint) -> bool:
    """Returns whether the endpoint has this tool: it has Search Tools, and none of them has its name."""
    return bool(endpoint.tools) and all(tool.name != NAME for tool in endpoint.tools)
