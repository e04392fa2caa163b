"""The arguments of searches, for MCP tools, REST and explanations: strict types, ranges, no unknown names."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from sakuin.errors import Invalid
from sakuin.knowledge.model import Filters
from sakuin.knowledge.page import ChunkType
from sakuin.language.unicode_text import INVISIBLE, one_line
from sakuin.retrieval.filters import MOST_FILTERS, conditions

MAX_TOP_K = 50
# Their text, twice, fits into an answer.
MAX_TOKENS = 4000
_LEAST_TOKENS = 100
MAX_QUERY = 1000
# Postgres stores neither, and an embedding model reads no further than U+0000.
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUL = "\0"
_DIGITS = re.compile("[0-9]{1,9}")
MOST_IDS = 20
MAX_TEXT = 200
# More than the largest page has.
_MOST_LINES = 10_000_000
MOST_QUERIES = 8
# Without an example in English, agents translate questions about English pages.
QUERY_DESCRIPTION = (
    'A complete question or a term, in any words: 「二次方程式を公式で解きたい」, "why are there seasons?"'
)
# Limits the length of an error message.
_SHOWN_PROBLEMS = 5
_SHOWN_NAME = 64
NO_JSON = "The body is not valid JSON"


def _whole(least: int, most: int) -> BeforeValidator:
    """Returns the validator of a whole number."""

    def whole(value: object) -> object:
        # JSON has one type of number, so 5.0 is 5. Models write "5", too. In Python true is a number.
        number = int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value
        number = int(number) if isinstance(number, float) and number.is_integer() else number
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
            raise ValueError(f"must be a whole number from {least} to {most}")
        return number

    return BeforeValidator(whole)


def _whole_text(value: object) -> object:
    if isinstance(value, str) and _SURROGATE.search(value):
        raise ValueError("holds a lone surrogate. Send valid Unicode")
    if isinstance(value, str) and _NUL in value:
        raise ValueError("holds the character U+0000. Remove it")
    return value


def _not_blank(value: object) -> object:
    if isinstance(value, str) and not INVISIBLE.sub("", value).strip():
        raise ValueError("must not be blank")
    return value


def _one_line(value: str) -> str:
    if "\n" in value or "\r" in value:
        raise ValueError("must be one line")
    return value


TopK = Annotated[int, Field(ge=1, le=MAX_TOP_K, description="Most results."), _whole(1, MAX_TOP_K)]
MaxTokens = Annotated[
    int,
    Field(ge=0, le=MAX_TOKENS, description="For whole `content`, best first; the rest has excerpts."),
    _whole(0, MAX_TOKENS),
]
TokensToRead = Annotated[
    int, Field(ge=_LEAST_TOKENS, le=MAX_TOKENS, description="About how much text."), _whole(_LEAST_TOKENS, MAX_TOKENS)
]
LineNumber = Annotated[int, _whole(1, _MOST_LINES)]
_WHOLE = BeforeValidator(_whole_text)
Query = Annotated[
    StrictStr,
    BeforeValidator(_not_blank),
    _WHOLE,
    Field(min_length=1, max_length=MAX_QUERY, description=QUERY_DESCRIPTION),
]
# Ids and names are NFC in the index; keyboards and file systems may produce another form.
_NFC = AfterValidator(lambda text: unicodedata.normalize("NFC", text))
# The length applies to the string: pydantic would check the length of null, too.
Name = Annotated[StrictStr, _WHOLE, Field(max_length=500), _NFC]
Cursor = Annotated[StrictStr, _WHOLE, Field(max_length=2000), _NFC]
Id = Annotated[StrictStr, _WHOLE, Field(min_length=1, max_length=2000)]
# Without it there is no filter. The schema shows the plain type; null, which some clients send, means absent.
Type = Annotated[ChunkType | SkipJsonSchema[None], Field(description="Only this type.")]
# `in` is a keyword of Python.
Folder = Annotated[
    Name | SkipJsonSchema[None],
    AfterValidator(lambda name: name and name.strip("/")),
    Field(alias="in", description="Only this folder."),
]
# Which fields pages have is checked where there are no results.
OwnFields = (
    Annotated[dict[Name, list[Name] | Name], Field(max_length=MOST_FILTERS), WithJsonSchema({"type": "object"})]
    | SkipJsonSchema[None]
)


def _optional(description: str) -> Any:
    return Field(default=None, description=description)


def _next() -> Any:
    return _optional("A `next_cursor`.")


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, given: Any) -> Any:
        """Some clients send null, an empty text or an empty list for an optional argument that they leave out."""
        if not isinstance(given, dict):
            return given
        optional = {field.alias or name for name, field in cls.model_fields.items() if not field.is_required()}
        empty = {name for name in optional if given.get(name, 0) is None}
        # A question or an id that is empty is a mistake.
        empty |= {name for name in optional - {"query", "queries", "id", "ids"} if given.get(name) == ""}
        empty |= {"queries"} if given.get("query") and given.get("queries") == [] else set()
        return {name: value for name, value in given.items() if name not in empty}


def filters_of(arguments: BaseModel) -> Filters:
    """Returns the filters among arguments: those with names of filters. Raises `Invalid`."""
    values: dict[str, Any] = {each.name: getattr(arguments, each.name, None) for each in fields(Filters)}
    given = getattr(arguments, "filter", None) or {}
    return Filters(**values | {"own": conditions(dict.fromkeys(given, "list"), given)})


class _Filtered(_Arguments):
    @property
    def filters(self) -> Filters:
        return filters_of(self)


class SearchArguments(_Filtered):
    """The arguments of `search_knowledge`: `query` or `queries`."""

    query: Query | SkipJsonSchema[None] = None
    queries: Annotated[list[Query], Field(min_length=1, max_length=MOST_QUERIES)] | SkipJsonSchema[None] = Field(
        default=None, validate_default=True, description="Up to eight questions, instead of `query`."
    )
    top_k: TopK = 5
    type: Type = None
    category: Name | SkipJsonSchema[None] = _optional("See list_materials.")
    level: Name | SkipJsonSchema[None] = _optional("See list_materials.")
    language: Name | SkipJsonSchema[None] = _optional("See list_materials.")
    filter: OwnFields = _optional("Fields of pages, see list_materials.")
    material: Name | SkipJsonSchema[None] = _optional("Only this page.")
    folder: Folder = None
    max_tokens: MaxTokens = 1500
    cursor: Cursor | SkipJsonSchema[None] = _next()

    @field_validator("queries")
    @classmethod
    def _one_of_both(cls, queries: list[str] | None, others: ValidationInfo) -> list[str] | None:
        # A query that is refused is absent.
        if queries is None and others.data.get("query", "") is None:
            raise ValueError("or 'query' is required")
        if queries and others.data.get("query") is not None:
            raise ValueError("and 'query' exclude each other")
        if sum(map(len, queries or ())) > MAX_QUERY:
            raise ValueError(f"may have {MAX_QUERY:,} characters together")
        return queries

    @property
    def questions(self) -> list[str]:
        """Returns the questions, one or more."""
        return [self.query] if self.query is not None else self.queries or []


class ToolSearchArguments(_Arguments):
    """The arguments of a Search Tool."""

    query: Query
    top_k: TopK = 5
    cursor: Cursor | SkipJsonSchema[None] = None
    # Checked with the fields of the Table.
    filter: dict[str, Any] | SkipJsonSchema[None] = None


class ToolSearchRequest(ToolSearchArguments):
    """A search with a Tool over REST."""

    vendor_ids: Annotated[StrictBool, Field(description="Chunks also have what turbopuffer calls them.")] = False


class ChunkArguments(_Arguments):
    """The arguments of `get_chunk_by_id`: `id` or `ids`."""

    id: Id | SkipJsonSchema[None] = _optional("An `id` (material#anchor) or a `url`.")
    ids: list[Id] | SkipJsonSchema[None] = Field(
        default=None, min_length=1, max_length=MOST_IDS, description="Several, instead of `id`."
    )
    neighbours: Annotated[StrictBool, Field(description="Also the chunks before and after.")] = False
    cursor: Cursor | SkipJsonSchema[None] = _next()

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.id is None) == (self.ids is None):
            raise ValueError("Send either 'id' or 'ids'")
        return self

    @property
    def names(self) -> list[str]:
        """Returns the ids or links, one or more."""
        return [self.id] if self.id is not None else self.ids or []


class PageArguments(_Arguments):
    """The arguments of `read_page`."""

    page: Annotated[Id, Field(description="A `material`; or an `id` or `url`, to begin there.")]
    section: Name | SkipJsonSchema[None] = _optional("Only below this heading.")
    line: LineNumber | SkipJsonSchema[None] = _optional("The first; find_text counts from its `id`.")
    lines: LineNumber | SkipJsonSchema[None] = _optional("How many.")
    max_tokens: TokensToRead = 1500
    cursor: Cursor | SkipJsonSchema[None] = _next()

    @property
    def wants_lines(self) -> bool:
        """Whether lines are read as they are, and not Markdown."""
        return self.line is not None or self.lines is not None

    @property
    def first_line(self) -> int:
        """Returns the first line that is wanted."""
        return self.line or 1

    @property
    def end_line(self) -> int:
        """Returns the line before which the reading ends."""
        return self.first_line + (self.lines or _MOST_LINES)


class FindArguments(_Filtered):
    """The arguments of `find_text`."""

    text: Annotated[
        StrictStr,
        BeforeValidator(_not_blank),
        _WHOLE,
        AfterValidator(_one_line),
        Field(max_length=MAX_TEXT, description="An exact phrase, in any case."),
    ]
    material: Name | SkipJsonSchema[None] = _optional("Only this page.")
    folder: Folder = None
    max_tokens: TokensToRead = 1500
    cursor: Cursor | SkipJsonSchema[None] = _next()


class FeedbackArguments(_Arguments):
    """The arguments of `give_feedback`."""

    query: Query
    id: Id | SkipJsonSchema[None] = _optional("The `id` or `url` of the result; none: no result answered.")
    answered: Annotated[StrictBool, Field(description="Whether it answered.")]

    @model_validator(mode="after")
    def _of_a_result(self) -> Self:
        if self.answered and self.id is None:
            raise ValueError("Send the 'id' of the result that answered")
        return self


class ChatGptSearchArguments(_Arguments):
    """The arguments of `search`, as ChatGPT prescribes them."""

    query: Query


class FetchArguments(_Arguments):
    """The arguments of `fetch`, as ChatGPT prescribes them."""

    id: Annotated[Id, Field(description="The `id` of a result of search.")]


class ListArguments(_Filtered):
    """The arguments of `list_concepts`."""

    type: Type = None
    category: Name | SkipJsonSchema[None] = _optional("Only this one.")
    material: Name | SkipJsonSchema[None] = _optional("Only this page.")
    folder: Folder = None
    cursor: Cursor | SkipJsonSchema[None] = _next()


class MaterialArguments(_Filtered):
    """The arguments of `list_materials`."""

    folder: Folder = None
    cursor: Cursor | SkipJsonSchema[None] = _next()


def sentence(error: ValidationError) -> Invalid:
    """Returns the error about wrong arguments, with the name of each."""
    # For an optional argument pydantic adds the useless problem that it is not null.
    problems = [problem for problem in error.errors(include_url=False) if problem["type"] != "none_required"]
    return Invalid(sentence_of(problems, slice(0, 1), "an argument of this tool", whole="arguments"))


def sentence_of(
    problems: Sequence[Mapping[str, Any]], place: slice, what: str = "a member of this request", *, whole: str = "body"
) -> str:
    """Returns what is wrong with fields, or with the `whole`, without the input, which may be invalid Unicode.

    A field is named by the part `place` of its location. `what` it is not, if it is unknown.
    """
    sentences = []
    for problem in problems[:_SHOWN_PROBLEMS]:
        # The name of an unknown field comes from the caller. An index in a list is a number.
        field = one_line(".".join(map(str, problem["loc"][place])))[:_SHOWN_NAME] or whole
        sentences.append(_problem(problem, field, what))
    omitted = [f"and {len(problems) - _SHOWN_PROBLEMS} more"] if len(problems) > _SHOWN_PROBLEMS else []
    return "; ".join([*sentences, *omitted])


def _problem(problem: Mapping[str, Any], field: str, what: str) -> str:
    match problem["type"]:
        case "extra_forbidden":
            return f"{field!r} is not {what}"
        case "missing":
            return f"{field!r} is required"
        case "json_invalid":
            return NO_JSON
        case kind if kind.startswith("uuid_"):
            return f"{field!r} must be a UUID"
        case "literal_error":
            return f"{field!r} must be {problem['ctx']['expected']}"
        case "value_error":
            return f"{field!r} {problem['ctx']['error']}" if problem["loc"] else str(problem["ctx"]["error"])
        case "too_long" | "string_too_long":
            counted, unit = len(problem["input"]), "characters" if isinstance(problem["input"], str) else "items"
            return f"{field!r} has {counted:,} {unit}; the limit is {problem['ctx']['max_length']:,}"
        case "too_short" | "string_too_short":
            return f"{field!r} must not be empty"
        case _:
            return f"{field!r}: {problem['msg']}"


def schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    """Returns the JSON Schema for `tools/list`, without titles and without what an error says anyway."""
    schema = arguments.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    for field in schema["properties"].values():
        field.pop("title", None)
        if field.get("default", 0) is None:
            del field["default"]
        # Half of the schema: what is longer is refused with a message.
        for limit in ("minLength", "maxLength", "minItems", "maxItems"):
            field.pop(limit, None)
            field.get("items", {}).pop(limit, None)
        field.get("items", {}).pop("description", None)
        # The values and the default say it.
        if "enum" in field or field.get("default") is False:
            field.pop("type" if "enum" in field else "default")
    return schema
