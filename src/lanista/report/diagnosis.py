"""Says why a run does not learn, from its own rows.

Most findings are those that a run gives itself while it goes on (`training.health`); here are the
ones that only a reader needs. What was seen in training matches is not kept by a run, so nothing is
said of features. Knows nothing of files, and nothing of live bots but the words for a finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lanista.findings import Examination, Finding, by_gravity, short
from lanista.report.run_record import RunRecord, owner
from lanista.training.health.examine import faults_of
from lanista.training.health.numbers import LearnerNumbers
from lanista.training.health.opponents import ENOUGH
from lanista.yaml_text import parse_yaml


def examine_run(record: RunRecord) -> Examination:
    """Look at a run and return what is wrong with it."""
    findings: list[Finding | None] = []
    for learner in record.learners or ("",):
        findings += [
            weights_unchanged(record, learner),
            *faults_of(numbers_of(record, learner)),
            one_opponent(record, learner),
        ]
    findings.append(no_results(record))
    return Examination(
        tuple(_facts(record)), by_gravity(one for one in findings if one is not None)
    )


def numbers_of(record: RunRecord, learner: str) -> LearnerNumbers:
    """Return the numbers of one learner of a run."""
    owned = {metric: owner(record.learners, metric) for metric in record.metrics}
    return LearnerNumbers(
        learner,
        {
            name: record.metrics[metric]
            for metric, (whose, name) in owned.items()
            if whose == learner
        },
        [row for row in record.training if row.learner == learner],
    )


def opponents_of(record: RunRecord, learner: str) -> Counter[str]:
    """Count the training matches of a learner by those it met; itself among them."""
    met: Counter[str] = Counter()
    for row in record.training:
        if row.learner == learner:
            others = [name for name in row.seating if name != learner] or [learner]
            for name in set(others):
                met[name] += row.matches
    return met


def one_opponent(record: RunRecord, learner: str) -> Finding | None:
    """All training games are against one opponent that does not change."""
    met = opponents_of(record, learner)
    if len(met) != 1 or sum(met.values()) < ENOUGH:
        return None
    ((opponent, matches),) = met.items()
    if opponent in record.learners:
        return None  # One that learns too is another opponent after every update.
    offered = sorted({row.opponent for row in record.matchmaking if row.learner == learner})
    return Finding(
        name="one_opponent",
        gravity="doubt",
        sentence=f"All {matches:,} training matches of {learner} were against {opponent!r}.",
        meaning="What is learned may be of use against this one opponent alone.",
        remedy="Add opponents, or play against itself; if this is the one that matters, nothing "
        "is wrong.",
        evidence={"learner": learner, "opponent": opponent, "matches": matches, "drawn": offered},
    )


def weights_unchanged(record: RunRecord, learner: str) -> Finding | None:
    """The learner was evaluated at several updates, and it was the same file each time."""
    digest_by_update: dict[int, str] = {}
    for match in record.matches:
        for name, digest in zip(match.lineup.names, match.lineup.digests, strict=True):
            if name == learner:
                digest_by_update[match.update] = digest
    updates = sorted(digest_by_update)
    if len(updates) < 3 or len({digest_by_update[update] for update in updates[-3:]}) > 1:
        return None
    digest = digest_by_update[updates[-1]]
    same = [update for update in updates if digest_by_update[update] == digest]
    return Finding(
        name="other_policy",
        gravity="stops",
        sentence=f"{learner} was evaluated at updates {', '.join(map(str, same[-5:]))}, and it was "
        f"the policy {short(digest)} each time.",
        meaning="The policy that plays is not the one that is trained, or training changes "
        "nothing.",
        remedy="See that learning.lr is not 0 and that the policy's loss is not 0 everywhere.",
        evidence={"learner": learner, "digest": digest, "updates": same},
    )


def no_results(record: RunRecord) -> Finding | None:
    """Matches of fixed players are broken off."""
    cut = sum(match.cut_off for match in record.matches)
    if len(record.matches) < ENOUGH or cut < 0.9 * len(record.matches):
        return None
    return Finding(
        name="no_results",
        gravity="stops",
        sentence=f"{cut:,} of {len(record.matches):,} matches of fixed players were broken off.",
        meaning="A match that was broken off has no result, so nobody's strength is known.",
        remedy="See why the game's matches do not end; its time limit may be too short.",
        evidence={"matches": len(record.matches), "cut_off": cut},
    )


def _one_step(record: RunRecord) -> bool:
    """Whether `policy/behaviour_kl` is that of the weights which played, to themselves."""
    settings = parse_yaml(record.settings, record.name) if record.settings else None
    learning = settings.get("learning") if isinstance(settings, dict) else None
    if not isinstance(learning, dict):
        return False
    steps = [learning.get(name, 1) for name in ("epochs", "minibatches")]
    if not all(isinstance(number, int) for number in steps):
        return False
    aged = any(
        value for name, series in record.metrics.items() if name.endswith("lag/mean")
        for _, value in series
    )  # fmt: skip
    return steps == [1, 1] and not aged


def _facts(record: RunRecord) -> Iterator[str]:
    played = sum(row.matches for row in record.training)
    yield (
        f"Run {record.name}: {record.game or 'unknown game'}, {record.updates:,} updates, "
        f"{played:,} training matches, {len(record.matches):,} matches of fixed players."
    )
    for learner in record.learners:
        met = opponents_of(record, learner).most_common(5)
        if met:
            yield f"{learner} met " + ", ".join(f"{name} {n:,}" for name, n in met) + "."
    if _one_step(record):
        yield (
            "An update is one step (learning.epochs and learning.minibatches are 1), and its KL is "
            "taken before that step, so nothing can be said of steps that are too large."
        )
    for update, sentence in record.notices[-3:]:
        yield f"At update {update} the run said: {sentence}"
    yield "A run keeps no observations, so nothing can be said of features."
