"""Equal rows against a dictionary, and when they are not worth looking for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lanista.data.equal_rows import equal_rows, kinds

quick = settings(deadline=None, max_examples=80)


def slow(*columns: NDArray[np.generic]) -> tuple[list[int], list[int]]:
    """Find rows that are equal in all columns, one by one."""
    seen: dict[bytes, int] = {}
    first, group = [], []
    for row in range(len(columns[0])):
        key = b"|".join(column[row].tobytes() for column in columns)
        if key not in seen:
            seen[key] = len(first)
            first.append(row)
        group.append(seen[key])
    return first, group


@quick
@given(
    st.integers(0, 60),
    st.integers(1, 40),
    st.integers(1, 9),
    st.integers(1, 3),
    st.integers(0, 2**31),
    st.sampled_from([np.uint8, np.int16, np.float32]),
)
def test_rows_are_equal_where_all_their_bytes_are(
    rows: int, width: int, beside: int, values: int, seed: int, dtype: type
) -> None:
    source = np.random.default_rng(seed)
    # Few rows in many copies, so that kinds repeat whatever the width.
    pool = source.integers(0, values, (max(1, rows // 3), width)).astype(dtype)
    seen = pool[source.integers(0, len(pool), rows)]
    flags = source.random((rows, beside)) < 0.3
    for given_columns in ((seen,), (seen, flags)):
        first, group = equal_rows(*given_columns)
        assert (first.tolist(), group.tolist()) == slow(*given_columns)


def test_rows_of_no_width_are_all_equal() -> None:
    assert equal_rows(np.zeros((3, 0), np.uint8))[1].tolist() == [0, 0, 0]
    flags = np.array([[True], [False], [True]])
    assert equal_rows(np.zeros((3, 0), np.uint8), flags)[1].tolist() == [0, 1, 0]


@pytest.mark.parametrize("rows", [0, 1, 10, 1000, 5000])
def test_rows_that_all_differ_have_no_kinds(rows: int) -> None:
    seen = np.arange(rows, dtype=np.int64)[:, None]
    assert kinds(seen) is None or rows == 0


@pytest.mark.parametrize("rows", [10, 1000, 5000, 20000])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.75])
def test_kinds_are_found_where_they_spare_work(rows: int, share: float) -> None:
    source = np.random.default_rng(0)
    number = source.permutation(np.arange(rows) % max(1, int(rows * share)))
    found = kinds(number[:, None], np.ones((rows, 2), np.bool_))
    assert found is not None
    assert found[0].tolist() == slow(number[:, None])[0]
