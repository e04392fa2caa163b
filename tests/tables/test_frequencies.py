"""How frequent the terms of a Table are: counted in its chunks, in a sample of a large one."""

from sakuin.retrieval.ranking import Frequencies

from tests.worlds import TableWorld, long

WORDS = ("公式", "傾き", "確率", "friction", "Reibung")


def frequencies(world: TableWorld, tool: str, *terms: str, endpoint: str | None = None) -> Frequencies:
    found, _ = world.records.term_frequencies(endpoint or world.endpoint(tool), tool, terms, sample=0)
    return found


def test_a_term_is_counted_in_the_chunks_that_have_it(world: TableWorld) -> None:
    _, tool, _ = world.indexed({"a": long("公式", 300), "b": long("公式と傾き", 300), "c": long("friction", 300)})

    assert frequencies(world, tool, "公式", "傾き", "^公式", "猫") == Frequencies(3, {"公式": 2, "傾き": 1, "^公式": 2})


def test_of_a_large_table_a_part_of_the_chunks_is_counted(world: TableWorld) -> None:
    table, tool, _ = world.indexed({"a": long("公式", 300)})
    # As if 6,000 chunks were counted: of further ones every eighth is.
    world.sql("update table_reading set chunks = 6000 where table_id = %s and written = ''", table)
    world.replace(table, {"a": long("公式", 300), **{str(number): long(f"傾き{number}", 200) for number in range(80)}})
    world.settle()

    found = frequencies(world, tool, "^傾き")
    assert found.total == 6000 + found.chunks["^傾き"]
    assert 1 <= found.chunks["^傾き"] <= 30


def test_the_sample_for_the_meaning_is_the_same_for_every_question(world: TableWorld) -> None:
    table, tool, endpoint = world.indexed({str(number): long(f"傾き{number}", 200) for number in range(6)})
    samples = [world.records.term_frequencies(endpoint, tool, [term], sample=4)[1] for term in WORDS]
    assert len(samples[0]) == 4
    assert set(samples[0]) < set(world.rows(table))
    assert all(sample == samples[0] for sample in samples)


def test_an_endpoint_without_the_tool_is_told_nothing(world: TableWorld) -> None:
    _, tool, _ = world.indexed({"a": long("公式", 300)})
    own = world.tool(world.table({"a": long("傾き")}), "", name="beside")
    unbound, closed = world.endpoint(tool), world.endpoint(tool)
    world.call("unbind_tool", mcp=unbound, tool=tool)
    world.sql("update mcp set status = 'disabled' where id = %s", closed)
    for endpoint in (unbound, closed, world.endpoint(own)):
        assert world.records.term_frequencies(endpoint, tool, ["公式"], sample=5) == (Frequencies(0, {}), ())
