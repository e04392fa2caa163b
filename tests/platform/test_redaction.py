"""Secrets are hidden in any text, and nothing else is."""

import json

import pytest
from sakuin.platform.redaction import HIDDEN, redacted

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl-_x"
KEYS = ("sk_sakuin_" + "k" * 43, "sb_secret_" + "x" * 20, "sk-proj-" + "y" * 40, "tpuf_" + "z" * 20, TOKEN)


@pytest.mark.parametrize("secret", [*KEYS, "AKIA" + "A" * 16])
@pytest.mark.parametrize("before", ["", "=", "a ", '"', "the-", "x.", "a\n", "a\t", "a\r\n", "日本"])
def test_what_looks_like_a_secret_is_hidden_wherever_it_begins(secret: str, before: str) -> None:
    said = f"{before}{secret} and more"
    assert redacted(said) == f"{before}{HIDDEN} and more"
    for ascii in (True, False):
        line = redacted(json.dumps({"message": said}, ensure_ascii=ascii))
        assert json.loads(line)["message"] == f"{before}{HIDDEN} and more"


@pytest.mark.parametrize(
    "plain", ["greyjoy123.example.com", "a.bcdef.ghijk", "eyJ.eyJ.eyJ", "eyJabcdef.abcdef", "task-force-of-sixteen", ""]
)
def test_a_word_that_only_resembles_one_stays(plain: str) -> None:
    assert redacted(plain) == plain


def test_each_of_several_tokens_is_hidden() -> None:
    assert redacted(f"{TOKEN} {TOKEN}, the-{TOKEN}") == f"{HIDDEN} {HIDDEN}, the-{HIDDEN}"
