"""Learners in several processes that learn as one: who works on which shard, and the exchange.

Every rank has the whole of a learner and is told all that the first one does. Each works on its own
shards; what comes of them is exchanged and merged in the shards' order, so all ranks take the same
step, which is the one that a single rank takes. Knows nothing of losses and of networks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor

from lanista.errors import LanistaError
from lanista.learn.update.packing import packed, unpacked

LONGEST_SILENCE = timedelta(hours=2)
"""How long a rank waits for the others; the first one may collect and evaluate meanwhile."""
JOINING = timedelta(minutes=2)
"""How long ranks wait for each other at the start."""
_BETWEEN_LOOKS = 0.02
_JOINED = "joined"
T = TypeVar("T")


class LostRankError(LanistaError):
    """Another rank is gone, or does not answer."""

    exit_code = 1


class BrokenRankError(LanistaError):
    """A shard could not be learned from; says why."""

    exit_code = 1


class Ranks:
    """One process that does all of the work."""

    rank, size = 0, 1
    alone = True
    """Whether nothing is exchanged with anybody."""
    device = torch.device("cpu")
    """Where the learner's tensors lie."""

    def own(self, count: int) -> range:
        """Return which of `count` shards are this rank's."""
        return range(self.rank, count, self.size)

    def tell(self, what: str, value: Any = None) -> None:
        """Tell the other ranks what the first one does; they do it too."""

    def heard(self) -> tuple[str, Any]:
        """Return what the first rank tells next."""
        raise LostRankError("There is no other rank that could say what to do.")

    def exchanged(self, entries: Sequence[Any]) -> list[Any]:
        """Return the entries of all ranks in order, of which each has its own; None elsewhere."""
        return list(entries)

    def close(self) -> None:
        """Let the other ranks go."""


class TorchRanks(Ranks):
    """Processes that are joined by torch's distributed package."""

    alone = False

    def __init__(
        self,
        rank: int,
        size: int,
        host: str,
        port: int,
        others_run: Callable[[], bool] = lambda: True,
    ) -> None:
        """Join `size` ranks, the first of which is at `host`; wait a while until all are there.

        Give up sooner where the others do not run.

        What lies on the CPU goes by gloo, what lies on a GPU by NCCL.
        """
        from torch import distributed

        self.rank, self.size = rank, size
        self._torch = distributed
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        try:
            store = distributed.TCPStore(  # type: ignore[attr-defined]
                host, port, size, rank == 0, JOINING, wait_for_workers=False
            )
            _wait_for_all(store, size, others_run)
            distributed.init_process_group(
                backend, store=store, rank=rank, world_size=size, timeout=LONGEST_SILENCE
            )
        except (RuntimeError, ValueError) as error:
            raise LostRankError(
                f"Rank {rank} cannot join the other ranks at {host}:{port}: {_why(error)}."
            ) from error
        self._is_open = True

    def tell(self, what: str, value: Any = None) -> None:
        """Send to all others; the first rank alone does."""
        if self.rank:
            return
        described, data = packed([what, value], torch.device("cpu"))
        sizes = torch.tensor([len(described), len(data)])
        with self._together():
            self._torch.broadcast(sizes, 0)
            self._torch.broadcast(_bytes(described), 0)
            self._torch.broadcast(data, 0)

    def heard(self) -> tuple[str, Any]:
        """Return what the first rank tells next."""
        sizes = torch.empty(2, dtype=torch.int64)
        with self._together():
            self._torch.broadcast(sizes, 0)
            described, data = (torch.empty(size, dtype=torch.uint8) for size in sizes.tolist())
            self._torch.broadcast(described, 0)
            self._torch.broadcast(data, 0)
        what, value = unpacked(described.numpy().tobytes(), data)
        return what, value

    def exchanged(self, entries: Sequence[Any]) -> list[Any]:
        """Return the entries of all ranks in order."""
        mine = [[number, entry] for number, entry in enumerate(entries) if entry is not None]
        described, data = packed(mine, self.device)
        sizes = self._gathered(torch.tensor([len(described), len(data)]))
        longest = torch.stack(sizes).amax(0).tolist()
        descriptions = self._gathered(_padded(_bytes(described), longest[0]))
        contents = self._gathered(_padded(data, longest[1]))
        merged = list(entries)
        for size, description, content in zip(sizes, descriptions, contents, strict=True):
            text = description[: int(size[0])].numpy().tobytes()
            for number, entry in unpacked(text, content[: int(size[1])]):
                merged[number] = entry
        return merged

    def close(self) -> None:
        """Say good-bye; the others end too."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            if not self.rank:
                self.tell("end")
        except LostRankError:
            pass  # They are gone already.
        finally:
            self._torch.destroy_process_group()

    def _gathered(self, mine: Tensor) -> list[Tensor]:
        every = [torch.empty_like(mine) for _ in range(self.size)]
        with self._together():
            self._torch.all_gather(every, mine)
        return every

    @contextmanager
    def _together(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            self._is_open = False
            raise LostRankError(
                f"A rank is gone: rank {self.rank} of {self.size} no longer reaches the others "
                f"({_why(error)}). Start all of them again; a run goes on with --resume."
            ) from error


def merged(ranks: Ranks, work: Callable[[], Sequence[T | None]], count: int) -> list[T]:
    """Return the results of all ranks; where a shard could not be learned from, all raise.

    `work` gives this rank's results, None in the places of others.
    """
    if ranks.alone:
        return [result for result in work() if result is not None]
    try:
        results: list[Any] = [None if entry is None else ["done", entry] for entry in work()]
    except LanistaError as error:
        results = [None] * count
        results[ranks.own(count)[0]] = ["broken", str(error)]
    every = ranks.exchanged(results)
    for entry in every:
        if entry is not None and entry[0] == "broken":
            raise BrokenRankError(entry[1])
    return [entry[1] for entry in every]


def checksum(tensors: Sequence[Tensor]) -> int:
    """Return a number that differs, most likely, where any bit of the tensors does."""
    total = torch.zeros((), dtype=torch.int64)
    for number, tensor in enumerate(tensors, start=1):
        words = tensor.detach().contiguous().view(-1).view(torch.int32).to(torch.int64)
        places = torch.arange(1, len(words) + 1, device=words.device) % 65521
        total = total + number * (words * places).sum().cpu()
    return int(total)


def _wait_for_all(store: Any, size: int, others_run: Callable[[], bool]) -> None:
    last = time.monotonic() + JOINING.total_seconds()
    store.add(_JOINED, 1)
    while (count := store.add(_JOINED, 0)) < size:
        if not others_run():
            raise RuntimeError("one of them ended before it joined")
        if time.monotonic() > last:
            raise RuntimeError(f"{count} of {size} came in {JOINING.total_seconds():.0f} seconds")
        time.sleep(_BETWEEN_LOOKS)


def _bytes(data: bytes) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def _padded(data: Tensor, length: int) -> Tensor:
    return torch.cat([data, data.new_zeros(length - len(data))])


def _why(error: Exception) -> str:
    return " ".join(str(error).split("\n")[0].split())[:200].rstrip(".")
