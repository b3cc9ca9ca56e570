"""Every command with hostile files of each kind: nothing runs, nothing outside is touched.

The commands are taken from the program's own table, so one without a case here fails. Kinds: code
where a game is named, a digest that is a path, a link out of a folder, a pipe in a file's place.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
import yaml
from hostile_world import SECRET, WATCH, Originals, World, first_match

from lanista.cli.commands import every_command
from lanista.cli.main import main
from lanista.games import trust
from lanista.live.files.policy_folder import PolicyFolder
from lanista.nets.settings import Network
from lanista.runs.settings import RunSettings
from lanista.tuning.plan import Plan

TRAVERSAL = "../../outside/p"
OTHER = "ab" * 32


@dataclass(frozen=True)
class Case:
    """One command line on hostile files."""

    what: str
    words: Callable[[World], list[object]]
    """Makes the files and returns the command line."""
    codes: tuple[int, ...] = (2, 3)
    """What the command may end with; 0 where it does its work and passes the file by."""


def named_game(what: str, words: Callable[[World, str], list[object]], *codes: int) -> list[Case]:
    """One case for each kind of code where a game is named."""
    return [
        Case(
            f"{what}: {kind}",
            lambda world, at=at: words(world, world.names[at]),
            codes or (2, 3),
        )
        for at, kind in enumerate(("call", "module", "file", "file in the folder", "path"))
    ]


def output(world: World, name: str = "out.safetensors") -> list[object]:
    return ["--output", world.folder / name]


def kept_bot(world: World, content: str) -> list[object]:
    """A run's folder in which a match was played by a bot's file, with other content in it."""
    run = world.run()
    match = world.say_digest(run, OTHER)
    (run / "policies" / f"{OTHER}.py").write_text(content)
    return ["replay", run, match]


def untrusted_bot(world: World) -> list[object]:
    """A run's folder as somebody else sends it: its bot's file is what its digest says."""
    run = world.run()
    digest = world.originals.bot_digest
    return ["replay", run, world.say_digest(run, digest)]


def with_digest(world: World, digest: str, *words: object) -> list[object]:
    run = world.run()
    world.say_digest(run, digest)
    return list(words)


def in_run(world: World, what: str, name: str) -> object:
    """A run's folder in which `name` is a pipe or a link out of it."""
    run = world.run()
    if (run / name).is_dir():
        shutil.rmtree(run / name)
    inside = f"{run.name}/{name}"
    world.fifo(inside) if what == "pipe" else world.link(inside, target_of(world, name))
    return run


def target_of(world: World, name: str) -> object:
    return world.outside if "." not in name else world.outside / "secret.txt"


def unsafe_runs(words: Callable[[World, object], list[object]]) -> list[Case]:
    """Cases of a run's folder with pipes and links in it."""
    places = ["run.db", "config.yaml", "policies", "checkpoints", "policies/x.safetensors"]
    return [
        Case(f"{what} as {name}", lambda world, w=what, n=name: words(world, in_run(world, w, n)))
        for what in ("pipe", "link")
        for name in places
        if not (what == "pipe" and "." not in name)
    ]


def resume(world: World, run: object = None) -> list[object]:
    return ["rl", "--resume", "--iterations", 2, *output(world, "p.safetensors")]


def hostile_policies(words: Callable[[World, object], list[object]]) -> list[Case]:
    """Cases of a policy file named on the command line."""
    return [
        *named_game("policy", lambda world, name: words(world, world.policy(name))),
        Case("pipe as policy", lambda world: words(world, world.fifo("pipe.safetensors"))),
        Case(
            "policy whose game is a Python file",
            lambda world: words(world, world.policy_of(world.trap)),
        ),
        Case(
            "policy whose game is a Python file outside",
            lambda world: words(world, world.policy_of(world.outside / "game.py")),
        ),
        Case(
            "policy that names a folder to read",
            lambda world: words(
                world, world.policy("showdown", team_pool_path=str(world.outside / "teams"))
            ),
        ),
        Case(
            "policy that asks for processes",
            lambda world: words(world, world.policy("showdown", workers=10**6)),
        ),
    ]


def hostile_settings(words: Callable[[World, object], list[object]]) -> list[Case]:
    """Cases of a settings file."""
    return [
        *named_game("settings", lambda world, name: words(world, world.settings(game=name))),
        Case(
            "settings with a bot's file",
            lambda world: words(
                world,
                world.settings(evaluation={"every": 1, "bots": [str(world.trap)], "matches": 2}),
            ),
        ),
        Case("pipe as settings", lambda world: words(world, world.fifo("pipe.yaml"))),
    ]


