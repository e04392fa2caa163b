"""A model that a person names: a file of ONNX with its tokenizer and settings, in a folder as on Hugging Face."""

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnxruntime import InferenceSession, SessionOptions  # type: ignore[import-untyped]  # it has no types
from sakuin.platform.embedding import DIMENSIONS
from tokenizers import Tokenizer

from sakuin_local.embeddings.model import THREADS, Text, Vector
from sakuin_local.errors import LocalError

_TOKENIZER, _POOLING, _PROMPTS = "tokenizer.json", "1_Pooling/config.json", "config_sentence_transformers.json"
_USUAL_LENGTH = 512


class OnnxModel:
    """The model in a file of ONNX, or in a folder with one; its settings are beside the file or in the folder above.

    Only one thread at a time may embed.
    """

    def __init__(self, path: Path) -> None:
        files = [file for file in (path, path / "model.onnx", path / "onnx" / "model.onnx") if file.is_file()]
        folders = [folder for file in files for folder in file.parents[1::-1] if (folder / _TOKENIZER).is_file()]
        if not folders:
            raise LocalError(f"{path} has no model: it needs model.onnx and {_TOKENIZER}")
        self._file, self._folder = files[0], folders[0]
        pooling = {name for name, value in self._settings(_POOLING).items() if value is True and "_mode_" in name}
        self._takes_first = pooling == {"pooling_mode_cls_token"}
        if pooling and not self._takes_first and pooling != {"pooling_mode_mean_tokens"}:
            raise LocalError(f"{self._folder / _POOLING}: a vector is the mean of the tokens or the first of them here")
        options = SessionOptions()
        options.intra_op_num_threads = int(THREADS)
        self._session = InferenceSession(self._file, options, providers=["CPUExecutionProvider"])
        limits = {**self._settings("tokenizer_config.json"), **self._settings("sentence_bert_config.json")}
        lengths = [limits.get(name) or _USUAL_LENGTH for name in ("model_max_length", "max_seq_length")]
        self._tokenizer = Tokenizer.from_file(str(self._folder / _TOKENIZER))
        self._tokenizer.enable_truncation(min(lengths))
        self._tokenizer.enable_padding(pad_id=self._settings("config.json").get("pad_token_id") or 0)
        self._prompts = {is_query: self._prompt(is_query=is_query) for is_query in (True, False)}
        self.dimensions = len(self.embed([Text(is_query=True, text="a")])[0])
        if self.dimensions > DIMENSIONS:
            raise LocalError(f"The vectors of {path} have {self.dimensions} numbers; at most {DIMENSIONS} are stored")

    def name(self) -> str:
        """Returns the name of the folder with a hash of the file and the settings, so that vectors never mix."""
        with self._file.open("rb") as file:
            content = hashlib.file_digest(file, "sha256")
        for settings in sorted(self._folder.rglob("*.json")):
            content.update(settings.read_bytes())
        return f"{self._folder.resolve().name}@{content.hexdigest()[:8]}"

    def embed(self, texts: Sequence[Text]) -> list[Vector]:
        """Returns vectors of unit length for texts of one kind, in their order."""
        prompt = self._prompts[texts[0].is_query]
        encoded = self._tokenizer.encode_batch([prompt + each.text for each in texts])
        ids = np.array([each.ids for each in encoded], dtype=np.int64)
        mask = np.array([each.attention_mask for each in encoded], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        output = self._session.run(None, {each.name: given[each.name] for each in self._session.get_inputs()})[0]
        weights = np.arange(mask.shape[1]) == np.zeros((len(mask), 1)) if self._takes_first else mask
        vectors = np.einsum("btd,bt->bd", output, weights)
        return list((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype("<f4"))

    def tokens(self, text: Text) -> int:
        """Returns the number of tokens that are read of a text."""
        return len(self._tokenizer.encode(text.text).ids)

    def _prompt(self, *, is_query: bool) -> str:
        """Returns what the model expects before a text: its own prompt; the settings of most e5 models have none."""
        prompts = self._settings(_PROMPTS).get("prompts") or {}
        name = f"{self._folder.resolve().name} {self._settings('config.json').get('_name_or_path')}"
        if not any(prompts.values()) and re.search(r"\be5\b", name):
            return "query: " if is_query else "passage: "
        prompt = prompts.get("query") if is_query else prompts.get("passage", prompts.get("document"))
        return prompt or ""

    def _settings(self, name: str) -> dict[str, Any]:
        file = self._folder / name
        return dict(json.loads(file.read_text("utf-8"))) if file.is_file() else {}
