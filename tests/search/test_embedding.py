"""The sentence vectors shipped with the package: properties for any text, and refusal of wrong model files."""

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.embedding.arrays import encode_arrays
from registry.search import embedding
from registry.search.column_store import ArrayFileError, read_arrays
from registry.search.embedding import (
    LANGUAGES_SHA256,
    MODEL,
    RECIPE,
    TABLE,
    TABLE_SHA256,
    TOKENIZER,
    TOKENIZER_SHA256,
    ModelFileError,
    StaticEmbedder,
    default_embedder,
    load,
    model_id,
)
from tests.support.hang import HANG_SECONDS

ALIKE = [
    ("send a text message to a phone", "SMS gateway", "recipes for vegan cooking"),
    ("what will the weather be like tomorrow", "meteorological forecast", "invoice generator"),
    ("turn euros into dollars", "currency conversion", "train timetable"),
    ("let customers pay by card on my site", "online payment processing", "dictionary of synonyms"),
    ("where is my parcel right now", "shipment tracking", "guitar tuner"),
    ("find me a place to sleep in Lisbon", "hotel booking", "spam filter for e-mail"),
    ("read this scanned page to me as text", "optical character recognition", "football league tables"),
    ("say this paragraph in Spanish", "machine translation", "domain name registration"),
    ("who won the match last night", "live sports scores", "tax calculator"),
    ("pictures of dogs, free to use", "stock photo search", "mortgage rates"),
]
"""A request, a service that satisfies it, and one that does not."""

HOSTILE = [
    "",
    " \t\n\r",
    "\x00\x01\x1b[2J",
    "\ud800\udfff alone",
    "a" * 1_000_000,
    "a " * 200_000,
    "[CLS] [SEP] [PAD] [MASK] [UNK]",
    "\u202e\u200b\u200d\ufeff",
    "天気予報を教えて",
    "🌦️" * 500,
    "e\u0301" * 5_000,
    "'; DROP TABLE services; --",
    "{{7*7}} ${jndi:ldap://x} <script>alert(1)</script>",
]


@pytest.mark.parametrize("nothing", ["", "   ", "[CLS]", "[PAD] [MASK]", "\x00", "\u200b", "x" * 2_000])
def test_a_text_without_a_known_word_is_a_row_of_zeros(nothing: str) -> None:
    rows = default_embedder().encode([nothing, "weather"])
    assert not rows[0].any()
    assert rows[1].any()


def test_hostile_texts_have_valid_vectors_and_do_not_affect_others() -> None:
    embedder = default_embedder()
    with np.errstate(all="raise"):
        rows = embedder.encode([*HOSTILE, "weather forecast"])
    norms = np.linalg.norm(rows, axis=1)
    assert np.isfinite(rows).all()
    assert np.all((norms == 0) | (np.abs(norms - 1) < 1e-5))
    assert np.array_equal(rows[-1], embedder.encode(["weather forecast"])[0])


@given(st.lists(st.text(max_size=300), max_size=5))
@settings(max_examples=60, deadline=None)
def test_any_text_has_a_unit_vector_or_zeros(texts: list[str]) -> None:
    with np.errstate(all="raise"):
        rows = default_embedder().encode(texts)
    assert (rows.dtype, rows.shape) == (np.float32, (len(texts), default_embedder().dims))
    norms = np.linalg.norm(rows, axis=1)
    assert np.all((norms == 0) | (np.abs(norms - 1) < 1e-5))


def test_a_vector_does_not_depend_on_the_batch() -> None:
    embedder = default_embedder()
    texts = [f"{first} and {second}, number {n}" for n, (first, second, _) in enumerate(ALIKE * 20)]
    together = embedder.encode(texts)
    alone = np.concatenate([embedder.encode([text]) for text in texts])
    assert np.array_equal(together, alone)
    assert np.array_equal(together, load(MODEL, TABLE_SHA256, TOKENIZER_SHA256).encode(texts))


def test_case_and_space_are_ignored() -> None:
    rows = default_embedder().encode(["weather forecast", "  WEATHER\n\tForecast "])
    assert np.array_equal(rows[0], rows[1])


def test_tokens_beyond_the_limit_are_ignored() -> None:
    long = "weather " * embedding.TOKENS
    rows = default_embedder().encode([long, long + "invoice payment", "invoice payment " + long])
    assert np.array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2])


@pytest.mark.parametrize(("query", "answer", "other"), ALIKE)
def test_a_matching_text_is_nearer_than_another(query: str, answer: str, other: str) -> None:
    query_row, answer_row, other_row = default_embedder().encode([query, answer, other])
    assert query_row @ answer_row > query_row @ other_row + 0.1


