"""Vectors from the deployment's index and its embedding model, kept on disk, and their cosines."""

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sakuin.errors import Misconfigured, NotFound, SakuinError
from sakuin.language.vocabulary_files import vocabulary_id
from sakuin.platform.embedding import DIMENSIONS, EmbeddingModel, RequestSize, Vector, packed, unpacked
from sakuin.retrieval.index_version import ANALYZER, DEFAULT_VOCABULARY, TEXT_TEMPLATE, IndexVersion, PageIndexVersion
from sakuin.retrieval.vectors import embed_texts, text_hash

from sakuin_cli.portions import portions
from sakuin_cli.prediction.cache import Cache
from sakuin_cli.prediction.pages import PredictedPage
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

    def of_page(self, page: PredictedPage) -> dict[str, Vector]:
        """Returns the vectors of a page's passages that there are, by name."""
        keys = {self._key(name): name for name in page.texts}
        return {keys[key]: unpacked(value.decode()) for key, value in self.cache.values("vector", keys).items()}

    def _keep(self, vectors: Mapping[str, Vector]) -> None:
        self.cache.store("vector", {self._key(name): packed(vector).encode() for name, vector in vectors.items()})

    def _key(self, name: str) -> str:
        return f"{self.space} {name}"


class Cosines:
    """The cosines of questions with the passages of pages. Those of a page that has all its vectors stay on disk."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._of_page: dict[str, dict[str, _Measured]] = {}
        self._known: dict[tuple[str, str], dict[str, float | None]] = {}

    def of(self, question: Vector, pages: Sequence[PredictedPage]) -> Mapping[str, float | None]:
        """Returns the cosine of a question with each passage by name; None without a vector."""
        found: dict[str, float | None] = {}
        asked = text_hash(packed(question))
        missing = [page for page in pages if (asked, page.digest) not in self._known]
        keys = {f"{self._vectors.space} {asked} {page.digest}": page for page in missing}
        for key, content in self._vectors.cache.values("cosines", keys).items():
            page = keys[key]
            self._known[asked, page.digest] = dict(zip(page.texts, array("d", content), strict=True))
        own = _Measured.of(question)
        new = {}
        for key, page in keys.items():
            if (asked, page.digest) not in self._known:
                vectors = self._page(page)
                cosines = {name: own.cosine(vectors[name]) if name in vectors else None for name in page.texts}
                self._known[asked, page.digest] = cosines
                if len(vectors) == len(page.texts):
                    new[key] = array("d", map(float, cosines.values())).tobytes()  # type: ignore[arg-type]
        self._vectors.cache.store("cosines", new)
        for page in pages:
            found |= self._known[asked, page.digest]
        return found

    def _page(self, page: PredictedPage) -> "dict[str, _Measured]":
        if page.digest not in self._of_page:
            vectors = self._vectors.of_page(page)
            self._of_page[page.digest] = {name: _Measured.of(vector) for name, vector in vectors.items()}
        return self._of_page[page.digest]


@dataclass(frozen=True, slots=True)
class _Measured:
    """A vector, without the zeros at its end, and the square of its length."""

    vector: tuple[float, ...]
    square: float

    @classmethod
    def of(cls, vector: Vector) -> "_Measured":
        # As the database has it, in 16 bits.
        numbers = tuple(unpacked(packed(vector)))
        width = next((at for at in range(len(numbers), 0, -1) if numbers[at - 1]), 0)
        return cls(numbers[:width], math.fsum(number * number for number in numbers))

    def cosine(self, other: "_Measured") -> float:
        """Returns the cosine, by the distance: C computes it."""
        width = max(len(self.vector), len(other.vector))
        distance = math.dist(_padded(self.vector, width), _padded(other.vector, width))
        return (self.square + other.square - distance * distance) / (2 * math.sqrt(self.square * other.square))


def _padded(vector: tuple[float, ...], width: int) -> tuple[float, ...]:
    return vector if len(vector) == width else vector + (0.0,) * (width - len(vector))
