"""Passes as data, and the analyses that they share.

A pass is a name, a function that changes a kernel, and the analyses that stay true when it has.
An analysis is computed when somebody asks for it, and kept until a pass changes the kernel and does
not say that the analysis stays true. `pipeline.py` has the passes in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, Self, TypeVar, cast

from groundstate.compiler.ir import deadline
from groundstate.compiler.ir.kernel import Kernel
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.target import Target

GroupSize = tuple[int, int, int]


@light_dataclass()
class Variant:
    """What a kernel is compiled for."""

    group_size: GroupSize
    width: int
    """How many work-items run side by side: the lanes of a vector."""
    subgroup: int
    """How many work-items a sub-group has for the program: one vector of lanes or several."""
    refills: bool = False
    """Whether lanes that are done take the next work-items while the others go on."""
    axis: int | None = None
    """Along which axis of the group lanes lie, if not the first that it extends along."""


class Analysis(Protocol):
    """Something that is known of a kernel."""

    @classmethod
    def compute(cls, analyses: Analyses) -> Self:
        """Finds it out."""


A = TypeVar("A", bound=Analysis)


class Analyses:
    """What is known of a kernel, as long as it is true."""

    def __init__(self, kernel: Kernel, target: Target, variant: Variant | None = None) -> None:
        self.kernel = kernel
        self.target = target
        self._variant = variant
        self._known: dict[type, Any] = {}

    @property
    def variant(self) -> Variant:
        """What the kernel is compiled for; passes that run for all variants must not ask."""
        assert self._variant is not None, "this pass runs before the group size is known"
        return self._variant

    def get(self, kind: type[A]) -> A:
        """An analysis, computed if it is not known."""
        if kind not in self._known:
            deadline.check()
            self._known[kind] = kind.compute(self)
        return cast(A, self._known[kind])

    def put(self, analysis: object) -> None:
        """Takes an analysis that somebody has made."""
        self._known[type(analysis)] = analysis

    def invalidate(self, keeps: Iterable[type] = ()) -> None:
        """Forgets everything, but for what is still true: the kernel has changed."""
        self._known = {kind: self._known[kind] for kind in keeps if kind in self._known}


Run = Callable[[Kernel, Analyses], bool]
"""Changes a kernel; true if anything is different."""


@light_dataclass()
class Pass:
    """One step of the pipeline."""

    name: str
    run: Run
    keeps: tuple[type, ...] = ()
    """The analyses that are still true when it has changed a kernel."""
    is_optional: bool = False
    """Whether a kernel computes the same without it."""

    @property
    def summary(self) -> str:
        """The first line of what is said about it."""
        return (self.run.__doc__ or "").partition("\n")[0]


class Observer:
    """Looks on while passes run: prints, verifies, or takes the time."""

    def before(self, step: Pass, kernel: Kernel) -> None:
        """Called before a pass."""

    def after(self, step: Pass, kernel: Kernel, changed: bool) -> None:
        """Called after a pass."""


observers: list[Observer] = []
"""Who looks on. Empty but in tests, and for `groundstate compile --verify` and its like."""


class Selection:
    """Which of the optional passes run: all, unless somebody says otherwise."""

    def __init__(self) -> None:
        self.names: frozenset[str] | None = None

    def includes(self, step: Pass) -> bool:
        """Whether a pass runs."""
        return not step.is_optional or self.names is None or step.name in self.names


selection = Selection()


def run_passes(passes: Iterable[Pass], kernel: Kernel, analyses: Analyses) -> None:
    """Runs passes in order, as long as there is time."""
    for step in filter(selection.includes, passes):
        for observer in observers:
            observer.before(step, kernel)
        deadline.check()
        changed = step.run(kernel, analyses)
        if changed:
            kernel.reorder()
            analyses.invalidate(step.keeps)
        for observer in observers:
            observer.after(step, kernel, changed)
