"""Which machine plays which shards."""

from hypothesis import given
from hypothesis import strategies as st

from lanista.rollout.launchers.placement import WORTHWHILE, Machine, iteration_seconds, spread

machines = st.dictionaries(
    st.sampled_from("abcdef"),
    st.builds(Machine, st.integers(1, 8).map(float), st.none() | st.floats(0.1, 10)),
    min_size=1,
)


def slowest(placed, there):
    counts = {name: list(placed.values()).count(name) for name in there}
    return max(iteration_seconds(there[n], counts[n], there[n].seconds or 1.0) for n in there)


@given(st.integers(1, 20), machines, st.dictionaries(st.integers(0, 19), st.sampled_from("abxy")))
def test_every_shard_has_a_machine_that_is_there(shards, there, present):
    placed = spread(range(shards), there, present)
    assert sorted(placed) == list(range(shards))
    assert set(placed.values()) <= set(there)


@given(st.integers(1, 20), machines)
def test_what_is_placed_well_stays(shards, there):
    placed = spread(range(shards), there, {})
    assert spread(range(shards), there, placed) == placed


@given(st.integers(1, 12), machines)
def test_cores_are_used_before_two_shards_share_one(shards, there):
    alike = {name: Machine(machine.cpus) for name, machine in there.items()}
    placed = spread(range(shards), alike, {})
    if shards <= sum(machine.cpus for machine in alike.values()):
        assert slowest(placed, alike) == 1.0


def test_only_the_shards_of_a_lost_machine_move():
    present = {0: "a", 1: "b", 2: "gone", 3: "a"}
    placed = spread(range(4), {"a": Machine(2), "b": Machine(2)}, present)
    assert placed == {0: "a", 1: "b", 2: "b", 3: "a"}


def test_a_machine_that_is_ten_times_slower_is_left_where_that_pays():
    there = {"fast": Machine(2, 1.0), "slow": Machine(2, 10.0)}
    present = {0: "fast", 1: "fast", 2: "slow", 3: "slow"}
    assert set(spread(range(4), there, present).values()) == {"fast"}


def test_a_gain_that_is_not_worthwhile_moves_nobody():
    there = {"a": Machine(1, 1.0), "b": Machine(1, WORTHWHILE - 0.01)}
    present = {0: "a", 1: "b"}
    assert spread(range(2), there, present) == present
