"""Map a function over blocks, in order, with as many workers as asked: the only module that knows joblib."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from prereg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Block = TypeVar("Block")
Found = TypeVar("Found")


def map_blocks(
    function: Callable[[Block], Found],
    blocks: Sequence[Block],
    jobs: int,
    tick: Callable[[], None] = lambda: None,
) -> list[Found]:
    """The results in the order of the blocks; `tick` is called after each one.

    Workers are threads: the array work releases the interpreter lock, and nothing has to be copied.  The
    result does not depend on their number, because every block knows its own resamples.
    """
    if jobs <= 1 or len(blocks) <= 1:
        return list(_ticked(map(function, blocks), tick))
    try:
        from joblib import Parallel, delayed  # noqa: PLC0415 - 113 ms, and optional
    except ImportError:
        raise InputError("--jobs needs joblib: install `prereg-runner[parallel]`, or leave it at 1") from None
    workers = Parallel(n_jobs=jobs, prefer="threads", return_as="generator")
    return list(_ticked(workers(delayed(function)(block) for block in blocks), tick))


def _ticked(results: Iterator[Found], tick: Callable[[], None]) -> Iterator[Found]:
    for result in results:
        tick()
        yield result
