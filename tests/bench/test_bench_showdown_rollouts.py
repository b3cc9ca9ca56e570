"""The digest of rollouts: equal for what is equal, another for any number that is."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
from bench.showdown_rollouts import digest_of

from lanista.data.trajectory import Unrolls


def unrolls() -> Unrolls:
    rows = np.arange(3, dtype=np.int32)
    return Unrolls(
        observation=np.arange(6, dtype=np.int16).reshape(3, 2),
        mask=np.ones((3, 2), np.bool_),
        action=np.zeros((3, 1), np.int32),
        log_prob=np.zeros(3, np.float32),
        reward=np.zeros(3, np.float32),
        ended=np.zeros(3, np.bool_),
        seat=rows,
        match=rows.astype(np.int64),
        turn=rows,
        update=rows,
        index=rows[:, None],
        goes_on=np.zeros(1, np.bool_),
    )


def digest(played: Unrolls) -> str:
    found = hashlib.sha256()
    digest_of(played, found)
    return found.hexdigest()


def test_the_same_rollouts_have_the_same_digest() -> None:
    assert digest(unrolls()) == digest(unrolls())


def test_one_other_number_anywhere_gives_another_digest() -> None:
    plain = digest(unrolls())
    other_reward = np.array([0.0, 1e-7, 0.0], np.float32)
    assert digest(replace(unrolls(), reward=other_reward)) != plain
    assert digest(replace(unrolls(), value=np.zeros(3, np.float32))) != plain
    assert digest(replace(unrolls(), mask=np.zeros((3, 2), np.bool_))) != plain
