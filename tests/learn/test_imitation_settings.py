"""How imitation goes where nobody says otherwise, and which numbers are refused."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from lanista.errors import LanistaError
from lanista.learn.imitation.settings import Dagger, Imitation


def test_the_defaults_of_imitation_are_those_that_are_documented() -> None:
    assert asdict(Imitation()) == {
        "epochs": 20,
        "batch_size": 1024,
        "lr": 1e-3,
        "lr_end": 0.02,
        "weight_decay": 0.0,
        "max_grad_norm": 1.0,
        "value_weight": 0.25,
        "forecast": (),
        "forecast_weight": 0.25,
        "heads": None,
        "critic": "value",
        "gamma": 1.0,
        "hold_out": 0.1,
        "patience": 3,
        "mix_sources": False,
        "seed": 0,
        "dagger": {
            "rounds": 0,
            "matches": 256,
            "teacher": None,
            "beta": 0.5,
            "opponents": (),
            "epochs": 2,
        },
    }


@pytest.mark.parametrize(
    ("name", "refused", "taken", "remedy"),
    [
        ("epochs", 0, 1, "at least 1"),
        ("batch_size", 0, 1, "at least 1"),
        ("lr_end", -0.1, 0, "at least 0"),
        ("weight_decay", -0.1, 0, "at least 0"),
        ("max_grad_norm", -1, 0, "at least 0"),
        ("value_weight", -1, 0, "at least 0"),
        ("patience", -1, 0, "at least 0"),
        ("seed", -1, 0, "at least 0"),
        ("lr", 0, 1e-9, "a number above 0"),
        ("lr", float("inf"), 1e9, "a number above 0"),
        ("gamma", 1.1, 1, "a number from 0 to 1"),
        ("hold_out", 0, 0.001, "a share between 0 and 1"),
        ("hold_out", 1, 0.999, "a share between 0 and 1"),
    ],
)
def test_a_number_out_of_range_is_refused_and_one_within_is_taken(
    name: str, refused: float, taken: float, remedy: str
) -> None:
    with pytest.raises(LanistaError, match=f"^{name} is {refused}; give {remedy}.$"):
        Imitation(**{name: refused})
    assert getattr(Imitation(**{name: taken}), name) == taken


def test_another_word_for_how_heads_are_joined_is_refused() -> None:
    assert Imitation(heads="mean").heads == "mean"
    with pytest.raises(LanistaError, match=r"^heads is 'sum'; give 'mean', or leave it out.$"):
        Imitation(heads="sum")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "refused", "taken", "remedy"),
    [
        ("rounds", -1, 0, "at least 0"),
        ("matches", 1, 2, "at least 2"),
        ("epochs", 0, 1, "at least 1"),
        ("beta", -0.1, 0, "a chance from 0 to 1"),
        ("beta", 1.1, 1, "a chance from 0 to 1"),
    ],
)
def test_rounds_of_dagger_are_refused_by_their_name(
    name: str, refused: float, taken: float, remedy: str
) -> None:
    with pytest.raises(LanistaError, match=rf"^dagger\.{name} is {refused}; give {remedy}.$"):
        Dagger(**{name: refused})
    assert getattr(Dagger(**{name: taken}), name) == taken


def test_epochs_are_counted_over_the_rounds() -> None:
    settings = Imitation(epochs=5, dagger=Dagger(rounds=3, epochs=2))
    assert [settings.epochs_before(number) for number in range(5)] == [0, 5, 7, 9, 11]
    assert settings.all_epochs == 11
