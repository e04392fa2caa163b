"""Another function of the deployment, called directly."""

import json
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from sakuin.errors import Unavailable


@dataclass(frozen=True, slots=True)
class LambdaFunction:
    """One function by its ARN; `client` is boto3's."""

    client: Any
    arn: str

    def invoke(self, event: dict[str, Any]) -> dict[str, Any]:
        """Returns what the function answers; `Unavailable` if it does not answer or fails."""
        try:
            response = self.client.invoke(FunctionName=self.arn, Payload=json.dumps(event))
            answer = json.loads(response["Payload"].read())
        except (BotoCoreError, ClientError, ValueError) as error:
            raise Unavailable(f"The function {self.arn} did not answer", vendor="lambda") from error
        if "FunctionError" in response or not isinstance(answer, dict):
            raise Unavailable(f"The function {self.arn} failed", vendor="lambda")
        return answer
