"""The parts of the tests that processes run one after the other."""

from tests.parallel import PARTS, TESTS, part_of


def test_each_path_of_a_part_is_the_beginning_of_a_test_file() -> None:
    files = [(part_of(file), file.relative_to(TESTS).as_posix()) for file in TESTS.rglob("test_*.py")]
    paths = [(part, path) for part, paths in enumerate(PARTS) for path in paths]
    assert [path for part, path in paths if not any(p == part and file.startswith(path) for p, file in files)] == []
