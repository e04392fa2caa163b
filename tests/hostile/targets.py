"""What is fuzzed: where input comes in, what it is made of, and what holds whatever it is."""

import contextlib
import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from hypothesis import strategies as st
from sakuin.errors import Invalid, NotFound, SakuinError, UnreadablePage
from sakuin.knowledge.learns.authored import parse_learns, parse_synonyms
from sakuin.knowledge.learns.writer import complete_learns
from sakuin.knowledge.messages import read_event
from sakuin.knowledge.names import chunk_id, link, material_of_key, split_chunk_id
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.knowledge.validation import findings_of_page
from sakuin.language.analysis import analyze, term_counts
from sakuin.language.model import LexiconEntries
from sakuin.language.morphemes import LONGEST_TERM
from sakuin.language.notation import canonical
from sakuin.language.questions.query_analysis import analyze_query, lexicon_lookup
from sakuin.language.unicode_text import INVISIBLE, nfc, nfkc
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.platform.queue_handler import parsed_message
from sakuin.tables.document import parsed_table, patched, written_table
from sakuin.tables.json_pointer import resolve
from sakuin.tables.messages import embed_message, tool_message
from sakuin.tables.scan import LargeString, large_strings

from tests.hostile import strategies as made
from tests.hostile.wire import ERAS, PATHS, asked, handler_of, is_told, routed

SITE = "https://school.example/assets"


@dataclass(frozen=True, slots=True)
class Target:
    """One place of input. `holds` raises where the product is wrong."""

    inputs: st.SearchStrategy[Any]
    holds: Callable[[Any], object]


def page_is_read_or_refused(data: bytes) -> None:
    try:
        page = read_page(data)
    except UnreadablePage as error:
        _is_a_sentence(error)
        return
    anchors = [explanation.anchor for explanation in page.explanations]
    assert len(set(anchors)) == len(anchors)
    for explanation in page.explanations:
        assert explanation.title
        assert explanation.content
        assert not INVISIBLE.search(explanation.title + explanation.content + explanation.anchor)
        assert 3 <= len(complete_learns((), explanation, page)) <= 5
    findings_of_page("m", page, None)


def document_is_read_like_json_or_refused(text: str) -> None:
    try:
        document = parsed_table(text)
    except Invalid as error:
        _is_a_sentence(error)
        return
    assert parsed_table(written_table(document)) == document
    with contextlib.suppress(RecursionError):
        assert json.loads(text.removeprefix("\ufeff")) == document


def pointer_leads_somewhere_or_nowhere(given: tuple[Any, str]) -> None:
    document, pointer = given
    try:
        resolve(document, pointer)
        found = list(large_strings(document, pointer, threshold=1))
    except (Invalid, NotFound) as error:
        _is_a_sentence(error)
        return
    for each in found:
        assert isinstance(each, LargeString)
        assert resolve(document, each.json_pointer) == each.text


def changes_are_all_made_or_none(given: tuple[Any, Sequence[Mapping[str, object]]]) -> None:
    document, operations = given
    before = json.dumps(document)
    try:
        patched(document, operations)
    except (Invalid, NotFound) as error:
        _is_a_sentence(error)
    assert json.dumps(document) == before


def words_fit_every_store(text: str) -> None:
    plain = canonical(text)
    assert canonical(plain) == plain
    assert all(term.strip() and len(term.encode()) <= LONGEST_TERM for term in term_counts(analyze(text)))


def question_is_understood(query: str) -> None:
    asked_for = lexicon_lookup(query)
    known = LexiconEntries(
        spellings=dict.fromkeys(asked_for.readings, ("解",)), similar=dict.fromkeys(asked_for.words, ("因数",))
    )
    assert analyze_query(query, known) == analyze_query(query, known)
    assert analyze_query(query, LexiconEntries()).query == query


def normal_forms_are_unicodes(text: str) -> None:
    assert nfc(text) == unicodedata.normalize("NFC", text)
    assert nfkc(text) == unicodedata.normalize("NFKC", text)


