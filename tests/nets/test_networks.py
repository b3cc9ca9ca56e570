"""Networks of every kind are built from every game's spec and learn with all they have."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from positions import GAMES, IDS, KINDS, anything, eager_policy, positions, small, spec_of

from lanista.errors import LanistaError
from lanista.games.contract import Facts, Field, GameError, Head, Observation, Spec
from lanista.nets.encoders import FlatEncoder, TokenEncoder
from lanista.nets.policy import Critic, Policy, parameter_count
from lanista.nets.settings import Network, network_from
from lanista.nets.tokens import layout_of
from lanista.nets.torsos import Transformer, plain_attention


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "settings"), GAMES, ids=IDS)
def test_every_kind_chooses_legally_in_every_game(
    name: str, settings: dict[str, Any], kind: str
) -> None:
    spec = spec_of(name, **settings)
    policy = eager_policy(spec, small(kind))
    observation, mask = map(torch.from_numpy, positions(name, **settings))
    logits = policy(observation)
    assert logits.shape == (len(observation), spec.choices)
    assert logits.isfinite().all()
    probabilities = policy.heads.log_probs(logits, mask).exp()
    assert (probabilities[~mask] == 0).all()
    sums = torch.stack([part.sum(-1) for part in probabilities.split(policy.heads.sizes, -1)])
    torch.testing.assert_close(sums, torch.ones_like(sums))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "settings"), GAMES, ids=IDS)
def test_gradients_reach_every_parameter(name: str, settings: dict[str, Any], kind: str) -> None:
    spec = spec_of(name, **settings)
    policy = eager_policy(spec, small(kind))
    observation = torch.from_numpy(anything(spec))
    # Two steps, since a recurrent weight does nothing in the first.
    state = torch.zeros(len(observation), policy.state_size)
    total = torch.zeros(())
    for _ in range(2):
        logits, _, state = policy.step(observation, state)
        total = total + (logits * torch.arange(logits.shape[-1])).sin().sum()
    total.backward()
    without = [
        key for key, value in policy.named_parameters()
        if value.grad is None or not value.grad.abs().sum() > 0
    ]  # fmt: skip
    assert not without


@pytest.mark.parametrize("kind", KINDS)
def test_the_size_dial_only_ever_adds_parameters(kind: str) -> None:
    spec = spec_of("beastybar")
    with torch.device("meta"):
        counts = [
            parameter_count(Policy(spec, Network(kind, size))) for size in ("s", "m", "l", "xl")
        ]  # type: ignore[arg-type]
    assert counts == sorted(set(counts))


def test_fresh_policies_are_near_uniform() -> None:
    policy = Policy(spec_of("beastybar"), Network())
    observation, mask = map(torch.from_numpy, positions("beastybar"))
    log_probs = policy.heads.log_probs(policy(observation), mask)
    uniform = policy.heads.uniform_log_probs(mask)
    torch.testing.assert_close(log_probs.exp(), uniform.exp(), atol=0.05, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_does_not_depend_on_its_neighbours(kind: str) -> None:
    policy = eager_policy(spec_of("beastybar"), small(kind))
    observation = torch.from_numpy(positions("beastybar")[0])
    together = policy(observation)
    alone = torch.cat([policy(row[None]) for row in observation])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)


def test_flat_observations_are_one_hot_and_scaled() -> None:
    layout = Observation((Field("n", 2, scale=4), Field("c", 2, classes=3), Field("m")), "uint8")
    encoder = FlatEncoder(layout)
    out = encoder(torch.tensor([[2, 4, 0, 2, 7]], dtype=torch.uint8))
    assert out.tolist() == [[1, 0, 0, 0, 0, 1, 0.5, 1.0, 7.0]]
    assert encoder.width == 9


def test_beastybar_tokens_are_the_line_the_animals_and_the_rest() -> None:
    for seats in (2, 3, 4):
        spec = spec_of("beastybar", seats=seats)
        encoder = TokenEncoder(spec.observation, 8)
        observation, _ = positions("beastybar", seats=seats)
        assert encoder(torch.from_numpy(observation)).shape == (len(observation), 4 + 12 + 1, 8)


def test_a_token_is_what_its_fields_say_and_its_place() -> None:
    layout = Observation(
        (Field("kind", 2, classes=3, group="x.y"), Field("n", 2, scale=5, group="x.y")), "int32"
    )
    encoder = TokenEncoder(layout, 4)
    seen = torch.tensor([[2, 0, 10, 5]], dtype=torch.int32)
    assert encoder.embedding is not None
    rows, into = encoder.embedding.weight, encoder.inputs[0]
    first = encoder.places[0][0] + into(torch.cat([rows[2], torch.tensor([2.0])]))
    second = encoder.places[0][1] + into(torch.cat([rows[0], torch.tensor([1.0])]))
    torch.testing.assert_close(encoder(seen)[0], torch.stack([first, second]))


def test_fields_of_one_table_share_their_embedding_and_others_have_their_own() -> None:
    fields = (
        Field("mine", 2, classes=5, group="x", table="card"),
        Field("kind", 2, classes=5, group="x"),
        Field("top", 1, classes=5, table="card"),
    )
    layout = layout_of(Observation(fields, "uint8"))
    assert layout.rows == 10
    assert [kind.rows.tolist() for kind in layout.kinds] == [[0, 5], [0]]
    assert [kind.categories.tolist() for kind in layout.kinds] == [[[0, 2], [1, 3]], [[4]]]


def test_what_is_learned_of_a_part_holds_in_every_choice_that_has_it() -> None:
    layout = Observation((Field("x", 3),), "float32")
    spec = Spec("pairs", Facts(1, 1), layout, (Head("a", 2), Head("b", 6, parts=(2, 3))))
    policy = eager_policy(spec, small("mlp"))
    assert policy.head.parts is not None
    first, second = policy.head.parts[:2], policy.head.parts[2:]
    expected = policy.head.weight.clone()
    for choice in range(6):
        expected[2 + choice] += first[choice // 3] + second[choice % 3]
    torch.testing.assert_close(policy.head.whole(), expected)
    before = policy(torch.ones(1, 3)).detach()
    optimiser = torch.optim.SGD([policy.head.parts], 0.1)
    policy(torch.ones(1, 3))[0, 2 + 1 * 3 + 2].neg().backward()
    optimiser.step()
    moved = (policy(torch.ones(1, 3)).detach() - before)[0, 2:].view(2, 3)
    # Its first part and its second were learned: 1 in each of their choices, 2 in their own.
    share = moved[0, 2]
    assert share > 0
    torch.testing.assert_close(moved, share * torch.tensor([[0.0, 0, 1], [1, 1, 2]]))


def test_parts_that_do_not_make_all_choices_are_refused() -> None:
    with pytest.raises(GameError, match=r"has 6 choices, and parts \(2, 2\) make 4"):
        Head("b", 6, parts=(2, 2))


def test_fields_without_groups_are_tokens_of_their_own_where_no_field_has_one() -> None:
    spec = spec_of("arena", observation="rich")
    encoder = TokenEncoder(spec.observation, 8)
    observation, _ = positions("arena", observation="rich")
    fields = len(spec.observation.fields)
    assert encoder(torch.from_numpy(observation)).shape == (len(observation), fields, 8)


def test_changing_one_token_changes_what_attention_makes_of_the_others() -> None:
    spec = spec_of("beastybar")
    torso = Transformer(spec.observation, small("transformer"))
    observation = torch.from_numpy(positions("beastybar")[0][:1].copy())
    other = observation.clone()
    other[0, 0] = (other[0, 0] + 1) % 13
    before, after = torso.encoder(observation), torso.encoder(other)
    for block in torso.blocks:
        before, after = block(before), block(after)
    assert ((before - after).abs().amax(-1) > 1e-6).all()


@pytest.mark.parametrize(
    "network",
    [
        Network("lstm", width=8, layers=1),
        Network("lstm", width=8, layers=3),
        Network("lstm", width=8, layers=2, embedding=4),
        Network("transformer_lstm", width=8, layers=1),
        Network("transformer_lstm", width=8, layers=2),
    ],
)
def test_memory_unrolled_equals_it_step_by_step(network: Network) -> None:
    spec = spec_of("leduc")
    policy = eager_policy(spec, network)
    steps, lanes = 6, 3
    observation = torch.from_numpy(positions("leduc")[0][: steps * lanes].copy())
    observation = observation.view(steps, lanes, -1)
    state = torch.randn(lanes, policy.state_size)
    fresh = torch.zeros(steps, lanes, dtype=torch.bool)
    fresh[0, 1] = fresh[3, 2] = fresh[5, 0] = True
    unrolled = policy.torso.unroll(observation, state, fresh)
    for t in range(steps):
        state = torch.where(fresh[t][:, None], 0.0, state)
        features, state = policy.torso.step(observation[t], state)
        torch.testing.assert_close(unrolled[t], features)


@pytest.mark.parametrize("kind", ["lstm", "transformer_lstm"])
def test_fresh_memory_forgets_what_was_before(kind: str) -> None:
    policy = eager_policy(spec_of("leduc"), small(kind))
    observation = torch.from_numpy(positions("leduc")[0][:4].copy())[:, None]
    fresh = torch.zeros(4, 1, dtype=torch.bool)
    fresh[2] = True
    out = [policy.torso.unroll(observation, torch.randn(1, policy.state_size), fresh) for _ in "ab"]
    assert not torch.equal(out[0][:2], out[1][:2])
    assert torch.equal(out[0][2:], out[1][2:])


@pytest.mark.parametrize("sees", ["features", "seat", "privileged"])
@pytest.mark.parametrize("output", ["value", "outcome", "q"])
def test_critics_judge_every_view_in_every_manner(sees: str, output: Any) -> None:
    spec = spec_of("beastybar")
    assert spec.privileged is not None
    views: dict[str, tuple[Any, int, dict[str, Any]]] = {
        "features": (torch.float32, 16, {"features": 16}),
        "seat": (torch.uint8, spec.observation.length, {}),
        "privileged": (torch.uint8, spec.privileged.length, {"observation": spec.privileged}),
    }
    dtype, length, settings = views[sees]
    critic = Critic(spec, small("mlp"), output, **settings)
    view = torch.ones(5, length, dtype=dtype)
    out = critic(view)
    assert out.shape == {"value": (5,), "outcome": (5, 3), "q": (5, spec.choices)}[output]
    uniform = torch.full((5, spec.choices), 1 / spec.choices)
    assert critic.value_of(out, uniform).tolist() == [0.0] * 5  # A fresh critic expects nothing.


def test_an_outcome_critic_is_worth_its_wins_less_its_losses() -> None:
    critic = Critic(spec_of("kuhn"), small("mlp"), "outcome")
    out = torch.tensor([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5]]).clamp_min(1e-30).log()
    torch.testing.assert_close(critic.value_of(out), torch.tensor([0.6, -0.5]))


def test_a_q_critic_is_worth_what_the_policy_makes_of_it() -> None:
    critic = Critic(spec_of("kuhn"), small("mlp"), "q")
    out, chosen = torch.tensor([[1.0, -1.0]]), torch.tensor([[0.75, 0.25]])
    torch.testing.assert_close(critic.value_of(out, chosen), torch.tensor([0.5]))
    with pytest.raises(ValueError, match="probabilities"):
        critic.value_of(out)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"kind": "mpl"}, "did you mean 'mlp'"),
        ({"kind": []}, "kind"),
        ({"size": "huge"}, "s, m, l, xl"),
        ({"width": -1}, "width is -1"),
        ({"width": "256"}, "width is '256'"),
        ({"width": 10**9}, "width is 1000000000"),
        ({"layers": True}, "layers is True"),
        ({"kind": "transformer", "width": 64, "attention_heads": 5}, "divisor"),
        ({"depth": 3}, "no setting 'depth'"),
    ],
)
def test_network_settings_that_mean_nothing_are_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(LanistaError, match=said):
        network_from(values)


def test_any_width_has_attention_heads_that_divide_it() -> None:
    for width in range(1, 200):
        assert width % Network("transformer", width=width).resolved_attention_heads == 0


def test_written_out_settings_name_the_same_network() -> None:
    spec = spec_of("kuhn")
    for kind in KINDS:
        network = Network(kind, "s")  # type: ignore[arg-type]
        with torch.device("meta"):
            shapes = [
                {key: value.shape for key, value in Policy(spec, one).state_dict().items()}
                for one in (network, network.resolved)
            ]
        assert shapes[0] == shapes[1]
        assert replace(network.resolved, size="xl").resolved.width == network.resolved_width


def test_heads_with_one_legal_choice_get_no_gradient() -> None:
    layout = Observation((Field("x", 3),), "float32")
    spec = Spec("two", Facts(1, 1), layout, (Head("a", 2), Head("b", 3)))
    policy = eager_policy(spec, small("mlp"))
    mask = torch.tensor([[True, True, False, True, False]])
    log_probs = policy.heads.log_probs(policy(torch.ones(1, 3)), mask)
    policy.heads.joint(log_probs, torch.tensor([[1, 1]])).sum().backward()
    assert policy.head.weight.grad is not None
    assert policy.head.weight.grad[2:].abs().sum() == 0
    assert policy.head.weight.grad[:2].abs().sum() > 0


@pytest.mark.parametrize("tokens", [1, 5, 16])
def test_plain_attention_is_the_librarys(tokens: int) -> None:
    source = torch.Generator().manual_seed(3)
    parts = [torch.randn((7, 2, tokens, 8), generator=source) for _ in range(3)]
    wanted = torch.nn.functional.scaled_dot_product_attention(*parts)
    torch.testing.assert_close(plain_attention(*parts), wanted, rtol=1e-4, atol=1e-5)
    half = plain_attention(*(part.bfloat16() for part in parts))
    torch.testing.assert_close(half.float(), wanted, rtol=0.05, atol=0.05)


def test_plain_attention_of_large_scores_does_not_overflow_in_half_precision() -> None:
    same = torch.full((1, 1, 3, 64), 40.0, dtype=torch.float16)
    values = torch.arange(3.0, dtype=torch.float16).view(1, 1, 3, 1).expand(1, 1, 3, 64)
    assert torch.equal(plain_attention(same, same, values), torch.ones_like(values))
