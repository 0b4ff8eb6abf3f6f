"""Bars for work that takes a while."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from groundstate import knobs
from groundstate.printable import printable


def is_watched() -> bool:
    """Whether somebody looks, and wants to know how far a command is."""
    return sys.stderr is not None and sys.stderr.isatty() and knobs.PROGRESS.get()


@contextmanager
def bar(title: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """A bar on standard error and how to move it; None if there is no work or nobody looks."""
    if not total or not is_watched():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(as_markup(title), total=total)
        yield lambda number: progress.update(task, completed=number)


def as_markup(text: str) -> str:
    """A name, of a file for example, for rich, which takes brackets in a title for styles."""
    from rich.markup import escape

    return escape(printable(text))
