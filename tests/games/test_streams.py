"""The streams against a slow twin written from SplitMix64's definition in plain Python."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanista.games.streams import PURPOSES, Stream, key_of

WORD = 2**64
WORDS = st.integers(0, WORD - 1)


def mixed(word):
    """SplitMix64's finaliser (Steele, Lea and Flood 2014, variant 13)."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB % WORD
    return word ^ word >> 31


class SlowStream:
    def __init__(self, word):
        self.word = word

    def next_word(self):
        self.word = (self.word + 0x9E3779B97F4A7C15) % WORD
        return mixed(self.word)

    def below(self, n):
        return (self.next_word() >> 32) * n >> 32

    def uniform(self):
        return (self.next_word() >> 11) / 2**53


def slow_key(seed, match, seat, purpose, turn):
    key = mixed((seed + 0x9E3779B97F4A7C15) % WORD)
    key = mixed(key ^ (match + 0xD1B54A32D192ED03) % WORD)
    return mixed(key ^ (purpose << 56 | seat << 48 | turn))


def test_words_are_those_published_for_splitmix64_from_zero():
    stream = Stream(0)
    assert [stream.next_word() for _ in range(3)] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]


@given(WORDS)
def test_words_equal_the_slow_twin(word):
    fast, slow = Stream(word), SlowStream(word)
    for _ in range(5):
        assert fast.next_word() == slow.next_word()
        assert fast.state == slow.word


@given(WORDS, st.integers(1, 2**32 - 1))
def test_below_equals_the_slow_twin_and_stays_in_range(word, n):
    fast, slow = Stream(word), SlowStream(word)
    for _ in range(5):
        drawn = fast.below(n)
        assert drawn == slow.below(n)
        assert 0 <= drawn < n


@given(WORDS)
def test_uniform_equals_the_slow_twin(word):
    assert Stream(word).uniform() == SlowStream(word).uniform()


@given(WORDS)
def test_normal_is_twelve_uniforms_less_six(word):
    slow = SlowStream(word)
    total = -6.0
    for _ in range(12):
        total += slow.uniform()
    assert Stream(word).normal() == total


@given(
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**63 - 1),
    st.integers(0, 255),
    st.sampled_from(sorted(PURPOSES)),
    st.integers(0, 2**31 - 1),
)
def test_keys_equal_the_slow_twin(seed, match, seat, purpose, turn):
    assert key_of(seed, match, seat, purpose, turn) == slow_key(
        seed, match, seat, PURPOSES[purpose], turn
    )


def test_golden_keys_stay_as_they_are():
    assert key_of(0, 0, 0, "chance") == 0x66AC46C1AB0B58CA
    assert key_of(7, 1000, 3, "act", 12) == 0x0E711F7BE7342FDF


def test_keys_differ_by_each_component():
    parts = itertools.product((0, 1, 2), (0, 1, 2), (0, 1, 2), sorted(PURPOSES), (0, 1, 2))
    keys = [key_of(*part) for part in parts]
    assert len(set(keys)) == len(keys) == 3**4 * len(PURPOSES)


def test_a_keyed_stream_starts_at_its_key():
    assert Stream.keyed(1, 2, 3, "think", 4).state == key_of(1, 2, 3, "think", 4)


def test_a_purpose_that_is_not_known_is_refused():
    with pytest.raises(KeyError):
        Stream.keyed(0, 0, 0, "guess")


def chi_square(counts):
    expected = sum(counts) / len(counts)
    return sum((count - expected) ** 2 / expected for count in counts)


def test_below_is_roughly_even():
    stream, counts = Stream(5), [0] * 10
    for _ in range(20_000):
        counts[stream.below(10)] += 1
    # 33.7 is the 0.9999 quantile of chi-square with 9 degrees of freedom.
    assert chi_square(counts) < 33.7


def test_first_draws_of_neighbouring_streams_are_roughly_even():
    counts = [0] * 10
    for match in range(20_000):
        counts[Stream.keyed(0, match, 0, "chance").below(10)] += 1
    assert chi_square(counts) < 33.7


def test_normal_has_mean_zero_and_variance_one():
    stream = Stream(9)
    values = [stream.normal() for _ in range(20_000)]
    mean = sum(values) / len(values)
    variance = sum(value * value for value in values) / len(values)
    assert abs(mean) < 4.5 / len(values) ** 0.5
    assert abs(variance - 1) < 0.05


@pytest.mark.parametrize("n", [0, -1, 2**32])
def test_below_refuses_what_it_cannot_draw_from(n):
    with pytest.raises(ValueError, match="0 < n"):
        Stream(0).below(n)


def test_setting_the_state_takes_a_stream_up_where_it_was():
    stream = Stream(3)
    stream.next_word()
    state = stream.state
    rest = [stream.next_word() for _ in range(4)]
    other = Stream(0)
    other.state = state
    assert [other.next_word() for _ in range(4)] == rest


def test_shuffle_is_fisher_yates_from_the_end():
    slow, expected = SlowStream(11), list(range(9))
    for i in range(8, 0, -1):
        j = slow.below(i + 1)
        expected[i], expected[j] = expected[j], expected[i]
    items = list(range(9))
    Stream(11).shuffle(items)
    assert items == expected


def test_every_order_of_three_comes_up_about_equally_often():
    stream, counts = Stream(2), {}
    for _ in range(6_000):
        items = [0, 1, 2]
        stream.shuffle(items)
        counts[tuple(items)] = counts.get(tuple(items), 0) + 1
    assert len(counts) == 6
    # 25.7 is the 0.9999 quantile of chi-square with 5 degrees of freedom.
    assert chi_square(list(counts.values())) < 25.7


def test_choice_takes_the_item_that_below_names():
    items = ["a", "b", "c", "d", "e"]
    assert Stream(4).choice(items) == items[SlowStream(4).below(5)]
