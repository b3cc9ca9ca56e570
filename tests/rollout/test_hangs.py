"""When a shard is taken for hung."""

from lanista.rollout.launchers.hangs import LAST, TIMES_SLOWEST, HangWatch


def test_a_shard_is_hung_when_it_kept_the_driver_waiting_for_so_long():
    watch = HangWatch(10.0)
    watch.played(0.5)
    assert watch.waited(6.0, [0, 1]) == []
    watch.answered(1)
    assert watch.waited(4.0, [0, 1]) == [0]


def test_time_counts_from_the_question_on():
    watch = HangWatch(10.0)
    watch.played(0.5)
    assert watch.waited(9.0, []) == []
    assert watch.waited(9.0, [0]) == []
    assert watch.waited(9.0, []) == []  # It answered, or moved.
    assert watch.waited(9.0, [0]) == []


def test_nobody_is_hung_who_takes_less_than_several_times_the_slowest_chunk():
    watch = HangWatch(10.0)
    watch.played(7.0)
    watch.played(3.0)
    assert watch.limit == TIMES_SLOWEST * 7.0
    assert watch.waited(TIMES_SLOWEST * 7.0 - 1.0, [0]) == []
    assert watch.waited(1.0, [0]) == [0]


def test_what_a_chunk_once_took_is_forgotten_after_many_others():
    watch = HangWatch(10.0)
    watch.played(7.0)
    for _ in range(LAST - 1):
        watch.played(0.5)
    assert watch.limit == TIMES_SLOWEST * 7.0
    watch.played(0.5)
    assert watch.limit == 10.0


def test_of_many_shards_the_fast_do_not_push_out_what_the_slow_took():
    shards = 200
    watch = HangWatch(10.0, shards)
    watch.played(7.0)
    for _ in range(10 * shards):  # Ten rounds of all the others, while a slow one plays its next.
        watch.played(0.5)
    assert watch.limit == TIMES_SLOWEST * 7.0


def test_until_the_first_chunk_came_the_limit_is_much_longer():
    watch = HangWatch(10.0)
    assert watch.limit == TIMES_SLOWEST * 10.0
    watch.played(0.1)
    assert watch.limit == 10.0
