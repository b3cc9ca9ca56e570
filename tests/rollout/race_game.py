"""A game for tests: three seats choose at once, one of them waits each turn, lengths differ."""

from lanista.games import Facts, GameError, PythonBot, PythonGame, Step, View


class Race(PythonGame):
    """Seats add up their moves; the deal draws how many turns there are."""

    name = "race"
    facts = Facts(seats=3, longest=12, chance=True, zero_sum=True, simultaneous=True)
    observation = 3
    moves = 4
    cut_deals = ()
    """Deals whose drawn length is in here are broken off."""

    def deal(self, rng):
        return {"turn": 0, "turns": 1 + rng.below(9), "sum": [0, 0, 0]}

    def view(self, state, seat):
        if state["turn"] % 3 == seat:
            return None
        return View([state["turn"], seat, state["sum"][seat]], range(4))

    def apply(self, state, moves, rng):
        for seat, move in moves.items():
            state["sum"][seat] += move
        state["turn"] += 1
        if state["turn"] < state["turns"]:
            return None
        if state["turns"] in self.cut_deals:
            return Step(cut_off=True)
        mean = sum(state["sum"]) / 3
        return Step(returns=[own - mean for own in state["sum"]], score=list(state["sum"]))


class Cycling(PythonBot):
    """Chooses by turn and seat, and remembers which decisions it was asked about."""

    name = "cycling"

    def __init__(self, spec, seed):
        super().__init__(spec, seed)
        self.calls, self.asked = 0, []

    def act(self, decisions, rows):
        self.calls += 1
        for row in rows:
            self.asked.append((int(decisions.match[row]), int(decisions.seat[row])))
        return super().act(decisions, rows)

    def choose(self, observation, legal, stream):
        return int(observation[0] + 2 * observation[1]) % 4


class Last(PythonBot):
    """Always takes the last choice."""

    name = "last"

    def choose(self, observation, legal, stream):
        return [choices[-1] for choices in legal]


class First(PythonBot):
    """Always takes the first choice."""

    name = "first"

    def choose(self, observation, legal, stream):
        return [choices[0] for choices in legal]


def play_alone(make_game, players, match, deal, seating):
    """Play one match by the contract alone; return its game, whether cut off, and actions."""
    game = make_game(1)
    game.start([0], [match], {"deal": [deal]})
    actions = []
    while True:
        decisions = game.decisions()
        answers = [
            players[seating[decisions.seat[row]]].act(decisions, [row])[0].tolist()
            for row in range(len(decisions))
        ]
        actions += answers
        if len(game.act(range(len(answers)), answers)):
            return game, bool(game.cut_off[0].any()), actions
        if len(actions) > 1000:
            raise GameError("A match does not end.")
