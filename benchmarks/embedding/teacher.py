"""Sentence vectors of the teacher, all-MiniLM-L6-v2 as int8 ONNX, for the texts that the table is fitted on."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

TOKENS = 96
"""Tokens of a text that the teacher reads. It was trained on 128; the summaries and requests are far shorter."""

DIMS = 384
BATCH = 16


MEANINGLESS = frozenset({0, 100, 101, 102, 103})
"""[PAD], [UNK], [CLS], [SEP], [MASK] of BERT's uncased vocabulary; the table has rows of zeros for them."""

_CLS, _SEP = 101, 102


class Teacher:
    """The model. Needs onnxruntime."""

    def __init__(self, model: Path, tokenizer: Path, threads: int) -> None:
        import onnxruntime  # build time only

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session: Any = onnxruntime.InferenceSession(str(model), options)
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(TOKENS)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, 384) unit rows: the mean of the last hidden states over a text's tokens."""
        rows = self._states([encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))])
        units: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return units

    def known_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens that `encode` reads of each text, without the meaningless ones."""
        read = self._tokenizer.encode_batch(list(texts))
        return [[token for token in encoding.ids if token not in MEANINGLESS] for encoding in read]

    def tokens_alone(self) -> NDArray[np.float32]:
        """Return (tokens, 384): the mean hidden states of each token of the vocabulary as a text of its own."""
        return self._states([[_CLS, token, _SEP] for token in range(self._tokenizer.get_vocab_size())])

    def _states(self, texts: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Return (n, 384) mean hidden states of token sequences (with [CLS] and [SEP]), batched by length."""
        out = np.zeros((len(texts), DIMS), np.float32)
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            ids = np.zeros((len(places), max(len(texts[place]) for place in places)), np.int64)
            mask = np.zeros_like(ids)
            for row, place in enumerate(places):
                ids[row, : len(texts[place])] = texts[place]
                mask[row, : len(texts[place])] = 1
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            hidden = self._session.run(None, feed)[0]
            weights = mask[:, :, None].astype(np.float32)
            out[places] = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        return out


def cached_vectors(teacher: Teacher, texts: Sequence[str], folder: Path, step: int = 2_048) -> NDArray[np.float32]:
    """Return the same as `encode`, cached in `folder` in pieces, so that an interrupted build can continue."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = []
    for start in range(0, len(texts), step):
        piece = texts[start : start + step]
        name = folder / f"{_digest(piece)}.npy"
        if not name.exists():
            unfinished = name.with_suffix(".part.npy")
            np.save(unfinished, teacher.encode(piece).astype(np.float16))
            unfinished.rename(name)
        pieces.append(np.load(name).astype(np.float32))
    return np.concatenate(pieces)


def _digest(texts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:24]
