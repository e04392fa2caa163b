"""Vectors from the deployment's index and its embedding model, kept on disk, and their cosines."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sakuin.errors import Misconfigured, NotFound, SakuinError
from sakuin.language.vocabulary_files import vocabulary_id
from sakuin.platform.embedding import DIMENSIONS, EmbeddingModel, RequestSize, Vector, embed_texts, packed, unpacked
from sakuin.retrieval.index_version import ANALYZER, DEFAULT_VOCABULARY, TEXT_TEMPLATE, IndexVersion, PageIndexVersion
from sakuin.retrieval.vectors import text_hash

from sakuin_cli.portions import portions
from sakuin_cli.prediction.cache import Cache
from sakuin_cli.terminal import OnProgress

if TYPE_CHECKING:
    from sakuin_cli.client import DeploymentClient

_NAMES_A_REQUEST = 500
# A small model answers so many characters within the time of a request.
_FIRST_CHARACTERS = 2_000


def index_version(cache: Cache, client: "DeploymentClient | None") -> PageIndexVersion:
    """Returns the live index version of the deployment, or the one of the last prediction; else that of no model.

    Raises `Misconfigured` if the deployment's code writes other texts or words than the command.
    """
    if client is not None:
        settings = client.vectors()["settings"]
        if (settings["recipe"], settings["analyzer"]) != (TEXT_TEMPLATE, ANALYZER):
            raise Misconfigured("The deployment has another version: install the `sakuin` command of its version")
        cache.store_settings(settings)
    stored = cache.settings()
    if stored is not None:
        return IndexVersion.from_json(stored).pages
    return PageIndexVersion(EmbeddingModel("", DIMENSIONS), TEXT_TEMPLATE, ANALYZER, vocabulary_id(DEFAULT_VOCABULARY))


@dataclass(frozen=True, slots=True)
class DeploymentEmbedder:
    """An `Embedder`: the model of the deployment's live index version."""

    client: "DeploymentClient"

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        return list(map(unpacked, self.client.vectors(texts=texts)["texts"]))

    def query(self, text: str) -> Vector:
        return unpacked(self.client.vectors(queries=[text])["queries"][0])


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of passages by their names and of questions, of one `space`: on disk, else of the deployment.

    Without a `client` there are only those on disk.
    """

    cache: Cache
    space: str
    client: "DeploymentClient | None"

    def fetch(self, texts: Mapping[str, str], on_progress: OnProgress) -> str | None:
        """Keeps the vector of each text on disk; returns why some have none, None if all have one."""
        kept = self.cache.values("vector", list(map(self._key, texts)))
        missing = [name for name in texts if self._key(name) not in kept]
        if not missing:
            return None
        if self.client is None:
            return "there is no deployment to ask: set SAKUIN_URL and SAKUIN_PUSH_KEY"
        try:
            for some in portions(missing, _NAMES_A_REQUEST):
                stored = self.client.vectors(names=some)["vectors"]
                self._keep({name: unpacked(vector) for name, vector in stored.items()})
                missing = [name for name in missing if name not in stored]
            new, size = {name: texts[name] for name in missing}, RequestSize(_FIRST_CHARACTERS)
            done = 0

            def keep(vectors: Mapping[str, Vector]) -> None:
                nonlocal done
                self._keep(vectors)
                done += len(vectors)
                on_progress("embedded", done, len(new))

            refused = embed_texts(DeploymentEmbedder(self.client), new, keep, size).refused
        except SakuinError as error:
            return str(error)
        return next(iter(refused.values()), None)

    def query(self, text: str) -> Vector:
        """Returns the vector of a question. Raises `NotFound` if it is not on disk and nobody can embed it."""
        name = f"question {text_hash(text)}"
        if stored := self.cache.values("vector", [self._key(name)]):
            return unpacked(stored[self._key(name)].decode())
        if self.client is None:
            raise NotFound("There is no deployment to embed a question")
        try:
            vector = DeploymentEmbedder(self.client).query(text)
        except SakuinError as error:
            # A search by words alone is no prediction.
            raise NotFound(str(error)) from error
        self._keep({name: vector})
        return vector

    def stored(self, names: Sequence[str]) -> dict[str, str]:
        """Returns those of the vectors of passages that there are, packed, by name."""
        keys = {self._key(name): name for name in names}
        return {keys[key]: value.decode() for key, value in self.cache.values("vector", keys).items()}

    def _keep(self, vectors: Mapping[str, Vector]) -> None:
        self.cache.store("vector", {self._key(name): packed(vector).encode() for name, vector in vectors.items()})

    def _key(self, name: str) -> str:
        return f"{self.space} {name}"


@dataclass(frozen=True, slots=True)
class Cosines:
    """The cosines of questions with texts whose vectors are the rows of `units`; NaN for a text that is not `known`."""

    units: NDArray[np.float64]
    known: NDArray[np.bool_]

    @classmethod
    def of_passages(cls, vectors: Vectors, names: Sequence[str]) -> "Cosines":
        """Returns those with passages, in the order of `names`."""
        stored = vectors.stored(names)
        units = np.array([_unit(stored[name]) for name in names if name in stored])
        if stored:
            # The vectors of a small model end with zeros.
            units = np.ascontiguousarray(units[:, : np.flatnonzero(units.any(axis=0))[-1] + 1])
        return cls(units, np.array([name in stored for name in names], dtype=bool))

    def of_groups(self, groups: Sequence[NDArray[np.int64]]) -> "Cosines":
        """Returns those with the mean of each group of texts, which are known, by their numbers."""
        means = np.array([self.units[group].mean(axis=0) for group in groups])
        return Cosines(means / np.linalg.norm(means, axis=1, keepdims=True), np.ones(len(groups), dtype=bool))

    def of(self, question: Vector | None) -> NDArray[np.float64]:
        """Returns the cosine with each text; all are NaN without a question."""
        cosines = np.full(len(self.known), np.nan)
        if question is not None and self.known.any():
            cosines[self.known] = self.units @ _unit(packed(question))[: self.units.shape[1]]
        return cosines


def _unit(vector: str) -> NDArray[np.float64]:
    """Returns a stored vector, which has 16 bits a number as in the database, with the length 1."""
    numbers = np.frombuffer(base64.b64decode(vector), dtype=">f2").astype(np.float64)
    return numbers / np.linalg.norm(numbers)
