"""Promoting and rolling back from a page: written into the history, and one of two wins."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from asking import ask
from live_folder import live_folder, published

from lanista.errors import LanistaError, RefusedError
from lanista.live.files.policy_folder import PolicyFolder
from lanista.view.live.changes import change_policy
from lanista.view.security import HEADER
from lanista.view.server import serving


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return live_folder(tmp_path / "bot")


def test_a_roll_back_is_written_into_the_history_with_its_reason(folder: Path) -> None:
    first, second = published(folder)
    pointer = change_policy(folder, "roll_back", first, 2, "it plays oddly")
    assert pointer.stable == first
    change = PolicyFolder(folder).history()[-1]
    assert change.pointer.serial == 3
    assert change.reason == "rolled back by hand in lanista view: it plays oddly"
    assert change.before != second


def test_a_candidate_is_promoted_by_hand(folder: Path) -> None:
    first, second = published(folder)
    policies = PolicyFolder(folder)
    change_policy(folder, "roll_back", first, 2, "")
    policies.try_out(second, 0.5)
    pointer = change_policy(folder, "promote", second, 4, None)
    assert (pointer.stable, pointer.candidate) == (second, None)
    assert policies.history()[-1].reason == "promoted by hand in lanista view"


def test_who_saw_an_older_state_changes_nothing(folder: Path) -> None:
    first, _ = published(folder)
    before = PolicyFolder(folder).pointer()
    with pytest.raises(RefusedError, match="Nothing was done: change 2 came before yours"):
        change_policy(folder, "roll_back", first, 1, "")
    assert PolicyFolder(folder).pointer() == before


@pytest.mark.parametrize(
    ("verb", "digest", "serial", "sentence"),
    [
        ("delete", "0" * 64, 2, "cannot be done here"),
        (["promote"], "0" * 64, 2, "cannot be done here"),
        ("promote", "../../etc", 2, "is no digest"),
        ("promote", None, 2, "is no digest"),
        ("promote", "0" * 64, "2", "is no number of a change"),
        ("promote", "0" * 64, 2, "0000"),
        ("roll_back", "0" * 64, 2, "was never stable"),
    ],
)
def test_what_is_no_change_is_refused_in_one_sentence(
    folder: Path, verb: object, digest: object, serial: object, sentence: str
) -> None:
    with pytest.raises(LanistaError, match=sentence):
        change_policy(folder, verb, digest, serial, "")
    assert PolicyFolder(folder).pointer().serial == 2


def test_of_two_browsers_that_promote_at_once_one_wins_and_the_other_is_told(folder: Path) -> None:
    first, _ = published(folder)
    body = {"id": "bot", "verb": "roll_back", "digest": first, "serial": 2}
    answers = []
    with serving(folder.parent) as (context, address):
        bare = address.split("/?")[0]

        def post() -> None:
            answers.append(
                ask(bare, "/api/live/change", "POST", {HEADER: context.token},
                    json.dumps(body).encode())
            )  # fmt: skip

        clients = [threading.Thread(target=post) for _ in range(8)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    assert sorted(answer.status for answer in answers) == [200] + [409] * 7
    refusals = {answer.error for answer in answers if answer.status == 409}
    (refusal,) = refusals
    assert refusal.startswith(
        f"Nothing was done: change 3 came before yours, and {first[:12]} plays"
    )
    assert len(PolicyFolder(folder).history()) == 3
