"""The functions' secret, from AWS Secrets Manager, by name."""

import json

from aws_lambda_powertools.utilities import parameters
from aws_lambda_powertools.utilities.parameters.exceptions import GetParameterError

from sakuin.errors import Misconfigured, Unavailable
from sakuin.settings import Secrets

_MAX_AGE_SECONDS = 300


def secrets_named(name: str) -> Secrets:
    """The secret's members; read again after five minutes, so that a rotated key arrives without a deployment."""
    try:
        value = parameters.get_secret(name, max_age=_MAX_AGE_SECONDS)
    except GetParameterError as error:
        raise Unavailable(f"The secret {name} cannot be read: does it exist, and may this function read it?") from error
    try:
        members = json.loads(value)
    except ValueError:
        raise Misconfigured(f"The secret {name} must hold one JSON object") from None
    if not isinstance(members, dict):
        raise Misconfigured(f"The secret {name} must hold one JSON object")
    return Secrets.read(members, name)
