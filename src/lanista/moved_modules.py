"""Old import paths: a bot or game file written for an earlier version still loads, with a warning.

Bots that a run folder keeps were written against the names of their day. Knows no module's content.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_ROOT = "lanista."
MOVED = {
    "data.databases": "runs.sqlite_files",
    "data.feedback_schema": "data.feedback.schema",
    "data.sessions": "data.feedback.sessions",
    "games.adapters.exact": "games.trees.exact",
    "games.lift": "games.python_game",
    "games.microrts.minds": "games.microrts.engine_bots",
    "games.showdown.battles": "games.showdown.sim.battles",
    "games.showdown.belief": "games.showdown.protocol.belief",
    "games.showdown.bots": "games.showdown.scripted.bots",
    "games.showdown.damage": "games.showdown.scripted.damage",
    "games.showdown.dealing": "games.showdown.sim.deals",
    "games.showdown.description": "games.showdown.observation.description",
    "games.showdown.effects": "games.showdown.protocol.effects",
    "games.showdown.encoding": "games.showdown.observation.encoding",
    "games.showdown.fields": "games.showdown.observation.fields",
    "games.showdown.heuristic": "games.showdown.scripted.heuristic",
    "games.showdown.knowledge": "games.showdown.protocol.battle_state",
    "games.showdown.lines": "games.showdown.protocol.major_lines",
    "games.showdown.logs": "games.showdown.spectating.logs",
    "games.showdown.match": "games.showdown.sim.match",
    "games.showdown.minor_lines": "games.showdown.protocol.minor_lines",
    "games.showdown.naming": "games.showdown.protocol.naming",
    "games.showdown.options": "games.showdown.actions.options",
    "games.showdown.orders": "games.showdown.actions.orders",
    "games.showdown.poke_env_bots": "games.showdown.scripted.poke_env_bots",
    "games.showdown.process": "games.showdown.sim.process",
    "games.showdown.redraw": "games.showdown.sim.resample",
    "games.showdown.requests": "games.showdown.protocol.requests",
    "games.showdown.saves": "games.showdown.sim.saves",
    "games.showdown.server": "games.showdown.local_servers.server",
    "games.showdown.server_folder": "games.showdown.local_servers.server_folder",
    "games.showdown.servers": "games.showdown.local_servers.pool",
    "games.showdown.sets": "games.showdown.teams.sets",
    "games.showdown.sight": "games.showdown.scripted.bot_view",
    "games.showdown.spectator": "games.showdown.spectating.spectator",
    "games.showdown.spectator_requests": "games.showdown.spectating.requests",
    "games.showdown.spectator_rows": "games.showdown.spectating.rows",
    "games.showdown.spectator_witness": "games.showdown.spectating.witness",
    "games.showdown.speeds": "games.showdown.protocol.speeds",
    "games.showdown.tables": "games.showdown.sim.slot_arrays",
    "games.showdown.team_making": "games.showdown.teams.random_teams",
    "games.showdown.tracker": "games.showdown.protocol.tracker",
    "games.showdown.views": "games.showdown.sim.views",
    "games.showdown.vocabulary": "games.showdown.protocol.vocabulary",
    "games.showdown.volatile_lines": "games.showdown.protocol.volatile_lines",
    "games.showdown.words": "games.showdown.actions.choice_text",
    "league.differences": "evaluation.differences",
    "league.meter": "evaluation.meter",
    "league.ratings": "evaluation.ratings",
    "league.roundrobin": "evaluation.roundrobin",
    "league.score": "evaluation.score",
    "league.settings": "runs.league_settings",
    "league.standings": "evaluation.standings",
    "learn.checkpoint": "runs.checkpoints",
    "learn.cutting": "learn.minibatches",
    "learn.descent": "learn.optimiser_step",
    "learn.imitation_report": "learn.imitation.report",
    "learn.imitation_settings": "learn.imitation.settings",
    "learn.memory": "learn.malloc",
    "learn.readings": "learn.step_metrics",
    "learn.targets": "learn.update_targets",
    "learn.terms": "learn.loss_terms",
    "live.betting": "live.promotion.e_process",
    "live.book_check": "live.learner.ledger_check",
    "live.book_file": "live.learner.ledger_file",
    "live.calibration": "live.promotion.calibration",
    "live.current": "live.agent.policy_watcher",
    "live.deciding": "live.agent.inference",
    "live.demo_player": "live.players.arena",
    "live.deployment": "live.promotion.deployment",
    "live.doctor": "live.diagnosis.doctor",
    "live.drift": "live.diagnosis.drift",
    "live.evidence": "live.diagnosis.evidence",
    "live.experience": "live.learner.experience",
    "live.findings": "findings",
    "live.findings_features": "live.diagnosis.findings_features",
    "live.findings_games": "live.diagnosis.findings_games",
    "live.findings_learning": "live.diagnosis.findings_learning",
    "live.folder": "live.files.policy_folder",
    "live.full_disk": "live.learner.full_disk",
    "live.game_files": "live.files.game_file",
    "live.game_header": "live.files.game_header",
    "live.gate": "live.promotion.gate",
    "live.gatekeeping": "live.promotion.candidates",
    "live.intake": "live.learner.intake",
    "live.journal": "live.agent.journal",
    "live.learning": "live.learner.background_learner",
    "live.ledger": "live.learner.ledger",
    "live.off_policy": "live.promotion.off_policy",
    "live.opinion": "live.promotion.ope_veto",
    "live.readiness": "live.promotion.acceptance",
    "live.recorded": "live.files.recorded_games",
    "live.sealed_json": "live.files.sealed_json",
    "live.sequential": "live.promotion.sequential_test",
    "live.service": "live.learner.service",
    "live.settings": "live.learner.settings",
    "live.simulated": "live.promotion.simulator_trial",
    "live.spool": "live.files.spool",
    "live.weights": "live.learner.weights",
    "live.writer": "live.agent.game_writer",
    "nets.judging": "nets.fused_ops",
    "pipeline.beastybar_plan": "importers.beastybar_plan",
    "pipeline.best_response": "exploiters.best_response",
    "pipeline.ceilings": "exploiters.ceilings",
    "pipeline.champion": "evaluation.promotion",
    "pipeline.collectors": "training.collector_factory",
    "pipeline.conduct": "pipeline.runner",
    "pipeline.display": "training.progress_view",
    "pipeline.evaluation": "evaluation.evaluator",
    "pipeline.exploit": "exploiters.response_play",
    "pipeline.exploiters": "exploiters.league_exploiters",
    "pipeline.gauntlet": "evaluation.gauntlet",
    "pipeline.imitate": "training.imitate",
    "pipeline.instruments": "exploiters.instruments",
    "pipeline.iteration": "training.learner_loop",
    "pipeline.metrics": "runs.database",
    "pipeline.live_demo": "pipeline.live_run.session",
    "pipeline.mirrors": "training.trackers",
    "pipeline.observers": "training.observers",
    "pipeline.plain": "runs.serialise",
    "pipeline.plan_keys": "importers.key_mapping",
    "pipeline.plans": "importers.formats",
    "pipeline.players": "runs.players",
    "pipeline.profiling": "profile.measure",
    "pipeline.profiling_changes": "profile.changes",
    "pipeline.profiling_machine": "profile.machine",
    "pipeline.profiling_noise": "profile.noise",
    "pipeline.profiling_subject": "profile.subject",
    "pipeline.profiling_sweep": "profile.sweep",
    "pipeline.profiling_text": "profile.advice",
    "pipeline.profiling_wall": "profile.bottleneck",
    "pipeline.readiness": "pipeline.preflight",
    "pipeline.replaying": "evaluation.match_replay",
    "pipeline.resolve": "runs.resolve",
    "pipeline.resume": "runs.resume",
    "pipeline.roster": "league.roster",
    "pipeline.run": "runs.folder",
    "pipeline.settings": "runs.settings",
    "pipeline.settling": "pipeline.resolve_recipe",
    "pipeline.showdown_plan": "importers.showdown_plan",
    "pipeline.slim": "runs.slim",
    "pipeline.squad": "league.population",
    "pipeline.story": "pipeline.recipe",
    "pipeline.strength": "evaluation.clone_strength",
    "pipeline.training": "training.loop",
    "pipeline.training_games": "training.training_stats",
    "report.charts": "report.pages.charts",
    "report.charts_league": "report.pages.charts_league",
    "report.live_story": "report.live_record",
    "report.page": "report.pages.run_page",
    "report.page_evaluation": "report.pages.evaluation",
    "report.page_exploitability": "report.pages.exploitability",
    "report.page_family": "report.pages.family_tree",
    "report.page_learning": "report.pages.learning",
    "report.page_live": "report.pages.live_page",
    "report.page_parts": "report.pages.html",
    "report.page_results": "report.pages.results",
    "report.page_strength": "report.pages.strength",
    "report.source": "report.run_record",
    "rollout.actor": "rollout.inference.actor",
    "rollout.blocks": "rollout.inference.row_blocks",
    "rollout.central": "rollout.inference.server",
    "rollout.collect": "rollout.collector",
    "rollout.company": "rollout.opponent_sampler",
    "rollout.crew": "rollout.collect_worker",
    "rollout.device": "rollout.inference.device_transfer",
    "rollout.fleet": "rollout.parallel_collector",
    "rollout.histogram": "rollout.inference.histogram",
    "rollout.memory": "rollout.inference.recurrent_state",
    "rollout.panel": "rollout.inference.opponent_batch",
    "rollout.phases": "rollout.timing",
    "rollout.players": "rollout.inference.policy_players",
    "rollout.processes": "rollout.launchers.processes",
    "rollout.record": "rollout.replay_recorder",
    "rollout.remote": "rollout.inference.client",
    "rollout.restarts": "rollout.launchers.restarts",
    "rollout.seating": "rollout.schedule",
    "rollout.shared": "rollout.launchers.shared_memory",
    "rollout.stacked": "rollout.inference.stacked_networks",
    "rollout.tally": "rollout.outcome_counts",
    "rollout.tape": "rollout.trajectory_builder",
    "rollout.workers": "rollout.launchers.in_process",
}
"""Where each module went, both below `lanista.`."""


class _Alias(Loader):
    """Gives the module at the new path for the old one."""

    def __init__(self, target: str) -> None:
        self.target = target

    def exec_module(self, module: ModuleType) -> None:
        # What stands under the old name when this returns is what the import gives.
        sys.modules[module.__name__] = importlib.import_module(self.target)


class _Finder(MetaPathFinder):
    """Asked last, so that it costs nothing where a module is where it is looked for."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        new = MOVED.get(fullname.removeprefix(_ROOT)) if fullname.startswith(_ROOT) else None
        if new is None:
            return None
        warnings.warn(
            f"{fullname} is now {_ROOT}{new}; import it from there.",
            DeprecationWarning,
            stacklevel=2,
        )
        return ModuleSpec(fullname, _Alias(_ROOT + new))


def install() -> None:
    """Let old import paths be found; doing it twice changes nothing."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