def key_stays_on_the_site(key: str) -> None:
    material = material_of_key(key)
    if material is not None:
        address = urlsplit(urljoin("https://school.example/", link(material, "rule-a", SITE)))
        assert (address.scheme, address.netloc, address.fragment) == ("https", "school.example", "rule-a")
        assert split_chunk_id(chunk_id(material, "rule-a"))[1] == "rule-a"


def refused_or(read: Callable[[Any], object]) -> Callable[[Any], None]:
    """Holds if `read` gives something, or one of our errors with a sentence."""

    def holds(given: Any) -> None:
        try:
            read(given)
        except SakuinError as error:
            _is_a_sentence(error)

    return holds


def _read_by(read: Callable[[Mapping[str, Any]], object]) -> Callable[[str], object]:
    """Reads the body of a message, as the handler of a queue does."""
    return lambda body: read(parsed_message(body))


def requests_are_answered(tools: KnowledgeTools) -> Callable[[tuple[Any, str, str]], None]:
    """Holds if a request is answered, at either endpoint and in any era, without a failure of ours."""
    handler = handler_of(tools)

    def holds(given: tuple[Any, str, str]) -> None:
        message, era, path = given
        method = str(message.get("method")) if isinstance(message, dict) else ""
        headers = routed(method.encode("ascii", "ignore").decode(), era)
        answer = asked(handler, json.dumps(message), headers, path=path)
        assert is_told(answer), answer

    return holds


def targets() -> dict[str, Target]:
    """Returns all targets that need no database, by name."""
    operation = st.fixed_dictionaries(
        {"op": st.sampled_from(("add", "set", "replace", "remove", "x")), "path": made.pointers},
        optional={"value": made.values},
    )
    finite = made.values.filter(lambda value: "NaN" not in json.dumps(value) and "Infinity" not in json.dumps(value))
    return {
        "HTML pages": Target(made.pages, page_is_read_or_refused),
        "JSON documents": Target(made.json_texts, document_is_read_like_json_or_refused),
        "JSON pointers": Target(st.tuples(made.values, made.pointers), pointer_leads_somewhere_or_nowhere),
        "JSON patches": Target(st.tuples(finite, st.lists(operation, max_size=5)), changes_are_all_made_or_none),
        "words": Target(made.any_text, words_fit_every_store),
        "questions": Target(made.any_text, question_is_understood),
        "normal forms": Target(made.any_text, normal_forms_are_unicodes),
        "keys": Target(made.text.map(lambda name: f"{name}.html"), key_stays_on_the_site),
        "learns.yml": Target(
            st.one_of(made.json_texts, made.text).map(lambda text: text.encode("utf-8", "replace")),
            refused_or(parse_learns),
        ),
        "synonyms.yml": Target(
            made.json_texts.map(lambda text: text.encode("utf-8", "replace")), refused_or(parse_synonyms)
        ),
        "material queue": Target(made.messages.map(json.dumps), refused_or(_read_by(read_event))),
        "tool queue": Target(made.messages.map(json.dumps), refused_or(_read_by(tool_message))),
        "embed queue": Target(made.messages.map(json.dumps), refused_or(_read_by(embed_message))),
    }


def requests_to(tools: KnowledgeTools) -> Target:
    """Returns the target of agents' requests to these tools."""
    rpc = st.one_of(
        made.messages,
        st.builds(
            lambda method, params: {"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
            st.sampled_from(("tools/call", "tools/list", "initialize", "ping", "server/discover", "x")),
            st.one_of(
                made.messages,
                st.fixed_dictionaries(
                    {"name": st.sampled_from(("search_knowledge", "search")), "arguments": made.messages}
                ),
            ),
        ),
    )
    return Target(st.tuples(rpc, st.sampled_from(ERAS), st.sampled_from(PATHS)), requests_are_answered(tools))


def _is_a_sentence(error: SakuinError) -> None:
    said = str(error)
    assert 10 < len(said) < 3000
    assert "Traceback" not in said
