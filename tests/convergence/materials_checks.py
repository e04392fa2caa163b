"""Whether the library is what its oracle says: at every step what may never be broken, in the end all."""

import json
from collections.abc import Mapping

from sakuin.knowledge.model import Filters
from sakuin.knowledge.postgres_search import Question

from tests.convergence.materials_oracle import SYNONYMS, Boxes, MaterialsOracle, name_of
from tests.convergence.materials_world import MaterialsWorld
from tests.convergence.world import said_of
from tests.doubles.embedder import FINGERPRINT, vector_of

_NEVER = {
    "words without postings": (
        "select u.term, w.number, u.impact from chunk_words w, unnest(w.terms, w.impacts) u(term, impact) except"
        " select p.term, u.number, u.impact from posting p, unnest(p.chunks, p.impacts) u(number, impact)"
    ),
    "postings without words": (
        "select p.term, u.number from posting p, unnest(p.chunks) u(number)"
        " where u.number not in (select number from chunk_words)"
    ),
    "chunks without words, or words without chunks": (
        "select id from (select * from chunk_words where is_current) w full join knowledge_chunks k using (id)"
        " where w.number is null or k.anchor is null"
    ),
    "vectors that are never deleted": (
        "select space, text_hash from knowledge_vector except select space, text_hash from embedded_text"
        " except select space, text_hash from unused_vector"
    ),
}
_WRONG = " union all ".join(
    f"select '{wrong}: ' || row_to_json(found)::text from ({statement}) found" for wrong, statement in _NEVER.items()
).encode()


def searchable(world: MaterialsWorld) -> dict[str, dict[str, str]]:
    """What is in the index: anchor to content by material."""
    found: dict[str, dict[str, str]] = {}
    for material, anchor, content in world.sql.execute(
        "select material, anchor, content from knowledge_chunks"
    ).fetchall():
        found.setdefault(material, {})[anchor] = content
    return found


def check_always(world: MaterialsWorld, oracle: MaterialsOracle) -> None:
    """Fails unless each page's chunks and words are those of one version."""
    for material, contents in searchable(world).items():
        assert any(_is(contents, version) for version in oracle.versions(material)), f"{material} is a mixture"
    wrong = world.sql.execute(_WRONG).fetchall()
    assert not wrong, wrong[:3]


def check_settled(world: MaterialsWorld, oracle: MaterialsOracle) -> None:
    """Fails unless the index contains exactly what the bucket contains."""
    found = searchable(world)
    names = {name_of(key) for key in oracle.ever if key.endswith(".html")}
    assert found.keys() <= names
    for name in names:
        _check_material(world, oracle, name, found.get(name, {}))
    _check_synonyms(world, oracle)
    _check_events(world)
    assert world.sql.execute("select id from chunk_words where not is_current").fetchall() == [], "staged words"
    ids = {f"{name}#{anchor}" for name, contents in found.items() for anchor in contents}
    listed, _ = world.read.concepts(Filters(), None)
    assert {concept.id for concept in listed} == ids, "concepts"
    asked = Question(tuple(vector_of("説明")), (), FINGERPRINT, Filters(), 50)
    assert {match.id for match in world.searched.matches(asked)} == ids, "matches"


def _check_material(world: MaterialsWorld, oracle: MaterialsOracle, name: str, contents: Mapping[str, str]) -> None:
    state, keys = world.index.state(name), oracle.keys(name)
    if not keys:
        assert not contents, f"{name} is deleted and still found"
        assert state is None or state.status == "deleted", name
        return
    assert state is not None, f"{name} was never indexed"
    owner = state.source.key
    assert owner in keys, f"{name} belongs to {owner!r}, which holds nothing"
    body = oracle.now(owner)
    assert state.source.version_id == world.bucket.current_version(owner), f"{name} has not heard of the newest version"
    if body in oracle.boxes:
        assert _is(contents, oracle.boxes[body]), f"{name} does not say what its newest version says"
        assert (state.status, state.error, state.chunks_count) == ("ready", None, len(contents)), name
        _check_learns(world, oracle, name)
    else:
        assert state.status == "failed", f"{name} is {state.status}"
        assert state.error, name
    waiting = "select key from competing_key where material = %s and not deleted"
    waits = {key for (key,) in world.sql.execute(waiting, [name]).fetchall()}
    assert waits == set(keys) - {owner}, f"{waits} wait for {name}"


def _check_learns(world: MaterialsWorld, oracle: MaterialsOracle, name: str) -> None:
    given = "select anchor, learns_given from knowledge_chunks where material = %s and learns_source = 'author'"
    said = {anchor: tuple(items) for anchor, items in world.sql.execute(given, [name]).fetchall()}
    anchors = searchable(world).get(name, {}).keys()
    wanted = {anchor: items for anchor, items in oracle.learns(name).items() if anchor in anchors}
    assert said == wanted, f"the author's lists of {name} are {said}, and should be {wanted}"
    others = "select anchor, content, learns, learns_source from knowledge_chunks where material = %s"
    for anchor, content, items, source in world.sql.execute(others, [name]).fetchall():
        if anchor not in wanted:
            assert (source, tuple(items)) == ("model", said_of(content)), f"the learns of {name}#{anchor} are {source}"


def _check_synonyms(world: MaterialsWorld, oracle: MaterialsOracle) -> None:
    for key in SYNONYMS:
        kept = world.sql.execute("select groups from site_synonyms where key = %s", [key]).fetchall()
        groups = [group["phrases"] for (rows,) in kept for group in rows]
        assert groups == oracle.synonyms(key), key


def _check_events(world: MaterialsWorld) -> None:
    """Fails unless the newest event about each page says what the page is."""
    newest: dict[str, tuple[int, str]] = {}
    for entry in world.bus.taken:
        detail = json.loads(entry["Detail"])
        name = detail["material"]
        newest[name] = max(newest.get(name, (0, "")), (detail["generation"], entry["DetailType"]))
    kinds = {"ready": "MaterialIndexed", "failed": "MaterialFailed", "deleted": "MaterialRemoved"}
    rows = world.sql.execute("select material, status, announced = version_state from material").fetchall()
    for name, status, is_announced in rows:
        assert is_announced, f"the event about {name} waits"
        if name in newest or status != "deleted":
            assert newest[name][1] == kinds[status], f"the last event about {name}"


def _is(contents: Mapping[str, str], boxes: Boxes) -> bool:
    return contents.keys() == boxes.keys() and all(boxes[anchor] in text for anchor, text in contents.items())
