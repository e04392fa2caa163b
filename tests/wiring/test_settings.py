"""Settings and secrets, and the errors for missing ones."""

import pytest
from sakuin.errors import Misconfigured
from sakuin.knowledge.page import DEFAULT_BOX_SELECTORS
from sakuin.platform.secrets import Secrets
from sakuin.settings import Settings

from tests.environment import ENVIRONMENT

SECRET = {"supabase_service_key": "service-key", "openai_api_key": "openai-key", "admin_key_hashes": ["admin-hash"]}
# That of `mcp`.
SEARCH_SECRET = {
    "supabase_search_key": "search-key",
    "openai_api_key": "openai-key",
    "knowledge_key_hashes": ["knowledge-hash"],
}


@pytest.mark.parametrize("name", sorted(ENVIRONMENT.keys() - {"POWERTOOLS_LOG_LEVEL"}))
def test_a_missing_setting_is_named(name: str) -> None:
    with pytest.raises(Misconfigured, match=rf"^{name} is not set\. Add it to the environment"):
        Settings.read({key: text for key, text in ENVIRONMENT.items() if key != name})


@pytest.mark.parametrize("name", ["SUPABASE_URL", "EMBEDDING_MODEL", "TOOL_QUEUE_URL", "LIMITS"])
@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(Misconfigured, match=rf"^{name} is empty\. Set its parameter"):
        Settings.read(ENVIRONMENT | {name: value})


def test_a_number_that_is_none_names_its_setting() -> None:
    with pytest.raises(Misconfigured, match=r"LEASE_SECONDS must be a whole number, not 'a minute'"):
        Settings.read(ENVIRONMENT | {"LEASE_SECONDS": "a minute"})


@pytest.mark.parametrize(
    ("variable", "texts"),
    [
        # A space stands for no model.
        ("LEARNS_MODEL", {"": "", " ": "", "gpt-4.1-mini": "gpt-4.1-mini"}),
        ("MATERIAL_PREFIX", {"": "", "/": "", "site": "site/", "/a/site/": "a/site/"}),
        (
            "BOX_SELECTORS",
            {
                **{"": DEFAULT_BOX_SELECTORS, " , ": DEFAULT_BOX_SELECTORS, ".note-box": (".note-box",)},
                ".rule-box,  aside.hint ": (".rule-box", "aside.hint"),
                "div:is(.a, .b), [data-box='x,y'], .c": ("div:is(.a, .b)", "[data-box='x,y']", ".c"),
            },
        ),
    ],
)
def test_a_setting_is_read_from_its_text(variable: str, texts: dict[str, object]) -> None:
    for text, value in texts.items():
        assert getattr(Settings.read(ENVIRONMENT | {variable: text}), variable.lower()) == value


@pytest.mark.parametrize(
    ("secret", "member"), [(secret, member) for secret in (SECRET, SEARCH_SECRET) for member in secret]
)
@pytest.mark.parametrize("value", [None, 5, ""])
def test_a_missing_member_of_a_secret_is_named_without_values(
    secret: dict[str, object], member: str, value: object
) -> None:
    with pytest.raises(Misconfigured, match=f"sakuin/prod has no member '{member}'") as raised:
        Secrets.read({**secret, member: value}, "sakuin/prod")
    assert not any(text in str(raised.value) for text in ("service-key", "openai-key", "-hash"))


def test_no_secret_is_in_a_representation() -> None:
    shown = repr(Secrets.read({**SECRET, **SEARCH_SECRET}, "sakuin/prod"))
    assert not any(text in shown for text in ("-key", "-value", "-hash"))
