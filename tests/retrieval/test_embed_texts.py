"""Embedding texts: answers are kept, and a refused text fails alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from sakuin.errors import Refused, Unavailable
from sakuin.platform.embedding import RequestSize, Vector, embed_texts, fitting

from tests.doubles.embedder import MemoryEmbedder, vector_of

REFUSED = "The embedding service refused the request with 400"


@dataclass
class Kept:
    """Remembers what was kept, answer by answer."""

    answers: list[Mapping[str, Vector]] = field(default_factory=list)

    def __call__(self, vectors: Mapping[str, Vector]) -> None:
        self.answers.append(dict(vectors))

    @property
    def names(self) -> set[str]:
        return {name for answer in self.answers for name in answer}


def texts(count: int) -> dict[str, str]:
    return {f"name {number}": f"本文 {number}" for number in range(count)}


def test_texts_are_embedded_by_their_names_and_kept_and_no_text_makes_no_call() -> None:
    embedder, kept = MemoryEmbedder(), Kept()
    assert embed_texts(embedder, {}, kept).vectors == {}
    done = embed_texts(embedder, texts(3), kept)
    assert done.vectors == {name: vector_of(text) for name, text in texts(3).items()}
    assert (kept.answers, done.refused, embedder.calls) == ([done.vectors], {}, 1)


@pytest.mark.parametrize(
    ("seconds", "sizes"), [(0.5, [5, 10, 20, 5]), (5, [5] * 8), (11, [5, 2, *[1] * 33]), (60, [5, 2, *[1] * 33])]
)
def test_a_request_is_as_large_as_the_service_is_fast(seconds: float, sizes: list[int]) -> None:
    now = [0.0]

    class Timed(MemoryEmbedder):
        def passages(self, texts: Sequence[str]) -> list[Vector]:
            now[0] += seconds
            return super().passages(texts)

    kept, size = Kept(), RequestSize(clock=lambda: now[0])
    embed_texts(Timed(), {str(number): f"{number:02}" + "あ" * 998 for number in range(40)}, kept, size)
    assert [len(answer) for answer in kept.answers] == sizes


def test_each_answer_is_kept_before_the_next_call() -> None:
    class Failing(MemoryEmbedder):
        def passages(self, texts: Sequence[str]) -> list[Vector]:
            self.down = self.calls == 2
            return super().passages(texts)

    embedder, kept = Failing(), Kept()
    with pytest.raises(Unavailable):
        embed_texts(embedder, texts(200), kept)
    assert len(kept.names) == 128


@pytest.mark.parametrize("places", [[0], [1], [31], [62], [63], [3, 7]])
def test_refused_texts_are_found_by_halving_and_their_neighbours_are_embedded(places: list[int]) -> None:
    embedder, kept = MemoryEmbedder(poisons={f"本文 {place}!" for place in places}), Kept()
    asked = {name: f"{text}!" for name, text in texts(64).items()}
    done = embed_texts(embedder, asked, kept)
    assert done.refused == {f"name {place}": REFUSED for place in places}
    assert done.vectors.keys() == asked.keys() - done.refused.keys() == kept.names
    # Six halvings, both halves of each, and a look whether anything is taken at all.
    assert embedder.calls <= len(places) * (1 + 2 * 6 + 1)


def test_a_text_that_is_too_long_is_embedded_by_its_beginning() -> None:
    embedder, long = MemoryEmbedder(longest=8_100), "解" * 6_000
    done = embed_texts(embedder, {"long": long, "short": "短い"}, Kept())
    assert done.refused == {}
    assert done.vectors == {"long": vector_of("解" * 2_666), "short": vector_of("短い")}


def test_if_all_texts_are_refused_the_settings_are_wrong() -> None:
    embedder = MemoryEmbedder(poisons={""})
    with pytest.raises(Refused, match="with 400, whatever the text: check EMBEDDING_MODEL") as refused:
        embed_texts(embedder, texts(4), Kept())
    assert refused.value.vendor == "openai"


@pytest.mark.parametrize("text", ["", "short", "解" * 9_000, "😀" * 3_000, "e\u0301" * 5_000, "a\ud800" * 4_000])
def test_what_fits_is_a_beginning_of_few_enough_bytes(text: str) -> None:
    beginning = fitting(text)
    assert len(beginning.encode()) <= 8_000
    assert text.encode("utf-8", "replace").decode().startswith(beginning)
    assert beginning == text or len(beginning.encode()) > 7_990