def hostile_folders(words: Callable[[World, object], list[object]]) -> list[Case]:
    """Cases of a policy folder."""

    def linked(world: World) -> object:
        folder = world.policies()
        stable = PolicyFolder(folder).pointer().stable
        world.link(f"policies/policies/{stable}.safetensors", world.outside / "p.safetensors")
        return folder

    def piped(world: World, name: str) -> object:
        folder = world.policies()
        world.fifo(f"policies/{name}")
        return folder

    return [
        Case(
            "digest that is a path",
            lambda world: words(world, world.pointing(TRAVERSAL)),
            (0, 1, 2, 3),
        ),
        Case("link as policy", lambda world: words(world, linked(world))),
        Case("pipe as pointer", lambda world: words(world, piped(world, "current.json"))),
    ]


def replays(world: World, what: str) -> list[object]:
    """A folder of replays in which one is hostile."""
    world.replays("kuhn", "replays/good.jsonl.gz")
    if what == "pipe":
        world.fifo("replays/pipe.jsonl.gz")
    else:
        world.link("replays/link.jsonl.gz")
    return [world.folder / "replays"]


def feedback(world: World, name: str) -> list[object]:
    """A folder of live feedback for any game."""
    header = {
        "format": "lanista-feedback", "version": 1, "session": "s", "game": name, "settings": {},
        "rules_version": 1, "observation_version": 1, "observation_length": 3, "heads": [],
        "player": {"name": "x", "digest": OTHER},
    }  # fmt: skip
    path = world.folder / "feedback" / "feedback_stream.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps(header) + "\n")
    return ["--feedback-dir", world.folder / "feedback"]


def pipeline(world: World, **values: object) -> list[object]:
    return ["run", world.recipe(**values).parent]


def learn(world: World, folder: object, *more: object) -> list[object]:
    gate = ["gate.kind=simulator", "gate.every=1"]
    return ["learn", "--once", "--spool", world.spool(), "--policy", folder, "--set", *gate, *more]


def experiment(world: World, **values: object) -> list[object]:
    told = {"recipe": yaml.safe_load(world.settings(**values).read_text()), "arms": {"a": {}}}
    (world.folder / "e.yaml").write_text(yaml.safe_dump({**told, "seeds": [1]}))
    return ["experiment", world.folder / "e.yaml", *output(world, "e")]


def tuned(world: World, file: object) -> list[object]:
    mark = ["--mark", "score>=0.6", "--trials", 1, "--budget", "1s"]
    return ["tune", file, *mark, *output(world, "tuned")]


def resumed_search(world: World) -> list[object]:
    """A search that was begun elsewhere, with code for a game."""
    recipe = RunSettings(game=str(world.trap), network=Network(width=8, layers=1))
    space = {"learning.epochs": "int:1..2"}
    Plan("trap", recipe, "score:random>=0.6", space, trials=1).save(world.folder / "tuned")
    return ["tune", "--resume", *output(world, "tuned")]


def exploited(world: World, victim: object) -> list[object]:
    return ["exploit", victim, *output(world), "--train-steps", 8, "--games", 2]


def resumed_solve(world: World, what: str) -> list[object]:
    """A solve whose state is a pipe, a link out of its folder, or not a state."""
    if what == "pipe":
        world.fifo("out.safetensors.state")
    elif what == "link":
        world.link("out.safetensors.state", world.outside / "secret.txt")
    else:
        (world.folder / "out.safetensors.state").write_bytes(b'"lanista_solve":' * 9)
    return ["solve", "kuhn", *output(world), "--resume"]


def resumed_exploit(world: World) -> list[object]:
    """An exploit whose run was begun elsewhere, with code for a game."""
    world.run("out.safetensors.run/response-1.safetensors.run", game=str(world.trap))
    (world.folder / "out.safetensors.run" / "response-1.safetensors").write_bytes(b"")
    return [*exploited(world, world.originals.policy), "--resume"]


def logs(world: World, what: str) -> list[object]:
    (world.folder / "logs").mkdir()
    world.fifo("logs/a.log") if what == "pipe" else world.link("logs/a.log")
    return ["showdown", "import-logs", world.folder / "logs", *output(world, "imported")]


