"""What is logged may be a stranger's text: looking through it for secrets costs what its size costs."""

import pytest
from sakuin.platform.redaction import redacted

from tests.hostile.growth import grows_with_its_input

# Beginnings of everything that looks like a secret, again and again, without the end that would make it one.
SHAPES = (
    *("eyJ-", r"eyJ\n", "eyJaaaaa.", "eyJaaaaa.b.", "-a.bcdef", "sk-", "sk_sakuin_", r"sk_sakuin_\n"),
    *("sb_secret_-", "tpuf_", "tpuf_-", "AKIA", "://a:", "://", ":a@", "X-Amz-Signature=", "X-Amz-Credential=&"),
    "Bearer ",
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("before", ["", "://", "eyJaaaaa.eyJaaaaa"])
def test_looking_for_secrets_costs_what_the_text_s_size_costs(shape: str, before: str) -> None:
    assert grows_with_its_input(redacted, lambda times: before + shape * times, size=2000)
