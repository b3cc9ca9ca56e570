"""Made-up games that say what their choices are about, and a slow twin of the head that points."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import layer_norm

from lanista.games.contract import Facts, Field, Group, Head, Observation, References, Role, Spec
from lanista.nets.policy import Policy
from lanista.nets.settings import Network

POINTER = Network("transformer", width=16, layers=2, readout="pointer")
HAND, FOES = 5, 3


def layout(*, in_order: bool = False) -> Observation:
    fields = (
        Field("species", HAND, classes=7, group="hand"),
        Field("strength", HAND, scale=4.0, group="hand"),
        Field("foe", FOES, classes=7, group="foe", table="beast"),
        Field("left", FOES, classes=2, group="foe"),
        Field("turn", 2, scale=3.0),
    )
    groups = () if in_order else (Group("hand", (0,) * HAND), Group("foe", (0, 0, 1)))
    return Observation(fields, "int16", groups)


def _order() -> References:
    """A card at a foe, the same with all force, a card alone, or a pass."""
    pairs = [(card, foe) for card in range(HAND) for foe in range(FOES)]
    cards = [card for card, _ in pairs] * 2 + [*range(HAND), -1]
    foes = [foe for _, foe in pairs] * 2 + [-1] * (HAND + 1)
    kinds = ["strike"] * 15 + ["force"] * 15 + ["alone"] * HAND + ["pass"]
    roles = (Role("card", "hand", tuple(cards)), Role("target", "foe", tuple(foes)))
    return References(roles, tuple(kinds))


def _discard() -> References:
    """Two cards thrown away; which is named first has no meaning."""
    pairs = list(combinations(range(HAND), 2))
    first, second = (tuple(pair[at] for pair in pairs) for at in (0, 1))
    return References((Role("thrown", "hand", first), Role("thrown", "hand", second)))


ORDERS = 36
PAIR = Head("pair", ORDERS * ORDERS, parts=(ORDERS, ORDERS), references=(_order(), _order()))
DISCARD = Head("discard", 10, references=(_discard(),))
MOOD = Head("mood", 3)


def spec(*, in_order: bool = False, heads: tuple[Head, ...] = (DISCARD, MOOD, PAIR)) -> Spec:
    return Spec("beasts", Facts(2, 20), layout(in_order=in_order), heads)


def views(rows: int, seed: int = 7) -> Any:
    drawn = np.random.default_rng(seed)
    columns = [
        drawn.integers(0, field.classes or 9, (rows, field.size)) for field in layout().fields
    ]
    return np.concatenate(columns, 1).astype(np.int16)


def eager(spec: Spec, network: Network = POINTER, seed: int = 0) -> Policy:
    """Return a policy that prefers some choices, and whose every tensor counts."""
    torch.manual_seed(seed)
    policy = Policy(spec, network)
    for parameter in policy.head.parameters():
        nn.init.normal_(parameter, std=0.25)
    nn.init.ones_(policy.head.norm.weight)  # type: ignore[union-attr]
    return policy


@torch.no_grad()
def slow_logits(policy: Policy, spec: Spec, observation: Any) -> torch.Tensor:
    """Return `[N, choices]` straight from the formula, choice by choice."""
    width = policy.torso.width
    rows = []
    for features in policy.torso(torch.from_numpy(observation)):
        whole, tokens = features[:width], features[width:].view(-1, width)
        rows.append(torch.cat([_slow_head(policy.head, spec, head, whole, tokens)
                               for head in spec.heads]))  # fmt: skip
    return torch.stack(rows)


def _slow_head(
    module: Any, spec: Spec, head: Head, whole: torch.Tensor, tokens: torch.Tensor
) -> torch.Tensor:
    if not head.references:
        return module.by_number(whole)  # type: ignore[no-any-return]
    parts = [
        [_slow_hidden(module, spec, part, choice, whole, tokens) for choice in range(size)]
        for part, size in zip(head.references, head.parts or (head.size,), strict=True)
    ]
    scores = [[float(module.score[0] @ hidden) for hidden in part] for part in parts]
    if len(parts) == 1:
        return torch.tensor(scores[0])
    answers = [[module.pairs(hidden).detach().numpy() for hidden in part] for part in parts]
    logits = []
    for choice in np.ndindex(*(len(part) for part in parts)):
        logit = sum(scores[part][at] for part, at in enumerate(choice))
        for one, other in combinations([answers[p][at] for p, at in enumerate(choice)], 2):
            u_one, v_one, u_other, v_other = *np.split(one, 2), *np.split(other, 2)
            logit += float(u_one @ v_other + v_one @ u_other)
        logits.append(logit)
    return torch.tensor(logits)


def _slow_hidden(
    module: Any, spec: Spec, part: References, choice: int, whole: torch.Tensor,
    tokens: torch.Tensor,
) -> torch.Tensor:  # fmt: skip
    described = [part for head in spec.heads for part in head.references]
    roles = list(dict.fromkeys((r.name, r.group) for p in described for r in p.roles))
    lacked = [
        key for key in roles
        if any((r.name, r.group) == key and -1 in r.entries for p in described for r in p.roles)
    ]  # fmt: skip
    kinds = list(dict.fromkeys(kind for p in described for kind in p.kinds or ("",)))
    starts = {"hand": 0, "foe": HAND}
    total = (
        module.whole(whole) + module.kinds[kinds.index(part.kinds[choice] if part.kinds else "")]
    )
    for role in part.roles:
        key, entry = (role.name, role.group), role.entries[choice]
        if entry < 0:
            total = total + module.absent[lacked.index(key)]
            continue
        token = tokens[starts[role.group] + entry]
        token = layer_norm(token, token.shape, module.norm.weight, module.norm.bias)
        total = total + module.roles[roles.index(key)] @ token
    return torch.relu(total)
