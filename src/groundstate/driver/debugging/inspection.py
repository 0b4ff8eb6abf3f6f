"""What a stopped work-item has: its calls, its variables and who it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundstate.compiler.spirv.types import Pointer, Type
from groundstate.compiler.step.source_types import (
    SourceType,
    SourceTypes,
    SourceVariable,
    of_module,
)
from groundstate.compiler.step.values import encode
from groundstate.driver.debugging.values import ULONG, EvaluationError, Result, encoded

if TYPE_CHECKING:
    from groundstate.compiler.ir import Node
    from groundstate.compiler.ir.location import Location
    from groundstate.compiler.step.code import StepCode
    from groundstate.compiler.step.work_item import Declared, WorkItem

AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Frame:
    """A call that a work-item is in, the innermost first."""

    function: str
    file: str
    line: int
    column: int
    location: Location | None


class Names:
    """What the variables of a kernel are called, and of what types they are."""

    def __init__(self, code: StepCode) -> None:
        self.code = code
        self._types = [SourceTypes(module) for module in code.program.modules]
        self._variables: dict[Node, SourceVariable | None] = {}
        self.arguments: dict[str, SourceType] = {}
        """The types of the kernel's arguments in the source, as far as they are known."""
        wanted = {each.name for each in code.signature.arguments}
        for node in code.kernel.nodes():
            if node.op == "DebugDeclare" and len(self.arguments) < len(wanted):
                found = self.variable(node)
                if found is not None and found.type is not None and found.name in wanted:
                    self.arguments.setdefault(found.name, found.type)

    def variable(self, node: Node) -> SourceVariable | None:
        """The variable of the source that a node tells of."""
        if node not in self._variables:
            _, home, identifier = node.literals
            found = self._types[int(str(home))].variable(int(str(identifier)))
            self._variables[node] = found
        return self._variables[node]

    def type_of(self, node: Node) -> SourceType:
        """The type of what a node tells of."""
        found = self.variable(node)
        if found is not None and found.type is not None:
            return found.type
        kind: Type | None = node.operands[0].type
        if node.literals[0] == "declare" and isinstance(kind, Pointer):
            kind = kind.pointee
        return of_module(kind)


def frames(item: WorkItem) -> list[Frame]:
    """The calls that a work-item is in. Where it has not begun: the place it will begin at."""
    place = item.location
    if not item.is_over and not item.shows_last and item.instruction.location is not None:
        place = item.instruction.location
    if place is None:
        return [Frame(item.group.code.name, "", 0, 0, None)]
    return [
        Frame(each.function or item.group.code.name, each.file, each.line, each.column, each)
        for each in item.group.code.frames(place)
    ]


def locals_of(item: WorkItem, names: Names, frame: int = 0) -> dict[str, Result]:
    """The variables that can be seen in a call, the innermost of each name."""
    calls = frames(item)
    if not 0 <= frame < len(calls):
        raise EvaluationError(f"there is no frame {frame}; there are {len(calls)}")
    place = calls[frame].location
    found: dict[str, Result] = {}
    for declared in item.declared.values():
        here = declared.node.location
        if here is None or place is None or here.caller is not place.caller:
            continue
        variable = names.variable(declared.node)
        if variable is not None and variable.name:
            found.pop(variable.name, None)
            found[variable.name] = _value(declared, names)
    if frame == len(calls) - 1:
        for name, result in (arguments_of(item, names) | shared_of(item)).items():
            found.setdefault(name, result)
    return found


def _value(declared: Declared, names: Names) -> Result:
    kind = names.type_of(declared.node)
    if declared.node.literals[0] == "declare" and isinstance(declared.value, int):
        return Result(kind, declared.value)
    data = encode(declared.node.operands[0].type, declared.value)
    return Result(kind, 0, data.ljust(kind.size, b"\0"))


def arguments_of(item: WorkItem, names: Names) -> dict[str, Result]:
    """The arguments of the kernel, as they were when the group began."""
    code = item.group.code
    found: dict[str, Result] = {}
    for index, argument in enumerate(code.signature.arguments):
        kind, value = code.argument_types[index], item.group.argument(index)
        known = names.arguments.get(argument.name)
        if argument.kind == "value" and isinstance(kind, Pointer) and isinstance(value, int):
            found[argument.name] = Result(known or of_module(kind.pointee), value)
        else:
            source = known or of_module(kind)
            found[argument.name] = Result(source, 0, encode(kind, value).ljust(source.size, b"\0"))
    return found


def shared_of(item: WorkItem) -> dict[str, Result]:
    """The variables in local memory."""
    group = item.group
    return {
        name: Result(of_module(kind), group.local + offset)
        for name, (offset, kind) in group.code.locals.items()
        if name
    }


def ids_of(item: WorkItem) -> dict[str, tuple[int, ...]]:
    """Who a work-item is, in OpenCL's words."""
    group = item.group
    return {
        "global_id": item.global_id,
        "local_id": item.local_id,
        "group_id": group.id,
        "sub_group_id": (item.subgroup,),
        "sub_group_local_id": (item.lane,),
        "local_size": group.size,
        "num_groups": group.launch.groups,
        "global_offset": group.launch.offset,
        "global_size": tuple(a * b for a, b in zip(group.size, group.launch.groups, strict=True)),
    }


def id_value(item: WorkItem, name: str, axis: int) -> Result:
    """A component of who it is."""
    known = ids_of(item)
    if name not in known:
        raise EvaluationError(f"there is no get_{name}(); there are " + ", ".join(known))
    values = known[name]
    number = values[axis] if 0 <= axis < len(values) else int(name.endswith("size"))
    return Result(ULONG, 0, encoded(ULONG, number))
