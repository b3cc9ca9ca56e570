"""`lanista doctor`: says why nothing is learning, each finding with its evidence."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from lanista.cli.common.flags import number, optional
from lanista.cli.common.outputs import Writes, numbers_of, write_json
from lanista.errors import LanistaError

if TYPE_CHECKING:
    from lanista.findings import Examination
    from lanista.live.diagnosis.findings_features import Seen


@dataclass(frozen=True)
class Doctor:
    """Say why nothing is learning.

    Looks at a live bot's spool and policy folder, or at a run of rl or league, and changes
    nothing. Ends with 0 if nothing is found, with 1 if something is.
    """

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")]
    """A spool, a policy folder, a run, or what `lanista live run` made."""
    policy: Annotated[Path | None, optional("FOLDER")] = None
    """The policy folder that belongs to a spool."""
    spool: Annotated[Path | None, optional("FOLDER")] = None
    """The spool that belongs to a policy folder; the one last learned from unless given."""
    training: Annotated[Path | None, optional("FOLDER")] = None
    """What the policy was made from elsewhere, replays or another spool: features are held against
    it instead of against the games learned from first."""
    games: Annotated[int, number(200)] = 200
    """How many of the newest games are read, and how many of the oldest."""
    json_file: Annotated[
        Path | None, optional("FILE", name="json"), Writes(numbers_of("doctor"))
    ] = None
    """Also write everything to this file."""

    def run(self) -> int:
        """Look, print, and return the exit code."""
        from lanista.cli.common.paths import refuse_unwritable

        if self.games < 10:
            raise LanistaError(f"--games is {self.games}; give 10 or more.")
        if self.json_file is not None:
            refuse_unwritable("--json", self.json_file)
        examination = self._examine()
        if self.json_file is not None:
            report = {"folder": str(self.folder), **examination.as_json()}
            write_json(self.json_file, "doctor", report)
        _show(examination)
        return 1 if examination.findings else 0

    def _examine(self) -> Examination:
        from lanista.live.diagnosis.doctor import examine
        from lanista.report.reading import policies_in

        inside = policies_in(self.folder)
        kind = kind_of(inside or self.folder)
        if kind == "run":
            refuse_no_run(inside or self.folder)
            from lanista.report.diagnosis import examine_run
            from lanista.report.reading import find_run, read_run

            if self.policy or self.spool or self.training:
                raise LanistaError(
                    f"{self.folder} is a run, which has no spool; leave out --policy, --spool and "
                    "--training."
                )
            return examine_run(read_run(find_run(self.folder)))
        spool = self.folder if kind == "spool" else self.spool
        policy = (inside or self.folder) if kind == "policy" else self.policy
        if spool is None and inside != self.folder and (self.folder / "spool").is_dir():
            spool = self.folder / "spool"
        for flag, folder, expected in (("--spool", spool, "spool"), ("--policy", policy, "policy")):
            if folder is None:
                continue
            refuse_nowhere(flag, folder)
            if kind_of(folder) != expected:
                raise LanistaError(f"{flag} is {str(folder)!r}, which is a {kind_of(folder)}.")
        if kind == "spool" and self.spool is not None:
            raise LanistaError(f"{self.folder} is a spool already; leave out --spool.")
        if kind == "policy" and self.policy is not None:
            raise LanistaError(f"{self.folder} is a policy folder already; leave out --policy.")
        training = None if self.training is None else training_of(self.training, self.games)
        return examine(spool, policy, games=self.games, training=training)


def kind_of(folder: Path) -> str:
    """Return what a folder is: run, spool or policy; refuse one that is none of them."""
    from lanista.live.files.policy_folder import POINTER

    if not folder.exists():
        raise LanistaError(f"There is no folder {str(folder)!r}; name a spool, policy or run.")
    if (folder / "new").is_dir() and (folder / "archive").is_dir():
        return "spool"
    if (folder / POINTER).exists() or (folder / "history").is_dir():
        return "policy"
    if (folder / "policies").is_dir() and not (folder / "run.db").exists():
        return "policy"
    return "run"


def refuse_no_run(folder: Path) -> None:
    """Refuse a folder without anything of a run in it."""
    if not any((folder / name).exists() for name in ("run.db", "config.yaml")):
        inside = sorted(str(path.parent) for path in folder.glob("*/run.db"))
        remedy = (
            f"name a run in it: {', '.join(inside)}"
            if inside
            else "name the FILE.run beside a policy, a spool or a policy folder"
        )
        raise LanistaError(f"There is no run.db in {str(folder)!r}, so it is no run; {remedy}.")


def refuse_nowhere(flag: str, folder: Path) -> None:
    """Refuse a folder that is not there, by the flag that named it."""
    if not folder.exists():
        raise LanistaError(f"{flag} is {str(folder)!r}, and there is no such folder; name another.")


def training_of(folder: Path, most: int) -> Seen:
    """Return what was seen in replays, or in the games of another spool."""
    import numpy as np

    from lanista.data.gathering import gather
    from lanista.live.diagnosis.doctor import seen_in
    from lanista.live.diagnosis.findings_features import Seen
    from lanista.live.files.recorded_games import MOST_DECISIONS, read_games
    from lanista.live.files.spool import Spool

    refuse_nowhere("--training", folder)
    if kind_of(folder) == "spool":
        observed = seen_in(read_games(Spool(folder), most).newest)
        if observed is None:
            raise LanistaError(f"--training is the spool {str(folder)!r}, which holds no game.")
        return observed
    replays, _ = gather(folder)
    chosen = np.linspace(0, replays.trajectories - 1, min(replays.trajectories, most)).astype(
        np.int64
    )
    rows, game = [], []
    for one in chosen:
        first, last = int(replays.first[one]), int(replays.first[one + 1]) - 1
        some = np.linspace(first, last, min(last - first + 1, MOST_DECISIONS)).astype(np.int64)
        rows.append(some)
        game.append(np.full(len(some), replays.match[one]))
    observations = replays.observation[np.concatenate(rows)].astype(np.float64)
    return Seen(observations, np.concatenate(game))


def _show(examination: Examination) -> None:
    from lanista.cli.common.table import console
    from lanista.text import printable

    out = console()
    for fact in examination.facts:
        out.print(printable(fact, 600))
    effect_of = {"stops": "stops learning", "spoils": "spoils learning", "doubt": "worth a look"}
    for finding in examination.findings:
        out.print()
        out.print(f"{finding.name} ({effect_of[finding.gravity]})")
        for sentence in (finding.sentence, finding.meaning):
            out.print(f"  {printable(sentence, 1000)}")
        out.print(f"  Remedy: {printable(finding.remedy, 600)}")
        for name, value in finding.evidence.items():
            out.print(f"    {name}: {printable(_plain(value), 400)}")
    out.print()
    n = len(examination.findings)
    out.print(f"{n} finding{'s' if n != 1 else ''}." if n else "Nothing was found.")


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return json.dumps(value) if isinstance(value, list | dict) else str(value)
