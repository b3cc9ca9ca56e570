"""The GPU's bench: its arithmetic, and its parts where there is no GPU."""

import torch
from bench.gpu import ceilings, end_to_end, gpu, line

from lanista.profile.machine import Use
from lanista.profile.measure import Lap


def lap(rate):
    own = {"learn": 0.75, "wait": 0.25}
    return Lap(1, rate, wall=1.0, use=Use(1.0, 3.0, 0.0), own=own, played={}, desk={}, cpu={})


def test_a_line_holds_the_rate_against_inference_and_training_in_turn():
    told = line("x", [lap(10), lap(20), lap(30)], inference=100, training=25, target=20)
    assert (told["median"], told["low"], told["high"]) == (20, 10, 30)
    assert told["both_in_turn"] == 20  # 1 / (1/100 + 1/25)
    assert (told["share_of_ceiling"], told["met"], told["cores_used"]) == (1.0, True, 3.0)
    assert told["learner"] == {"learn": 0.75, "wait": 0.25}


def test_without_a_gpu_the_one_line_says_so(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (told,) = gpu()
    assert told["why"] == "not measured: torch sees no GPU"


def test_both_halves_run_on_the_cpu_too():
    play = {"matches": 64, "workers": 2}
    (measured,) = end_to_end("mlp 512x2", "fp32", "cpu", 0.0, 1, **play)
    assert measured.decisions > 0
    assert measured.played
    inference, training = ceilings({"width": 8, "layers": 1}, "fp32", 64, "cpu")
    assert inference > training > 0
