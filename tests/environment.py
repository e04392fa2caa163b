"""The environment of a deployed function: the defaults of `template.yaml`, and names for what a deployment creates."""

from sakuin_local.aws.template import read_template
from sakuin_local.places import TEMPLATE

_CREATED = {
    "MATERIALS_BUCKET": "materials",
    "MATERIAL_QUEUE_URL": "https://sqs/materials",
    "TABLES_BUCKET": "tables",
    "TOOL_QUEUE_URL": "https://sqs/tools",
    "EMBED_QUEUE_URL": "https://sqs/embed",
    "EVENT_BUS_NAME": "bus",
    "SUPABASE_URL": "https://abcd.supabase.co",
}


def _defaults() -> dict[str, str]:
    template = read_template(TEMPLATE)
    variables = template["Globals"]["Function"]["Environment"]["Variables"]
    parameters = template["Parameters"]
    return {
        name: str(parameters[value["Ref"]]["Default"])
        for name, value in variables.items()
        if isinstance(value, dict) and "Default" in parameters.get(value.get("Ref"), {})
    }


# Read once: the template takes half a second.
ENVIRONMENT = {**_defaults(), **_CREATED}


def environment(**changed: str) -> dict[str, str]:
    """Returns the variables of every function, some of them changed."""
    return {**ENVIRONMENT, **changed}
