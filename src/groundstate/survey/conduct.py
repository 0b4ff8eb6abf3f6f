"""A survey from beginning to end: each module by itself, then those that need others with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from groundstate.survey.crew import Task, compile_all
from groundstate.survey.files import Collection, Found
from groundstate.survey.state import State
from groundstate.survey.trial import INCOMPLETE

MOST_LINKED = 16
"""Modules in one program."""


def conduct(
    collection: Collection,
    chosen: Sequence[Found],
    state: State,
    widths: Sequence[int],
    jobs: int,
    limit_s: int,
    progress: Callable[[int], None],
) -> None:
    """Compiles the chosen modules of which nothing is known yet; `progress` is told how many are
    done."""
    known = state.made

    def compile_some(tasks: list[Task], done: int) -> None:
        for task, outcome in compile_all(tasks, widths, jobs, limit_s, known):
            state.note(task.digest, outcome)
            done += 1
            progress(done)

    tasks = [
        Task(each.digest, (each.data,)) for each in chosen if each.digest not in state.outcomes
    ]
    compile_some(tasks, len(chosen) - len(tasks))
    parts: dict[str, tuple[bytes, ...]] = {each.digest: (each.data,) for each in chosen}
    while tasks := list(_completed(collection, chosen, state, parts)):
        parts |= {task.digest: task.parts for task in tasks}
        compile_some(tasks, len(chosen) - len(tasks))


def _completed(
    collection: Collection,
    chosen: Iterable[Found],
    state: State,
    parts: dict[str, tuple[bytes, ...]],
) -> Iterable[Task]:
    """Modules that lack something, each with one more that has it, from the same file."""
    exporting = {
        (collection.modules[digest].file, name): collection.modules[digest].data
        for digest, outcome in state.outcomes.items()
        if digest in collection.modules
        for name in outcome.exports
    }
    for found in chosen:
        outcome = state.outcomes[found.digest]
        if outcome.result != INCOMPLETE:
            continue
        other = exporting.get((found.file, outcome.needs))
        so_far = parts[found.digest]
        if other is not None and other not in so_far and len(so_far) < MOST_LINKED:
            yield Task(found.digest, (*so_far, other))
