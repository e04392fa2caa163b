"""The list of deliberate defects is true: each text exists once, and its tests exist."""

from tests.mutations import ROOT, mutations


def test_each_mutation_changes_one_place_and_names_tests_that_exist() -> None:
    """A change that moves the text changes its entry; one that deletes the feature deletes the entry."""
    listed = mutations()
    assert len(listed) >= 60
    assert [(each.number, each.file, each.before) for each in listed if each.count_in(ROOT) != 1] == []
    assert [(each.number, test) for each in listed for test in each.tests if not (ROOT / test).exists()] == []
    assert all(each.before != each.after for each in listed)
