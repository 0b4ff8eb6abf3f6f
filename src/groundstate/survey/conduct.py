"""A survey from beginning to end: each module by itself, then those that need others with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress

from groundstate.compiler.errors import BuildError
from groundstate.compiler.spirv import read
from groundstate.survey.crew import Task
from groundstate.survey.files import Collection, Found
from groundstate.survey.state import State
from groundstate.survey.trial import INCOMPLETE, Outcome

MOST_LINKED = 16
"""Modules in one program."""
Exports = dict[tuple[str, str], bytes]
"""Modules by their file and the name of something that they define for others."""
CompileAll = Callable[[Sequence[Task], dict[str, float]], Iterator[tuple[Task, Outcome]]]
"""Compiles modules somewhere, and tells of each as it is done. It is given what LLVM has compiled
already, and the seconds that took, and adds to that."""


def conduct(
    collection: Collection,
    chosen: Sequence[Found],
    state: State,
    compile_all: CompileAll,
    progress: Callable[[int], None],
) -> None:
    """Compiles the chosen modules of which nothing is known yet; `progress` is told how many are
    done."""
    known = state.made

    def compile_some(tasks: list[Task], done: int) -> None:
        for task, outcome in compile_all(tasks, known):
            state.note(task.digest, outcome)
            done += 1
            progress(done)

    tasks = [
        Task(each.digest, (each.data,)) for each in chosen if each.digest not in state.outcomes
    ]
    compile_some(tasks, len(chosen) - len(tasks))
    parts: dict[str, tuple[bytes, ...]] = {each.digest: (each.data,) for each in chosen}
    lacking = [each for each in chosen if state.outcomes[each.digest].result == INCOMPLETE]
    exported = exports(collection, {each.file for each in lacking})
    while tasks := list(_completed(lacking, exported, state, parts)):
        parts |= {task.digest: task.parts for task in tasks}
        compile_some(tasks, len(chosen) - len(tasks))


def exports(collection: Collection, files: Set[str]) -> Exports:
    """Which modules of some files have something to offer to others."""
    found: Exports = {}
    for each in collection.modules.values():
        if each.file in files:
            with suppress(BuildError):  # what cannot be read can be of no help
                for name in read(each.data).exports.values():
                    found.setdefault((each.file, name), each.data)
    return found


def _completed(
    lacking: Iterable[Found],
    exported: Exports,
    state: State,
    parts: Mapping[str, tuple[bytes, ...]],
) -> Iterable[Task]:
    """Modules that lack something, each with one more that has it, from the same file."""
    for found in lacking:
        outcome = state.outcomes[found.digest]
        if outcome.result != INCOMPLETE:
            continue
        other = exported.get((found.file, outcome.needs))
        so_far = parts[found.digest]
        if other is not None and other not in so_far and len(so_far) < MOST_LINKED:
            yield Task(found.digest, (*so_far, other))
