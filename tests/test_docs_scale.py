"""docs/scale.md has what the model gives with the template's parameters, the limits and the prices of today."""

from dataclasses import replace

import pytest

from benchmarks import scale

ROWS = scale.PAGE.read_text("utf-8").partition(scale.TABLE_BEGINS)[2].partition("\n\n")[0].splitlines()


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_the_table_is_that_of_the_model() -> None:
    # The fifth and the sixth column are those of the simulation.
    assert [cells(row)[:4] + cells(row)[6:] for row in ROWS] == [cells(row) for row in scale.table(simulated=False)]


def test_the_simulation_agrees_with_the_model() -> None:
    load = next(scale.loads())
    finished, waited = scale.Simulation(load).run()
    assert finished == pytest.approx(load.finish(), rel=0.1)
    assert cells(ROWS[0])[4:6] == [scale.duration(finished), scale.duration(waited)]


def test_the_simulation_agrees_with_a_thousand_pages_on_the_local_stack() -> None:
    finished, _ = scale.Simulation(scale.of_the_local_run()).run()
    assert finished == pytest.approx(scale.ASSUMED["local"]["many"]["seconds"], rel=0.1)


def test_a_day_without_budget_left_is_waited_for() -> None:
    load = replace(next(scale.loads()), units=30, arrival=60.0)
    budget = replace(load, daily_tokens=load.sums("tokens") / 2.5)
    finished, _ = scale.Simulation(budget).run()
    assert 2 * scale.DAY < finished == pytest.approx(budget.finish(), rel=0.1)


def test_one_namespace_takes_an_entry_a_second() -> None:
    *_, load = scale.loads()
    one = replace(load, messages=50, stages=[replace(stage, workers=1) for stage in load.stages], tokens_a_minute=1e12)
    finished, _ = scale.Simulation(one).run()
    assert finished >= 49 * scale.ENTRY_SECONDS
