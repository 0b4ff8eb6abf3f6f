"""A kernel's graph as text: the stage between SPIR-V and LLVM IR, for people.

Behind each value stands how it differs between lanes: nothing if it is the same in all, `+k` if it
goes up by k from lane to lane, `*` if each lane has its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from groundstate.compiler.analysis.divergence import VARYING, Divergence
from groundstate.compiler.ir import Block, Node
from groundstate.compiler.spirv.constants import Address, Constant
from groundstate.compiler.spirv.instructions import opencl_rows
from groundstate.compiler.spirv.module import Variable
from groundstate.compiler.spirv.opcodes import MemoryAccess
from groundstate.compiler.spirv.text import number_text
from groundstate.compiler.spirv.types import Type, Void

NAME_COLUMN, TYPE_COLUMN, SHAPE_COLUMN = 5, 12, 76


def graph_text(divergence: Divergence) -> Iterator[str]:
    """The lines of a kernel."""
    kernel, size = divergence.kernel, divergence.group_size
    sizes = " x ".join(map(str, size))
    lanes = f"{divergence.width} lanes" if divergence.width > 1 else "1 lane"
    yield f"kernel {kernel.name}: groups of {sizes}, {lanes}"
    for index, argument in enumerate(kernel.arguments):
        yield f"  argument {index}: {argument.type}"
    for block in kernel.blocks:
        yield ""
        yield _heading(block, divergence)
        for node in (*block.phis, *block.nodes):
            yield _line(node, divergence)
        yield f"  {_end(block)}"


def _heading(block: Block, divergence: Divergence) -> str:
    loop = divergence.cfg.loop_of.get(block)
    notes = []
    if loop is not None and loop.header is block:
        notes.append("head of a loop")
    if block in divergence.divergent_blocks:
        notes.append("only some lanes may be here")
    return f"block {block.index}:" + (f"  ; {', '.join(notes)}" if notes else "")


def _line(node: Node, divergence: Divergence) -> str:
    left = f"  {_result(node)}{_name(node)}"
    operands = [_operand(each) for each in node.operands]
    if node.op == "Phi":
        operands = [
            f"{value} from block {getattr(source, 'index', '?')}"
            for value, source in zip(operands, node.literals, strict=True)
        ]
    else:
        operands += _literals(node)
    text = f"{left} {', '.join(operands)}".rstrip()
    stride = "" if isinstance(node.type, Void) else _shape(node, divergence)
    return f"{text.ljust(SHAPE_COLUMN)} ; {stride}" if stride else text


def _result(node: Node) -> str:
    if isinstance(node.type, Void):
        return ""
    name, kind = f"%{node.index}".ljust(NAME_COLUMN), str(node.type).ljust(TYPE_COLUMN)
    return f"{name}= {kind} "


def _name(node: Node) -> str:
    """The instruction, or the function of OpenCL that it calls."""
    row = opencl_rows().get(int(str(node.literals[1]))) if node.op == "ExtInst" else None
    return row.name if row is not None else node.op


def _shape(node: Node, divergence: Divergence) -> str:
    stride = divergence.stride(node)
    if stride is VARYING:
        return "*"
    return f"+{stride}" if stride else ""


def _operand(node: Node) -> str:
    """How a value is named where it is used."""
    value = node.literals[0] if node.literals else None
    if node.op == "Constant" and isinstance(value, Constant):
        return _constant(value)
    if node.op == "Argument":
        return f"argument {value}"
    if node.op == "Undef":
        return "undefined"
    if node.op == "Global" and isinstance(value, Variable):
        return f"variable %{value.id}"
    return f"%{node.index}"


def _constant(constant: Constant) -> str:
    value = constant.value
    if constant.undef:
        return "undefined"
    if isinstance(value, int):
        return number_text(constant.type, value)
    if isinstance(value, Address):
        return f"address of %{value.base}" + (f" + {value.offset}" if value.offset else "")
    if isinstance(value, tuple):
        return "{" + ", ".join(map(_constant, value)) + "}"
    return "null"


def _literals(node: Node) -> list[str]:
    """What an instruction says in numbers and words."""
    if node.op in ("Load", "Store"):
        return _access([each for each in node.literals if isinstance(each, int)])
    literals = node.literals[2:] if node.op == "ExtInst" else node.literals
    return [text for each in literals if (text := _literal(each))]


def _access(numbers: list[int]) -> list[str]:
    flags = numbers[0] if numbers else 0
    words = ["volatile"] if flags & MemoryAccess.Volatile else []
    return (
        [*words, f"aligned {numbers[1]}"]
        if flags & MemoryAccess.Aligned and len(numbers) > 1
        else words
    )


def _literal(literal: object) -> str:
    if isinstance(literal, Node):
        return f"cell of %{literal.index}"
    return str(literal) if isinstance(literal, Type | int | str) else ""


def _end(block: Block) -> str:
    """What a block does last."""
    to = [f"block {each.index}" for each in block.successors]
    if not to:
        return "return"
    if block.condition is None or len(to) == 1:
        return f"go to {to[0]}"
    condition = _operand(block.condition)
    if block.switch is None:
        return f"if {condition} go to {to[0]}, else to {to[1]}"
    cases = [f"{value}: {label}" for value, label in zip(block.switch, to[1:], strict=True)]
    return f"switch {condition}: {', '.join([*cases, f'else {to[0]}'])}"
