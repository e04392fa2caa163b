"""The browser of all tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.browser.driving import Browser, started_browser


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with started_browser() as browser:
        yield browser