def usage(world: World, log: Path) -> list[object]:
    return ["showdown", "usage", log.parent, *output(world, "usage.json")]


def encoded(world: World, policy: object) -> list[object]:
    (world.folder / "a.log").write_text("|j|a\n")
    return ["showdown", "encode", world.folder / "a.log", "--policy", policy]


def served(world: World, what: str) -> list[object]:
    """A folder of a Showdown server with code of others in it, or a link out of it."""
    place = world.folder / "server" / "server-1"
    if what == "code":
        (place / "config" / "chat-plugins").mkdir(parents=True)
        plugin = f"require('fs').writeFileSync({str(world.canary)!r}, '')\n"
        (place / "config" / "chat-plugins" / "evil.js").write_text(plugin)
    else:
        world.link("server/server-1/config", world.outside)
    return ["showdown", "serve", "--folder", world.folder / "server", "--port", 0]


def checkpoint(world: World) -> object:
    """Another program's checkpoint, which runs code where it is unpickled."""
    torch.save({"x": torch.ones(2), "code": Toucher(world.canary)}, world.folder / "c.pt")
    return world.folder / "c.pt"


class Toucher:
    """Makes a file where somebody unpickles it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> object:
        return (Path.touch, (self.path,))


def imported(world: World, game: str) -> list[object]:
    mapped = {"game": game, "network": {"width": 8, "layers": 1}, "tensors": {"head.bias": "x"}}
    (world.folder / "map.yaml").write_text(yaml.safe_dump(mapped))
    mapping = ["--mapping", world.folder / "map.yaml"]
    return ["policy", "import", checkpoint(world), *mapping, *output(world)]


def seats(world: World, player: object) -> list[object]:
    return ["play", "kuhn", "--seats", f"random,{player}", "--matches", 2]


CASES: dict[str, list[Case]] = {
    "games": [
        Case("code as game", lambda world: ["games", world.names[0]]),
        Case("pipe as game", lambda world: ["games", world.fifo("pipe.py")]),
    ],
    "play": [
        Case("code as game", lambda world: ["play", world.names[0], "--seats", "random,random"]),
        Case("module as game", lambda world: ["play", world.names[1], "--seats", "random,random"]),
        Case("pipe as bot", lambda world: seats(world, world.fifo("pipe.py"))),
        *hostile_policies(seats),
    ],
    "exact": [
        Case("code as game", lambda world: ["exact", "random", "--game", world.names[0]]),
        *hostile_policies(lambda world, policy: ["exact", policy]),
    ],
    "solve": [
        Case("code as game", lambda world: ["solve", world.names[0], *output(world)]),
        Case("pipe as state", lambda world: resumed_solve(world, "pipe")),
        Case("link as state", lambda world: resumed_solve(world, "link")),
        Case("nonsense as state", lambda world: resumed_solve(world, "nonsense")),
    ],
    "roundrobin": [
        Case("code as game", lambda world: ["roundrobin", world.names[0]]),
        Case(
            "pipe as bot",
            lambda world: ["roundrobin", "kuhn", "--bots", f"random,{world.fifo('pipe.py')}"],
        ),
    ],
    "check": [
        Case("code as game", lambda world: ["check", world.names[0]]),
        Case("pipe as game", lambda world: ["check", world.fifo("pipe.py")]),
    ],
    "data": [
        *named_game("replays", lambda world, name: ["data", world.replays(name).parent], 1),
        *named_game("feedback", lambda world, name: ["data", *feedback(world, name)], 1),
        Case("pipe among replays", lambda world: ["data", *replays(world, "pipe")], (1,)),
        Case("link among replays", lambda world: ["data", *replays(world, "link")], (1,)),
    ],
    "watch": [
        *named_game("replays", lambda world, name: ["watch", world.replays(name)]),
        Case("pipe as replay", lambda world: ["watch", world.fifo("pipe.jsonl.gz")]),
    ],
    "export": [
        *hostile_policies(
            lambda world, policy: ["export", policy, "--to", "numpy", *output(world, "exported")]
        ),
    ],
    "imitate": [
        *named_game(
            "replays",
            lambda world, name: [
                "imitate",
                "--data-dir",
                world.replays(name).parent,
                *output(world),
            ],
        ),
        *named_game(
            "feedback", lambda world, name: ["imitate", *feedback(world, name), *output(world)]
        ),
        Case(
            "pipe among replays",
            lambda world: ["imitate", "--data-dir", *replays(world, "pipe"), *output(world)],
        ),
        Case(
            "link among replays",
            lambda world: ["imitate", "--data-dir", *replays(world, "link"), *output(world)],
        ),
    ],
    "rl": [
        *hostile_settings(lambda world, file: ["rl", "--config", file, *output(world)]),
        *named_game("run", lambda world, name: (world.run(game=name), resume(world))[1]),
        *unsafe_runs(resume),
        Case("bot that nobody allowed", lambda world: (world.run(), resume(world))[1]),
        Case(
            "link as checkpoint",
            lambda world: (
                world.run(),
                world.link("p.safetensors.run/checkpoints/000001", world.outside),
                resume(world),
            )[2],
        ),
        Case(
            "pipe to begin from",
            lambda world: [
                *("rl", "--game", "kuhn", "--supervised-checkpoint", world.fifo("pipe")),
                *output(world),
            ],
        ),
    ],
    "league": [
        *hostile_settings(
            lambda world, file: ["league", "--config", file, "--output-dir", world.folder / "out"]
        ),
        *named_game(
            "run",
            lambda world, name: ["league", "--resume", "--output-dir", world.league(game=name)],
        ),
        Case(
            "digest that is a path",
            lambda world: [
                *("league", "--resume", "--rounds", 2),
                *("--output-dir", (run := world.league()), world.say_digest(run, TRAVERSAL))[:2],
            ],
        ),
        Case(
            "link as policies",
            lambda world: [
                *("league", "--resume", "--output-dir", world.league()),
                *(world.link("league/policies", world.outside),)[:0],
            ],
        ),
    ],
    "learn": [
        *named_game("policy", lambda world, name: learn(world, world.policies(name))),
        *hostile_folders(learn),
        Case(
            "pipe as settings",
            lambda world: learn(world, world.policies(), "--config", world.fifo("pipe.yaml")),
        ),
    ],
    "live run": [
        *named_game(
            "policy",
            lambda world, name: (
                world.policies(name, "demo/policy"),
                ["live", "run", "arena", *output(world, "demo"), "--minutes", 0.01],
            )[1],
        ),
    ],
    "live serve": [
        Case("pipe as folder", lambda world: ["live", "serve", world.fifo("live")]),
        Case(
            "digest that is a path",
            lambda world: (
                world.pointing(TRAVERSAL),
                (world.folder / "policies").rename(world.folder / "policy"),
                ["live", "serve", world.folder],
            )[2],
        ),
        Case(
            "link as spool",
            lambda world: (
                world.policies(name="policy"),
                world.link("spool/new", world.outside),
                ["live", "serve", world.folder],
            )[2],
        ),
        Case(
            "pipe as token",
            lambda world: (
                world.policies(name="policy"),
                ["live", "serve", world.folder, "--token-file", world.fifo("token")],
            )[1],
        ),
        Case(
            "pipe as certificate",
            lambda world: (
                world.policies(name="policy"),
                ["live", "serve", world.folder, "--tls-cert", world.fifo("a"), "--tls-key", "b"],
            )[1],
        ),
    ],
    "live-demo": [
        *named_game(
            "policy",
            lambda world, name: (
                world.policies(name, "demo/policy"),
                ["live-demo", *output(world, "demo"), "--minutes", 0.01],
            )[1],
        ),
    ],
    "run": [
        *named_game("folder", lambda world, name: pipeline(world, game=name)),
        *named_game(
            "recipe",
            lambda world, name: [
                *("run", world.recipe("evil.yaml", game=name)),
                *("--output-dir", world.folder / "out"),
            ],
        ),
        Case(
            "bot's file in a folder",
            lambda world: pipeline(
                world, stages={"record": {"seats": [f"random,{world.trap}"], "matches": 2}}
            ),
        ),
        Case("pipe as recipe", lambda world: ["run", world.fifo("pipe.yaml")]),
        Case(
            "link as data",
            lambda world: (pipeline(world), world.link("pipeline/data", world.outside))[0],
        ),
        Case(
            "link as record",
            lambda world: (pipeline(world), world.link("pipeline/stages/record.json"))[0],
        ),
    ],
    "tune": [
        *hostile_settings(tuned),
        Case("search with code as game", resumed_search),
        Case(
            "pipe as space",
            lambda world: [*tuned(world, "kuhn-ppo"), "--space", world.fifo("space.yaml")],
        ),
    ],
    "evaluate": [
        *hostile_policies(
            lambda world, policy: ["evaluate", policy, "--opponents", "random", "--games", 2]
        ),
        Case("pipe as bot", lambda world: ["evaluate", world.fifo("pipe.py"), "--game", "kuhn"]),
    ],
    "replay": [
        *named_game("run", lambda world, name: replayed(world, game=name)),
        Case("bot with other content", lambda world: kept_bot(world, world.code)),
        Case("bot that nobody allowed", untrusted_bot),
        Case(
            "digest that is a path",
            lambda world: ["replay", (run := world.run()), world.say_digest(run, TRAVERSAL)],
        ),
        Case(
            "digest that is a whole path",
            lambda world: [
                "replay",
                (run := world.run()),
                world.say_digest(run, str(world.trap)[:-3]),
            ],
        ),
        *unsafe_runs(lambda world, run: ["replay", run, 1 << 40]),
    ],
    "report": [
        *named_game("run", lambda world, name: ["report", world.run(game=name)], 0),
        *unsafe_runs(lambda world, run: ["report", run]),
        *hostile_folders(lambda world, folder: ["report", folder]),
        Case(
            "digest that is a path",
            lambda world: with_digest(
                world, TRAVERSAL, "report", world.folder / "p.safetensors.run"
            ),
            (0, 2, 3),
        ),
        Case(
            "pipes as exports",
            lambda world: [
                *("report", "--league-state", world.fifo("a.json")),
                *("--matches", world.fifo("b.jsonl"), "--output", world.folder / "s.json"),
            ],
        ),
        Case(
            "link as the report's folder",
            lambda world: [
                "report",
                (run := world.run()),
                world.link(f"{run.name}/report", world.outside),
            ][:2],
        ),
    ],
    "exploit": [
        *hostile_policies(exploited),
        Case(
            "settings with a game of their own, which is not played",
            lambda world: [
                *exploited(world, world.originals.policy),
                *("--config", world.settings(game=str(world.trap))),
            ],
            (0,),
        ),
        Case(
            "pipe as settings",
            lambda world: [
                *exploited(world, world.originals.policy),
                *("--config", world.fifo("pipe.yaml")),
            ],
        ),
        Case("run begun elsewhere", resumed_exploit),
    ],
    "config": [
        *named_game(
            "settings",
            lambda world, name: ["config", "diff", world.settings(game=name), "kuhn-ppo"],
            0,
        ),
        Case(
            "pipe as settings", lambda world: ["config", "diff", world.fifo("p.yaml"), "kuhn-ppo"]
        ),
        Case(
            "pipe as plan", lambda world: ["config", "import", world.fifo("p.yaml"), *output(world)]
        ),
    ],
    "experiment": [
        Case("pipe as experiment", lambda world: ["experiment", world.fifo("pipe.yaml")]),
    ],
    "profile": [
        *hostile_settings(lambda world, file: ["profile", file, "--seconds", 0.01, "--repeats", 1]),
    ],
    "policy list": hostile_folders(lambda world, folder: ["policy", "list", folder]),
    "policy publish": [
        *hostile_folders(lambda world, folder: ["policy", "publish", folder, world.policy()]),
        Case(
            "pipe as policy",
            lambda world: ["policy", "publish", world.policies(), world.fifo("p")],
        ),
    ],
    "policy rollback": [
        *hostile_folders(lambda world, folder: ["policy", "rollback", folder]),
        Case(
            "digest that is a path",
            lambda world: ["policy", "rollback", world.policies(), "--to", TRAVERSAL],
        ),
    ],
    "policy import": [
        *named_game("mapping", lambda world, name: imported(world, game=name)),
        Case("pipe as checkpoint", lambda world: ["policy", "import", world.fifo("pipe.pt")]),
        Case(
            "pipe as mapping",
            lambda world: [
                *("policy", "import", checkpoint(world), "--mapping", world.fifo("pipe.yaml")),
                *output(world),
            ],
        ),
        Case("code in the checkpoint", lambda world: imported(world, game="kuhn")),
    ],
    "policy finish": [
        # It reads the file alone: whatever a header names is neither made nor looked at.
        *(
            replace(case, codes=(0, *case.codes))
            for case in hostile_policies(
                lambda world, policy: ["policy", "finish", policy, *output(world)]
            )
        ),
    ],
    "policy ready": hostile_folders(lambda world, folder: ["policy", "ready", folder]),
    "doctor": [
        *hostile_folders(lambda world, folder: ["doctor", folder]),
        *unsafe_runs(lambda world, run: ["doctor", run]),
    ],
    "completion": [],  # Takes no file.
    "cluster start": [],  # Takes no file.
    "cluster join": [],  # Takes no file.
    "showdown install": [],  # Takes no file.
    "showdown serve": [
        Case("code of others", lambda world: served(world, "code")),
        Case("link as settings", lambda world: served(world, "link")),
    ],
    "showdown play": [
        *named_game("policy", lambda world, name: on_server(world, world.policy(name))),
        Case("pipe as policy", lambda world: on_server(world, world.fifo("pipe"))),
        Case("folder to read", lambda world: on_server(world, pooled(world))),
    ],
    "showdown evaluate": [
        *named_game("policy", lambda world, name: ["showdown", "evaluate", world.policy(name)]),
        Case("pipe as policy", lambda world: ["showdown", "evaluate", world.fifo("pipe")]),
        Case("folder to read", lambda world: ["showdown", "evaluate", pooled(world)]),
    ],
    "showdown encode": [
        *named_game("policy", lambda world, name: encoded(world, world.policy(name))),
        Case("pipe as log", lambda world: ["showdown", "encode", world.fifo("a.log")]),
        Case("pipe as policy", lambda world: encoded(world, world.fifo("pipe"))),
    ],
    "showdown import-logs": [
        Case("pipe as log", lambda world: logs(world, "pipe")),
        Case("link as log", lambda world: logs(world, "link")),
    ],
    "showdown usage": [
        Case("pipe as log", lambda world: usage(world, world.fifo("logs/a.log"))),
        Case("link as log", lambda world: usage(world, world.link("logs/a.log"))),
    ],
    # What it serves of hostile runs is in tests/view: it would not return.
    "view": [
        Case("pipe as folder", lambda world: ["view", world.fifo("runs")]),
        Case("policy as folder", lambda world: ["view", world.policy("kuhn")]),
    ],
    "showdown teams": [
        Case(
            "link as folder",
            lambda world: [
                *("showdown", "teams", "--number", 1),
                *("--output", world.link("teams", world.outside)),
            ],
        ),
    ],
}


def replayed(world: World, **values: object) -> list[object]:
    run = world.run(**values)
    return ["replay", run, first_match(run)]


def on_server(world: World, policy: object) -> list[object]:
    return ["showdown", "play", policy, "--server", "ws://127.0.0.1:9", "--accept", 1]


def pooled(world: World) -> object:
    return world.policy("showdown", format="gen9vgc2025regi", team_pool_path=str(world.outside))


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Originals:
    torch.set_num_threads(1)
    return Originals(tmp_path_factory.mktemp("originals"))


@pytest.fixture
def world(tmp_path, originals, monkeypatch) -> World:
    # Nothing was ever allowed on this machine, though the originals were made on it.
    monkeypatch.setenv(trust.LIST, str(tmp_path / "state" / "trusted.txt"))
    monkeypatch.setattr(trust, "_guard", trust._Guard())
    (tmp_path / "world").mkdir()
    monkeypatch.chdir(tmp_path / "world")
    monkeypatch.syspath_prepend(str(tmp_path / "world"))
    return World(tmp_path / "world", originals)


def test_every_command_has_its_hostile_files():
    assert set(CASES) == {name for name, _ in every_command()}


ALL = [
    pytest.param(case, id=f"{name}, {case.what}") for name, cases in CASES.items() for case in cases
]


@pytest.mark.parametrize("case", ALL)
def test_nothing_of_it_runs_and_nothing_outside_is_touched(case, world, capsys):
    words = [str(word) for word in case.words(world)]
    before = world.outside_is()
    with WATCH.over(world.folder), world.unblocking() as waited:
        code = main(words)
    printed = capsys.readouterr()
    said = printed.out + printed.err
    assert not waited, f"it waited for {waited}"
    assert not world.canary.exists(), "hostile code ran"
    assert WATCH.ran == []
    assert WATCH.touched == []
    assert world.outside_is() == before
    assert SECRET not in said
    assert "Traceback" not in said
    assert "--help" not in said, "the command line itself is wrong"
    assert code in case.codes, said
