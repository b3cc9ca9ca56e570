"""Garbage is looked for seldom while somebody plays, and as before afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from lanista.rollout.garbage import SELDOM, seldom_collected

OWN = (701, 11, 12)


@pytest.fixture(autouse=True)
def own_numbers() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*OWN)
    yield
    gc.set_threshold(*before)


def test_a_process_has_its_own_numbers_again_after_a_fault() -> None:
    playing = seldom_collected()
    playing.__enter__()
    assert gc.get_threshold() == SELDOM
    assert not playing.__exit__(KeyError, KeyError(), None)
    assert gc.get_threshold() == OWN


def test_numbers_stay_until_the_last_of_several_has_left_in_any_order() -> None:
    first, second = seldom_collected(), seldom_collected()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold() == SELDOM
    second.__exit__(None, None, None)
    assert gc.get_threshold() == OWN


def test_whoever_has_switched_it_off_keeps_it_so() -> None:
    gc.set_threshold(0, 10, 10)
    with seldom_collected():
        assert gc.get_threshold()[0] == 0
