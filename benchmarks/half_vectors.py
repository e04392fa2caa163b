"""What vectors of 16-bit floats change in the answers: the sample Table's articles, and the questions of its labels."""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import openai
from sakuin_local.addresses import LOOPBACK, free_port
from sakuin_local.embeddings.model import NAME
from sakuin_local.processes import Programs
from sakuin_local.vendors import start_embeddings

REPOSITORY = Path(__file__).parents[1]
DEPTH = 10


def embedded(client: openai.OpenAI, texts: list[str]) -> np.ndarray:
    """Returns a unit vector a row."""
    answer = client.embeddings.create(model=NAME, input=texts, dimensions=384)
    return np.array([each.embedding for each in answer.data])


def measure(client: openai.OpenAI) -> None:
    """Prints the differences between vectors as the model gives them, and as turbopuffer keeps them."""
    table = json.loads((REPOSITORY / "samples" / "tables" / "学習コラム.json").read_text("utf-8"))
    labels = (REPOSITORY / "tests" / "labels" / "table.jsonl").read_text("utf-8").splitlines()
    passages = embedded(client, [f"passage: {article['content']}" for article in table["articles"]])
    questions = embedded(client, [f"query: {json.loads(label)['query']}" for label in labels])
    half = passages.astype(np.float16).astype(np.float64)
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    exact, rounded = questions @ passages.T, questions @ half.T
    before, after = (np.argsort(-cosines)[:, :DEPTH] for cosines in (exact, rounded))
    print(f"{len(questions)} questions, {len(passages)} articles")
    print(f"largest difference of a cosine: {np.abs(exact - rounded).max():.6f}")
    print(f"questions with the same best article: {(before[:, 0] == after[:, 0]).mean():.1%}")
    print(f"the same article in a place of the first {DEPTH}: {(before == after).mean():.1%}")


def main() -> int:
    with TemporaryDirectory() as folder:
        programs, port = Programs(Path(folder)), free_port()
        try:
            start_embeddings(Path(folder), programs, port=port)
            measure(openai.OpenAI(base_url=f"http://{LOOPBACK}:{port}/v1", api_key="any", timeout=600))
        finally:
            programs.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
