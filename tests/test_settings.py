"""What the environment says, and what is said when it says too little."""

import pytest
from sakuin.domain.page import DEFAULT_BOX_SELECTORS
from sakuin.errors import Misconfigured
from sakuin.settings import Secrets, Settings

ENVIRONMENT = {
    "MATERIALS_BUCKET": "materials",
    "MATERIAL_QUEUE_URL": "https://sqs/queue",
    "SECRET_NAME": "sakuin/prod",
    "SUPABASE_URL": "https://abcd.supabase.co",
    "EMBEDDING_MODEL": "text-embedding-3-small",
}
SECRET = {
    "supabase_service_key": "service-key",
    "openai_api_key": "openai-key",
    "key_pepper": "pepper-value",
    "knowledge_key_hashes": ["knowledge-hash"],
    "admin_key_hashes": ["admin-hash"],
}


@pytest.mark.parametrize("name", ENVIRONMENT)
@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_setting_names_itself_and_gives_an_example(name: str, value: str | None) -> None:
    environ = {key: text for key, text in ENVIRONMENT.items() if key != name}
    with pytest.raises(Misconfigured, match=rf"^{name} is not set\. Set it in template\.yaml.*{name}="):
        Settings.read(environ if value is None else environ | {name: value})


def test_a_number_that_is_none_names_its_setting() -> None:
    with pytest.raises(Misconfigured, match=r"MAX_PAGE_BYTES must be a whole number.*not '10 MB'"):
        Settings.read(ENVIRONMENT | {"MAX_PAGE_BYTES": "10 MB"})


@pytest.mark.parametrize(("given", "model"), [("", ""), (" ", ""), ("gpt-4.1-mini", "gpt-4.1-mini")])
def test_a_space_stands_for_no_language_model(given: str, model: str) -> None:
    assert Settings.read(ENVIRONMENT | {"LEARNS_MODEL": given}).learns_model == model


@pytest.mark.parametrize(("given", "folder"), [("", ""), ("/", ""), ("site", "site/"), ("/a/site/", "a/site/")])
def test_a_prefix_is_a_folder(given: str, folder: str) -> None:
    assert Settings.read(ENVIRONMENT | {"MATERIAL_PREFIX": given}).material_prefix == folder


@pytest.mark.parametrize(
    ("given", "selectors"),
    [
        ("", DEFAULT_BOX_SELECTORS),
        (" , ", DEFAULT_BOX_SELECTORS),
        (".note-box", (".note-box",)),
        (".rule-box,  aside.hint ", (".rule-box", "aside.hint")),
        ("div:is(.a, .b), [data-box='x,y'], .c", ("div:is(.a, .b)", "[data-box='x,y']", ".c")),
    ],
)
def test_box_selectors_stand_between_commas_and_none_are_the_usual_ones(given: str, selectors: tuple[str, ...]) -> None:
    assert Settings.read(ENVIRONMENT | {"BOX_SELECTORS": given}).box_selectors == selectors


@pytest.mark.parametrize("member", SECRET)
@pytest.mark.parametrize("value", [None, 5, ""])
def test_a_missing_member_of_the_secret_names_itself_and_no_value_is_shown(member: str, value: object) -> None:
    with pytest.raises(Misconfigured, match=f"sakuin/prod has no member '{member}'") as raised:
        Secrets.read({**SECRET, member: value}, "sakuin/prod")
    assert not any(text in str(raised.value) for text in ("service-key", "openai-key", "pepper-value", "-hash"))


def test_no_secret_is_in_a_representation() -> None:
    shown = repr(Secrets.read(SECRET, "sakuin/prod"))
    assert not any(text in shown for text in ("-key", "-value", "-hash"))
