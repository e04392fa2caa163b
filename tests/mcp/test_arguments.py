"""Arguments of the MCP tools."""

import unicodedata
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ValidationError
from sakuin.arguments import (
    ChunkArguments,
    ListArguments,
    MaterialArguments,
    PageArguments,
    SearchArguments,
    schema_of,
    sentence,
)


def refusal(arguments: dict[str, Any], of: type[BaseModel] = SearchArguments) -> str:
    with pytest.raises(ValidationError) as refused:
        of.model_validate(arguments)
    return str(sentence(refused.value))


@pytest.mark.parametrize(("given", "taken"), [(1, 1), (50, 50), (5.0, 5), (50.0, 50), ("5", 5), ("50", 50)])
def test_a_whole_number_is_one_however_it_is_written(given: object, taken: int) -> None:
    arguments = SearchArguments.model_validate({"query": "a", "top_k": given})
    assert arguments.top_k == taken
    assert type(arguments.top_k) is int


@pytest.mark.parametrize(
    "top_k",
    [
        *(0, -1, 51, 5.5, True, False, [], {}, 1e999, -1e999, float("nan"), 10**400),
        *("0", "51", "5.0", "-5", " 5", "five", "５", "9" * 5000),
    ],
)
def test_any_other_top_k_is_refused_by_name_and_by_the_schema(top_k: object) -> None:
    arguments = {"query": "a", "top_k": top_k}
    assert refusal(arguments) == "'top_k' must be a whole number from 1 to 50"
    assert not Draft202012Validator(schema_of(SearchArguments)).is_valid(arguments)


@pytest.mark.parametrize("empty", [None, ""])
def test_an_empty_optional_argument_is_as_left_out(empty: object) -> None:
    names = ("top_k", "type", "category", "level", "material", "in", "max_tokens", "cursor")
    alone = SearchArguments.model_validate({"query": "a"})
    assert SearchArguments.model_validate({"query": "a", "queries": [], **dict.fromkeys(names, empty)}) == alone
    page = PageArguments.model_validate({"page": "a"})
    assert PageArguments.model_validate({"page": "a", "line": empty, "section": empty, "max_tokens": empty}) == page
    chunk = ChunkArguments.model_validate({"id": "a#b"})
    assert ChunkArguments.model_validate({"id": "a#b", "ids": None, "neighbours": empty}) == chunk
    assert ListArguments.model_validate({"cursor": empty, "material": empty}) == ListArguments.model_validate({})
    assert "'colour' is not an argument" in refusal({"query": "a", "colour": empty})


@pytest.mark.parametrize(
    "query", ["", " ", "\u3000\n", "\u200b\u200d\ufeff", "\u3000\u2060", "\U000e0041", None, 5, True, ["a"], "a" * 1001]
)
def test_a_query_that_is_blank_too_long_or_no_text_is_refused_by_name(query: object) -> None:
    assert "'query'" in refusal({"query": query})


@pytest.mark.parametrize("text", ["a\ud800", "\udfff", "a\x00b"])
@pytest.mark.parametrize(
    ("arguments", "field"),
    [(SearchArguments, "query"), (SearchArguments, "category"), (ChunkArguments, "id"), (ListArguments, "cursor")],
)
def test_text_that_cannot_be_stored_is_refused_by_name(arguments: type[BaseModel], field: str, text: str) -> None:
    given = {"query": "a"} if arguments is SearchArguments else {}
    assert f"'{field}' holds" in refusal({**given, field: text}, of=arguments)


def test_a_query_is_all_that_is_needed_and_taken_as_it_is_by_its_characters() -> None:
    for query in ("たすきがけ", "数" * 1000, "𝒙" * 1000, "e\u0301", "\u202e逆", "👨\u200d👩"):
        arguments = SearchArguments.model_validate({"query": query})
        assert (arguments.query, arguments.top_k, arguments.type) == (query, 5, None)


def test_a_length_is_refused_in_the_words_of_this_product() -> None:
    assert refusal({"query": "a" * 1001}) == "'query' has 1,001 characters; the limit is 1,000"
    assert refusal({"id": ""}, of=ChunkArguments) == "'id' must not be empty"
    assert refusal({"ids": ["a#b"] * 21}, of=ChunkArguments) == "'ids' has 21 items; the limit is 20"


@pytest.mark.parametrize("given", [{}, {"id": "a#b", "ids": ["a#b"]}])
def test_either_an_id_or_several_are_read(given: dict[str, Any]) -> None:
    assert refusal(given, of=ChunkArguments) == "Send either 'id' or 'ids'"


def test_many_wrong_arguments_give_a_short_error() -> None:
    said = refusal({"query": "a", **{f"{'x' * 5000}{n}": 0 for n in range(100)}})
    assert said.endswith("; and 95 more")
    assert len(said) < 1000
    assert "\u202e" not in refusal({"query": "a", "\u202eevil": 0})


def test_a_missing_query_and_an_unknown_argument_are_named_together() -> None:
    said = refusal({"topk": 3})
    assert "'query' is required" in said
    assert "'topk' is not an argument of this tool" in said


@pytest.mark.parametrize(("field", "value"), [("category", 5), ("material", "a" * 501)])
def test_a_filter_of_the_wrong_kind_is_refused_by_name(field: str, value: object) -> None:
    assert f"'{field}" in refusal({"query": "a", field: value})


@pytest.mark.parametrize("value", ["lemma", 5])
def test_the_error_for_an_unknown_type_names_all_types(value: object) -> None:
    said = "'type' must be 'rule', 'method', 'definition', 'example' or 'tip'"
    assert refusal({"query": "a", "type": value}) == said


@pytest.mark.parametrize(
    ("arguments", "field", "longest"), [(SearchArguments, "level", 500), (ListArguments, "cursor", 2000)]
)
def test_a_name_of_any_length_is_taken_or_refused_by_name(arguments: type[BaseModel], field: str, longest: int) -> None:
    given = {"query": "a"} if arguments is SearchArguments else {}
    assert arguments.model_validate({**given, field: "a" * longest})
    assert f"'{field}'" in refusal({**given, field: "a" * (longest + 1)}, of=arguments)


def test_names_are_compared_in_nfc_whatever_the_client_typed() -> None:
    nfd = unicodedata.normalize("NFD", "がぎ")
    assert SearchArguments.model_validate({"query": "a", "material": nfd}).material == "がぎ"
    assert ListArguments.model_validate({"cursor": nfd}).cursor == "がぎ"


@pytest.mark.parametrize("arguments", [SearchArguments, ChunkArguments, ListArguments, MaterialArguments])
def test_a_schema_is_plain_and_says_what_is_refused(arguments: type[BaseModel]) -> None:
    schema = schema_of(arguments)
    Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    for field in schema["properties"].values():
        assert set(field) <= {"type", "enum", "items", "description", "default", "minimum", "maximum"}
        assert "enum" in field or isinstance(field["type"], str)
        assert field["description"]
