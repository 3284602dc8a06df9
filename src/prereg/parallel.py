"""Map a function over blocks, in order, with as many workers as asked: the only module that knows joblib."""

from __future__ import annotations

from importlib.util import find_spec
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
    out = []
    for result in each(function, blocks, jobs, "threads"):
        tick()
        out.append(result)
    return out


def ready(jobs: int) -> None:
    """Refuse a number of workers that cannot be had, before anything is begun.

    Raises:
        InputError: where they need joblib and it is not installed.

    """
    if jobs > 1 and find_spec("joblib") is None:
        raise InputError("--jobs needs joblib: install `prereg-runner[parallel]`, or leave it at 1")


def each(
    function: Callable[[Block], Found], items: Sequence[Block], jobs: int, prefer: str = "processes"
) -> Iterator[Found]:
    """The results one by one, in the order of the items, as they are ready."""
    if jobs <= 1 or len(items) <= 1:
        yield from map(function, items)
        return
    ready(jobs)
    from joblib import Parallel, delayed  # noqa: PLC0415 - 113 ms, and optional

    yield from Parallel(n_jobs=jobs, prefer=prefer, return_as="generator")(
        delayed(function)(x) for x in items
    )
