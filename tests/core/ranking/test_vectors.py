"""Vectors of eight bits per number: close to the true cosine, and the same result in every order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.ranking.vectors import cosines, pack, scales, spread


def rows(count: int, dims: int = 256, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, dims)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("dims", [1, 3, 256, 384])
def test_packing_keeps_the_cosine(dims: int) -> None:
    documents, questions = rows(50, dims), rows(4, dims, seed=1)
    packed = pack(documents)
    similarities = cosines(packed, scales(packed), questions)
    assert np.abs(similarities - documents @ questions.T).max() < 0.01


def test_a_row_and_itself_have_cosine_one() -> None:
    packed = pack(rows(5))
    assert cosines(packed, scales(packed), rows(5)).diagonal() == pytest.approx(np.ones(5), abs=1e-3)


@settings(max_examples=40)
@given(st.integers(1, 40), st.integers(1, 4), st.integers(0, 1_000))
def test_a_cosine_depends_on_its_two_rows_only(count: int, question_count: int, seed: int) -> None:
    packed, questions = pack(rows(count, seed=seed)), rows(question_count, seed=seed + 1)
    whole = cosines(packed, scales(packed), questions)
    for index in range(count):
        alone = cosines(packed[index : index + 1], scales(packed[index : index + 1]), questions[:1])
        assert alone[0, 0] == whole[index, 0]


@pytest.mark.parametrize("odd", [0.0, np.nan, np.inf, -np.inf, 1e38, 1e-38])
def test_odd_numbers_never_become_nan(odd: float) -> None:
    packed = pack(np.full((2, 8), odd, np.float32))
    similarities = cosines(packed, scales(packed), np.array([[odd] * 8, [1.0] * 8], np.float32))
    assert np.isfinite(similarities).all()
    assert np.abs(similarities).max() <= 1.0001


def test_zero_rows_have_cosine_zero() -> None:
    packed = pack(np.zeros((3, 8), np.float32))
    assert scales(packed).tolist() == [0, 0, 0]
    assert not cosines(packed, scales(packed), rows(1, 8)).any()
    assert not cosines(pack(rows(3, 8)), scales(pack(rows(3, 8))), np.zeros((1, 8), np.float32)).any()
    assert spread(packed, scales(packed)) == 0.0


def test_the_spread_is_the_length_of_the_sum_of_unit_rows() -> None:
    same = pack(np.repeat(rows(1), 4, axis=0))
    assert spread(same, scales(same)) == pytest.approx(4.0, abs=1e-4)
    packed = pack(rows(6))
    assert spread(packed, scales(packed)) == pytest.approx(float(np.linalg.norm(rows(6).sum(axis=0))), abs=0.02)
