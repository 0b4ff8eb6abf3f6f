"""Observers of passes: text before and after, times, and the verifier."""

from __future__ import annotations

import sys
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Sequence

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.ir import Kernel
from groundstate.compiler.ir.passes import Observer, Pass
from groundstate.compiler.ir.printer import print_kernel
from groundstate.compiler.ir.verifier import VerifierError, verify


class _Seen(threading.local):
    """A kernel before a pass. Threads compile side by side, each its own."""

    verified: Kernel | None = None
    nodes: Sequence[object] = ()
    edges: Sequence[object] = ()


class Verifier(Observer):
    """Verifies the kernel after every pass, and that the pass says the truth about what it did."""

    def __init__(self) -> None:
        self._seen = _Seen()

    def before(self, step: Pass, kernel: Kernel) -> None:
        seen = self._seen
        if kernel is not seen.verified:  # a pass is not to blame for what it is given
            verify(kernel, f"what comes before {step.name}")
            seen.verified = kernel
        seen.nodes, seen.edges = _nodes(kernel), _edges(kernel)

    def after(self, step: Pass, kernel: Kernel, changed: bool) -> None:
        verify(kernel, step.name)
        if not changed and (_nodes(kernel), _edges(kernel)) != (self._seen.nodes, self._seen.edges):
            raise VerifierError(
                f"after {step.name}, kernel {kernel.name!r}: the pass says that it has changed "
                "nothing, and it has"
            )
        if CFG in step.keeps and _edges(kernel) != self._seen.edges:
            raise VerifierError(
                f"after {step.name}, kernel {kernel.name!r}: the pass says that it keeps the "
                "control-flow graph, and it does not"
            )


def _nodes(kernel: Kernel) -> list[object]:
    """What changes when a node does."""
    return [(node, node.op, node.type, *node.operands, node.literals) for node in kernel.nodes()]


def _edges(kernel: Kernel) -> list[object]:
    """What changes when the control-flow graph does."""
    return [
        (block, block.condition is None, *block.successors, block.switch) for block in kernel.blocks
    ]


class PassPrinter(Observer):
    """Prints the kernel before or after some passes."""

    def __init__(self, before: Collection[str], after: Collection[str]) -> None:
        self._before = before
        self._after = after

    def before(self, step: Pass, kernel: Kernel) -> None:
        if step.name in self._before or "all" in self._before:
            sys.stderr.write(f"; before {step.name}\n{print_kernel(kernel)}\n")

    def after(self, step: Pass, kernel: Kernel, changed: bool) -> None:
        if step.name in self._after or ("all" in self._after and changed):
            said = "" if changed else ", which changed nothing"
            sys.stderr.write(f"; after {step.name}{said}\n{print_kernel(kernel)}\n")


class PassTimer(Observer):
    """Takes the time of each pass."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.changes: dict[str, int] = defaultdict(int)
        self._start = 0.0

    def before(self, step: Pass, kernel: Kernel) -> None:
        self._start = time.perf_counter()

    def after(self, step: Pass, kernel: Kernel, changed: bool) -> None:
        self.seconds[step.name] += time.perf_counter() - self._start
        self.changes[step.name] += changed

    def table(self) -> str:
        """The times, longest first."""
        total = sum(self.seconds.values())
        lines = [f"{'pass':24} {'ms':>8}  {'share':>5}  kernels changed"]
        for name, seconds in sorted(self.seconds.items(), key=lambda item: -item[1]):
            share = 100 * seconds / total if total else 0
            lines.append(f"{name:24} {1e3 * seconds:8.2f}  {share:4.0f} %  {self.changes[name]}")
        return "\n".join([*lines, f"{'all passes':24} {1e3 * total:8.2f}"])
