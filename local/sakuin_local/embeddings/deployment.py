"""The embedding model of a deployment, whose stored vectors are asked for first."""

from collections.abc import Sequence

import numpy as np
from sakuin.errors import SakuinError
from sakuin.platform.embedding import unpacked
from sakuin.retrieval.vectors import text_hash
from sakuin_cli.client import DeploymentClient, portions
from sakuin_cli.rest import Record, session

from sakuin_local.embeddings.model import Text, Vector
from sakuin_local.embeddings.refused import Refused

# The limits of `POST /v1/index/vectors`: texts and characters, and questions.
SLICE = 64, 20_000
_QUESTIONS = 8


class DeploymentModel:
    """A model in place of the one of this machine, over a deployment's `POST /v1/index/vectors`."""

    def __init__(self, url: str, key: str) -> None:
        self._client = DeploymentClient(session(url, key))

    def name(self) -> str:
        """Returns the name of the model of the live index version."""
        return str(self._ask()["settings"]["model"]["name"])

    def embed(self, texts: Sequence[Text]) -> list[Vector]:
        """Returns the vectors of texts of one kind, in their order; raises `Refused` if the deployment fails."""
        plain = [each.text for each in texts]
        if texts[0].is_query:
            packed = [each for some in portions(plain, _QUESTIONS) for each in self._ask(queries=some)["queries"]]
            return [_vector(each) for each in packed]
        # Of a text with one passage, the hash of the text is the name of its vector.
        names = {text: text_hash(text) for text in plain}
        stored = self._ask(names=list(names.values()))["vectors"]
        missing = [text for text in names if names[text] not in stored]
        new = dict(zip(missing, self._ask(texts=missing)["texts"] if missing else (), strict=True))
        return [_vector(stored.get(names[text]) or new[text]) for text in plain]

    def tokens(self, text: Text) -> int:
        """Returns about how many tokens a text has: the deployment counts them."""
        return len(text.text) // 2 + 1

    def _ask(self, **asked: Sequence[str]) -> Record:
        try:
            return self._client.call(
                "POST", "index", "vectors", json={"names": [], "texts": [], "queries": [], **asked}
            )
        except SakuinError as error:
            raise Refused(str(error), status=503) from error


def _vector(packed: str) -> Vector:
    return np.array(unpacked(packed), dtype="<f4")
