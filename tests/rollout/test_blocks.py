"""Blocks: work sees so many rows at a time, and what comes back is as many as were given."""

import pytest
import torch

from lanista.rollout.inference.row_blocks import BLOCK, in_blocks, in_whole_blocks, one_thread


def worked(how, rows, size=4):
    """Return what two tensors become, and the sizes and the sums that the work saw."""
    seen = []

    def work(one, other):
        seen.append((len(one), len(other), int(one.sum())))
        return one * 2, other + 1, one.sum(1) - other

    numbers = torch.arange(1.0, rows + 1)
    found = how(work, size, numbers[:, None].expand(-1, 3), numbers)
    return numbers, found, seen


@pytest.mark.parametrize("how", [in_blocks, in_whole_blocks])
@pytest.mark.parametrize("rows", [0, 1, 3, 4, 5, 8, 10])
def test_work_in_blocks_gives_what_it_gives_at_once(how, rows):
    numbers, (doubled, following, rest), _ = worked(how, rows)
    assert doubled.shape == (rows, 3)
    assert torch.equal(doubled, 2 * numbers[:, None].expand(-1, 3))
    assert torch.equal(following, numbers + 1)
    assert torch.equal(rest, 2 * numbers)


@pytest.mark.parametrize(("rows", "blocks"), [(0, 1), (1, 1), (4, 1), (5, 2), (8, 2), (10, 3)])
def test_every_block_is_whole_and_filled_up_with_zeros(rows, blocks):
    total = 3 * rows * (rows + 1) // 2
    _, _, seen = worked(in_blocks, rows)
    assert [sizes for *sizes, _ in seen] == [[4, 4]] * blocks
    assert sum(added for *_, added in seen) == total
    _, _, seen = worked(in_whole_blocks, rows)
    assert seen == [(4 * blocks, 4 * blocks, total)]


def test_one_thread_is_used_meanwhile_and_as_many_as_before_afterwards():
    before, counts = torch.get_num_threads(), []

    def fail():
        with one_thread():
            counts.append(torch.get_num_threads())
            raise ZeroDivisionError

    torch.set_num_threads(2)
    try:
        with pytest.raises(ZeroDivisionError):
            fail()
        assert [*counts, torch.get_num_threads()] == [1, 2]
    finally:
        torch.set_num_threads(before)


def test_a_block_has_64_rows():
    assert BLOCK == 64  # Another size rounds otherwise, and recorded matches would not replay.
