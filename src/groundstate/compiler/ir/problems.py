"""What in a kernel cannot be compiled, all of it, in words for a build log."""

from __future__ import annotations

from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Node
from groundstate.compiler.spirv.instructions import opencl_rows

MOST_SHOWN = 50
MARK = "; from "
"""How a remark in LLVM IR begins that says what the lines behind it were written for."""

BAD_OPERANDS = (AssertionError, TypeError, ValueError, LookupError, AttributeError)
"""What writers run into when the operands of an instruction are not what it takes."""


class Problems:
    """The problems of one kernel. The same instruction in a function counts once."""

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.lines: dict[str, set[Node]] = {}
        """The instructions about which each sentence is said."""

    def add(self, node: Node, problem: Exception) -> None:
        """Notes that an instruction could not be written."""
        reason = str(problem)
        if not isinstance(problem, BuildError):
            kind = type(problem).__name__
            reason = f"its operands are not what it takes ({kind}{': ' if reason else ''}{reason})"
        line = f"in function '{node.where}', {instruction_of(node)}: {reason}"
        self.lines.setdefault(line, set()).add(node)

    def check(self) -> None:
        """Raises BuildError if there are any."""
        if not self.lines:
            return
        shown = [line + _places(nodes) for line, nodes in list(self.lines.items())[:MOST_SHOWN]]
        left = len(self.lines) - len(shown)
        shown += [f"and {left} more"] if left else []
        raise BuildError("\n  ".join([f"kernel '{self.kernel}' cannot be compiled:", *shown]))


def place_of(node: Node) -> str:
    """An instruction, and where it stands."""
    at = f" at word {node.position}" if node.position else ""
    return f"function '{node.where}', {instruction_of(node)}{at}"


def _places(nodes: set[Node]) -> str:
    """How often something is so, and where first."""
    first = min((node.position for node in nodes if node.position), default=0)
    count = f"{len(nodes)} times" if len(nodes) > 1 else ""
    place = f"{'first ' if count else ''}at word {first}" if first else ""
    told = ", ".join(filter(None, (count, place)))
    return f" ({told})" if told else ""


def instruction_of(node: Node) -> str:
    """What the instruction that a node came from is called."""
    if node.op == "Refused":
        return str(node.literals[0])
    if node.op == "Copy":
        return f"Op{node.literals[0]}"
    if node.op == "Builtin":
        return f"OpLoad of {node.literals[0]}"
    if node.op == "ExtInst":
        row = opencl_rows().get(int(str(node.literals[1])))
        return f"OpExtInst {row.name}" if row is not None else "OpExtInst"
    return f"Op{node.op}"
