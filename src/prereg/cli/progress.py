"""A bar on standard error while something takes long, and nothing where nobody watches."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def progress(name: str, *, quiet: bool) -> Iterator[tuple[Callable[[str], None], Callable[[int], None]]]:
    """(say what is being done, one more of so many is done)."""
    if quiet or not sys.stderr.isatty():
        yield (lambda _: None), (lambda _: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(file=sys.stderr, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=None)

        def tick(total: int) -> None:
            bar.update(task, total=total, advance=1)

        yield (lambda stage: bar.update(task, description=f"{name}: {stage}")), tick