def test_threads_get_the_same_vectors() -> None:
    embedder = default_embedder()
    texts = [text for triple in ALIKE for text in triple]
    expected = embedder.encode(texts)
    equal: list[bool] = []

    def encode() -> None:
        equal.extend(np.array_equal(embedder.encode(texts), expected) for _ in range(20))

    threads = [threading.Thread(target=encode) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert equal == [True] * 80


def test_the_id_names_table_tokenizer_and_recipe() -> None:
    table, tokenizer = (MODEL / TABLE).read_bytes(), (MODEL / TOKENIZER).read_bytes()
    assert default_embedder().id == model_id(table, tokenizer, f"{RECIPE} {LANGUAGES_SHA256}")
    others = {
        model_id(table + b"x", tokenizer, RECIPE),
        model_id(table, tokenizer + b"x", RECIPE),
        model_id(table, tokenizer, RECIPE + "x"),
    }
    assert len(others | {default_embedder().id}) == 4


def test_table_and_tokenizer_fit_into_ten_megabytes() -> None:
    assert sum((MODEL / name).stat().st_size for name in (TABLE, TOKENIZER)) <= 10_000_000


@pytest.mark.parametrize("name", [TABLE, TOKENIZER])
@pytest.mark.parametrize("damage", ["missing", "empty", "one bit", "cut"])
def test_a_damaged_file_is_refused_by_name(tmp_path: Path, name: str, damage: str) -> None:
    for part in (TABLE, TOKENIZER):
        shutil.copy(MODEL / part, tmp_path / part)
    victim = tmp_path / name
    raw = bytearray(victim.read_bytes())
    if damage == "missing":
        victim.unlink()
    elif damage == "empty":
        victim.write_bytes(b"")
    elif damage == "cut":
        victim.write_bytes(raw[:-1])
    else:
        raw[len(raw) // 2] ^= 1
        victim.write_bytes(raw)
    with pytest.raises(ModelFileError, match=name):
        load(tmp_path, TABLE_SHA256, TOKENIZER_SHA256)


def test_a_table_of_another_vocabulary_is_refused() -> None:
    arrays = {name: array[:100] for name, array in read_arrays(memoryview((MODEL / TABLE).read_bytes())).items()}
    with pytest.raises(ModelFileError, match="100 rows"):
        StaticEmbedder(memoryview(encode_arrays(arrays)), (MODEL / TOKENIZER).read_bytes())


def test_an_invalid_tokenizer_is_refused() -> None:
    with pytest.raises(ModelFileError, match="tokenizer"):
        StaticEmbedder(memoryview((MODEL / TABLE).read_bytes()), b"{}")


def test_arrays_are_read_back_from_the_file() -> None:
    arrays = {
        "a": np.arange(-6, 6, dtype="<i1").reshape(3, 4),
        "b": np.array([0.5, -2], "<f2"),
        "c": np.array([[1e-9]], "<f4"),
    }
    raw = encode_arrays(arrays)
    decoded = read_arrays(memoryview(raw))
    assert {name: array.tolist() for name, array in decoded.items()} == {n: a.tolist() for n, a in arrays.items()}
    assert encode_arrays(decoded) == raw


def _file(header: object) -> bytes:
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + bytes(16)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x00" * 7,
        (1 << 62).to_bytes(8, "little") + b"{}",
        _file(b"not json"),
        _file([]),
        _file({"a": 1}),
        _file({"a": {"dtype": "I8", "shape": [4], "data_offsets": [0, 1_000]}}),
        _file({"a": {"dtype": "I8", "shape": [4], "data_offsets": [8, 4]}}),
        _file({"a": {"dtype": "I8", "shape": [5], "data_offsets": [0, 4]}}),
        _file({"a": {"dtype": "I8", "shape": [-1, 0], "data_offsets": [0, 4]}}),
        _file({"a": {"dtype": "PICKLE", "shape": [4], "data_offsets": [0, 4]}}),
        _file({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 3]}}),
        _file({"a": {"dtype": "I8", "shape": "4", "data_offsets": [0, 4]}}),
        _file({"a": {"dtype": "I8", "shape": [4], "data_offsets": ["0", 4]}}),
        _file(b"[" * 90_000),
    ],
)
def test_an_invalid_array_file_is_refused(raw: bytes) -> None:
    with pytest.raises(ArrayFileError):
        read_arrays(memoryview(raw))


_GUARDED = """
import socket, sys
def refuse(*_, **__):
    raise SystemExit("the network was asked for")
for name in ("connect", "connect_ex", "sendto", "bind"):
    setattr(socket.socket, name, refuse)
socket.getaddrinfo = socket.create_connection = refuse
from registry.search.embedding import default_embedder
assert default_embedder().encode(["weather forecast"]).any()
grown = {"torch", "transformers", "huggingface_hub", "onnxruntime"} & set(sys.modules)
assert not grown, grown
print("quiet")
"""


def test_encoding_needs_neither_network_nor_model_library() -> None:
    completed = subprocess.run(
        [sys.executable, "-c", _GUARDED], capture_output=True, text=True, timeout=HANG_SECONDS, check=False
    )
    assert (completed.returncode, completed.stdout.strip(), completed.stderr) == (0, "quiet", "")


_FORKING = """
import os
from registry.search.embedding import default_embedder
texts = ["weather forecast"] * 100
first = default_embedder().encode(texts)
child = os.fork()
if child == 0:
    os._exit(0 if (default_embedder().encode(texts) == first).all() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_process_may_fork_after_encoding() -> None:
    completed = subprocess.run(
        [sys.executable, "-c", _FORKING], capture_output=True, text=True, timeout=HANG_SECONDS, check=False
    )
    assert (completed.stdout.strip(), completed.stderr) == ("0", "")


@given(st.text(st.characters(max_codepoint=0x7E) | st.sampled_from("éß東\u0301[]"), max_size=300))
@example("[CLS] a[SEP]b")
@example("a\x01b\x0bc\td\r\ne")
@example(f"{'x' * 100} {'x' * 101} {'9' * 400}")
@example("a-b " * 200)
def test_words_that_are_looked_up_have_the_tokens_of_the_whole_text(text: str) -> None:
    whole = default_embedder()._tokenizer.encode(text, add_special_tokens=False).ids
    assert default_embedder()._tokens(text) == whole
