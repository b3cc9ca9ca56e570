"""The linear judge: its features beside a slow twin, its choice beside their sum, its fitting."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from lanista import games
from lanista.games import registry
from lanista.games.beastybar.animals import ACTIONS, SPECIES
from lanista.games.beastybar.distilled import GROUPS, features_of
from lanista.games.beastybar.distilled_weights import TABLE
from lanista.games.beastybar.rules import resolve_line

EXAMPLE = Path(__file__).parents[3] / "examples" / "distil_beastybar.py"
WEIGHTS = {
    name: np.array(TABLE[name].split(), int).reshape(shape) for name, shape in GROUPS.items()
}


def kind_of(card):
    species, seat = card
    return species + 12 * (seat != 0)


def named_features(spec, view, action):
    """Return a move's features as (group, index), from the view's fields alone."""
    field = lambda name: view[spec.observation.slice_of(name)].astype(int)  # noqa: E731
    line = [(s - 1, o - 1) for s, o in zip(field("line species"), field("line owner"), strict=True)]
    line = line[: np.count_nonzero(field("line species"))]
    played = ACTIONS[action].species
    after, entered, out = resolve_line(line, played, 0, action)
    phase = int(field("turn")[0]) // spec.seats // 4
    others = [field(f"where {seat}") for seat in range(1, spec.seats)]
    to_come = [s for s in range(12) if any(where[s] == 0 for where in others)]
    kinds = [kind_of(card) for card in after]
    return sorted(
        [
            ("play", (phase, action)),
            ("length", (phase, len(after))),
            *(("stands", (phase, place, kind)) for place, kind in enumerate(kinds)),
            *(("behind", pair) for pair in pairwise(kinds)),
            *(("threat", (kind, species)) for kind in kinds for species in to_come),
            *(("enters", (phase, kind_of(card))) for card in entered),
            *(("leaves", (phase, kind_of(card))) for card in out),
            *(("answer", (played, species)) for species in to_come),
            *(("keeps", (played, s)) for s in np.flatnonzero(field("hand")) if s != played),
        ]
    )


def positions(seats, matches):
    """Yield the game's spec and decisions as random play leads to them."""
    game = games.make("beastybar", slots=matches, seed=21, seats=seats)
    driver = games.make_bot("beastybar", "random", game.spec, 21)
    game.start(np.arange(matches), np.arange(matches))
    while len(decisions := game.decisions()):
        yield game.spec, decisions
        rows = np.arange(len(decisions))
        game.act(rows, driver.act(decisions, rows))


def spelled(index):
    for name, shape in GROUPS.items():
        if index < np.prod(shape):
            return name, tuple(int(i) for i in np.unravel_index(index, shape))
        index -= int(np.prod(shape))
    raise AssertionError("an index beyond the last group")


@pytest.mark.parametrize("seats", [2, 3])
def test_a_move_has_the_features_that_its_view_says(seats):
    for spec, decisions in positions(seats, 6):
        offsets, features = features_of(spec, decisions.observation, decisions.mask)
        moves = np.argwhere(decisions.mask)
        for i, (row, action) in enumerate(moves):
            found = sorted(spelled(f) for f in features[offsets[i] : offsets[i + 1]])
            assert found == named_features(spec, decisions.observation[row], int(action))


def test_the_bot_takes_the_first_move_with_the_largest_sum_of_weights():
    for spec, decisions in positions(2, 8):
        bot = games.make_bot("beastybar", "distilled", spec, 0)
        chosen = bot.act(decisions, np.arange(len(decisions)))[:, 0]
        for row, view in enumerate(decisions.observation):
            legal = np.flatnonzero(decisions.mask[row])
            sums = [
                sum(WEIGHTS[name][index] for name, index in named_features(spec, view, int(action)))
                for action in legal
            ]
            assert chosen[row] == legal[np.argmax(sums)]


def test_every_species_counts_among_the_features():
    assert GROUPS["keeps"] == (len(SPECIES), len(SPECIES))
    assert GROUPS["play"][1] == len(ACTIONS)


def test_fitting_finds_a_linear_judge_again(monkeypatch, tmp_path):
    torch = pytest.importorskip("torch")
    example = registry.run_python(EXAMPLE, EXAMPLE.read_bytes())
    monkeypatch.setattr(example, "BATCH", 512)
    views, masks, opinions = [], [], []
    for spec, decisions in positions(2, 500):
        bot = games.make_bot("beastybar", "distilled", spec, 0)
        free = np.flatnonzero(decisions.mask.sum(1) > 1)
        chosen = np.zeros_like(decisions.mask)
        chosen[free, bot.act(decisions, free)[:, 0]] = True
        views.append(decisions.observation[free])
        masks.append(decisions.mask[free])
        opinions.append(chosen[free])
    view, mask, said = np.concatenate(views), np.concatenate(masks), np.concatenate(opinions)
    order = np.random.default_rng(0).permutation(len(view))
    view, mask, said = view[order], mask[order], said[order]
    moves = example.Moves(view, mask, torch.from_numpy(said[mask]).float())
    weights = example.fit(moves, 0)
    held = int(len(view) * example.HELD_OUT)
    logits, shares = moves.judged(weights[:, None], 0, held)
    assert (logits.argmax(1) == shares.argmax(1)).float().mean() > 0.8
    file = tmp_path / "table.py"
    file.write_text(example.table(weights))
    table = registry.run_python(file, file.read_bytes()).TABLE
    assert {name: len(text.split()) for name, text in table.items()} == {
        name: np.prod(shape) for name, shape in GROUPS.items()
    }
