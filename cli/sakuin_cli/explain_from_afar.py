"""How a deployment understands and answers a question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sakuin_cli.ports import DeployedExplanations


@dataclass(frozen=True, slots=True)
class ExplainFromAfar:
    """Asks a deployment as its keeper."""

    deployed: DeployedExplanations

    def __call__(
        self,
        query: str,
        *,
        tool: str | None,
        expected: str | None,
        top_k: int,
        filters: Mapping[str, str | None],
        legs: str,
        without: Sequence[str],
        index: str | None = None,
    ) -> Mapping[str, Any]:
        """The explanation of the answer's `top_k` results; filters that are None are not sent."""
        return self.deployed.explain(
            query,
            tool=tool,
            expected=expected,
            top_k=top_k,
            depth=top_k,
            filters={name: value for name, value in filters.items() if value is not None},
            legs=legs,
            without=without,
            index=index,
        )
