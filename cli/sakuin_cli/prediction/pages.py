"""The pages of a folder as the index would have them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sakuin import __version__
from sakuin.errors import Invalid
from sakuin.knowledge.index_page import chunks_of_page
from sakuin.knowledge.learns.authored import parse_synonyms
from sakuin.knowledge.learns.sources import learns_without_model
from sakuin.knowledge.model import KnowledgeChunk
from sakuin.knowledge.names import SYNONYMS_FILE, authored_file, chunk_id
from sakuin.knowledge.postgres import written_words
from sakuin.language.synonyms import stored_groups
from sakuin.language.vocabulary import vocabulary_of
from sakuin.retrieval.index_version import PageIndexVersion

from sakuin_cli.files import read_bytes
from sakuin_cli.prediction.cache import Cache
from sakuin_cli.site.findings import authored_learns, learns_files
from sakuin_cli.site.pages import local_page
from sakuin_cli.site.uploads import Uploads

_SHOWN = ("id", "material", "anchor", "title", "content", "type", "page_title", "section", "level", "language")


@dataclass(frozen=True, slots=True)
class PredictedChunk:
    """An explanation as the index would have it.

    `shown` is what `chunks_to_show` returns. `terms` are its words with their impacts as in `posting`, `spelled` the
    words of scripts with spaces with their terms. `passages` name its vectors.
    """

    id: str
    shown: Mapping[str, Any]
    terms: Mapping[str, int]
    spelled: Mapping[str, str]
    passages: tuple[str, ...]
    illustrates: tuple[str, ...]

    @property
    def is_example(self) -> bool:
        """Whether it is an example."""
        return bool(self.shown["type"] == "example")


@dataclass(frozen=True, slots=True)
class PredictedPage:
    """A page as the index would have it. `digest` names everything that it was made of; `texts` are by passage."""

    digest: str
    path: str
    chunks: tuple[PredictedChunk, ...]
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PredictedSite:
    """The pages of a folder by material, and its synonyms by folder as the database has them.

    `unreadable` are the materials of pages that cannot be read, and the folders of such a `synonyms.yml`.
    """

    pages: Mapping[str, PredictedPage]
    synonyms: Mapping[str, Sequence[Mapping[str, list[str]]]]
    unreadable: frozenset[str] = frozenset()

    def after(self, before: "PredictedSite") -> "PredictedSite":
        """Returns the site with what the index keeps of `before`: the last version of files that cannot be read."""
        pages = {name: page for name, page in before.pages.items() if name in self.unreadable}
        synonyms = {folder: groups for folder, groups in before.synonyms.items() if folder in self.unreadable}
        return PredictedSite({**self.pages, **pages}, {**self.synonyms, **synonyms}, self.unreadable)


def predicted_site(uploads: Uploads, version: PageIndexVersion, cache: Cache) -> PredictedSite:
    """Reads pages, `learns.yml` and `synonyms.yml` as a deployment of `version` without a language model does."""
    files, _ = learns_files(uploads)
    inputs = []
    for upload in uploads.pages:
        body, authored = read_bytes(upload.path), authored_learns(upload, files)
        parts = [__version__, version.id, upload.material, hashlib.sha256(body).hexdigest(), sorted(authored.items())]
        digest = hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()
        inputs.append((upload, authored, digest))
    stored = cache.values("page", {digest for _, _, digest in inputs})
    new: dict[str, bytes] = {}
    pages: dict[str, PredictedPage] = {}
    unreadable = set()
    for upload, authored, digest in inputs:
        material = upload.material or ""
        if digest not in stored:
            page = local_page(upload.path)
            if isinstance(page, str):
                unreadable.add(material)
                continue
            learns = learns_without_model(page, authored)
            chunks, texts = chunks_of_page(material, page, learns, vocabulary_of(version.vocabulary))
            stored[digest] = new[digest] = _written(chunks, texts)
        pages[material] = _read(digest, upload.path, stored[digest])
    cache.store("page", new)
    synonyms = {}
    for upload in uploads.files:
        name, folder = authored_file(upload.key) or ("", "")
        if name == SYNONYMS_FILE:
            try:
                synonyms[folder] = stored_groups(parse_synonyms(read_bytes(upload.path)).groups)
            except Invalid:
                unreadable.add(folder)
    return PredictedSite(pages, synonyms, frozenset(unreadable))


def _written(chunks: Sequence[KnowledgeChunk], texts: Mapping[str, str]) -> bytes:
    made = [
        PredictedChunk(
            chunk.id,
            {
                **{name: getattr(chunk, name) for name in _SHOWN},
                "learns": chunk.learns.items,
                "learns_source": chunk.learns.source,
            },
            written_words(chunk.words),
            chunk.words.spelled,
            chunk.text_hashes,
            tuple(chunk_id(chunk.material, anchor) for anchor in chunk.illustrates),
        )
        for chunk in chunks
    ]
    return json.dumps({"chunks": list(map(asdict, made)), "texts": texts}, ensure_ascii=False).encode()


def _read(digest: str, path: str, content: bytes) -> PredictedPage:
    members = json.loads(content)
    lists = ("passages", "illustrates")
    chunks = (PredictedChunk(**{**row, **{name: tuple(row[name]) for name in lists}}) for row in members["chunks"])
    return PredictedPage(digest, path, tuple(chunks), members["texts"])
