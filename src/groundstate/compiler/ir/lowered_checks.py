"""What rows look at when a kernel has been lowered: why no code can be generated for a node.

By then calls are inlined, copies are gone and what was known has been put in: scopes, formats and
tables that must be constants are. So a kernel that passes has code for every group size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundstate.compiler.ir.kernel import Node, constant_int
from groundstate.compiler.ir.operation import ROWS
from groundstate.compiler.ir.type_rules import components_of
from groundstate.compiler.spirv.module import Variable
from groundstate.compiler.spirv.opcodes import Dim, Scope, StorageClass
from groundstate.compiler.spirv.types import Image, Int, SampledImage, Type

if TYPE_CHECKING:
    from groundstate.compiler.ir.operation import Check
    from groundstate.compiler.ir.type_check import TypeCheck

MAX_STEPS = 64
"""From the variable of a format to the address of it that is passed."""
BUILTIN_COMPONENTS: dict[str, int] = {
    **dict.fromkeys(("NumWorkgroups", "WorkgroupSize", "WorkgroupId", "LocalInvocationId"), 3),
    **dict.fromkeys(("GlobalInvocationId", "GlobalSize", "EnqueuedWorkgroupSize"), 3),
    **dict.fromkeys(("GlobalOffset",), 3),
    **dict.fromkeys(("LocalInvocationIndex", "WorkDim", "GlobalLinearId", "SubgroupSize"), 1),
    **dict.fromkeys(("SubgroupMaxSize", "NumSubgroups", "NumEnqueuedSubgroups"), 1),
    **dict.fromkeys(("SubgroupId", "SubgroupLocalInvocationId"), 1),
    **dict.fromkeys(("SubgroupEqMask", "SubgroupGeMask", "SubgroupGtMask"), 4),
    **dict.fromkeys(("SubgroupLeMask", "SubgroupLtMask"), 4),
}
"""How many components the built-in variables of kernels have."""
AXES = {Dim.Dim1D: 1, Dim.Dim2D: 2, Dim.Dim3D: 3, Dim.Buffer: 1}
"""How many axes the images of kernels have."""
CHANNELS = 4
MEMORIES = (StorageClass.Workgroup, StorageClass.Function, StorageClass.CrossWorkgroup)
"""What a generic pointer may lead to."""
FAR_BARRIER = (
    "a barrier is among the work-items of a work-group or a sub-group; let work-items of several "
    "groups wait for each other by the end of a kernel"
)
QUAD = 4
SWAPS = 3
"""Directions in which the work-items of a quad swap."""


def refused(check: TypeCheck, node: Node) -> str:
    """An instruction that is not supported says why."""
    del check
    return str(node.literals[1])


def unknown_pair(check: TypeCheck, node: Node) -> str:
    """What is sampled should have been taken apart."""
    del check, node
    return "its image and its sampler are not known when the kernel is compiled"


def unknown_function(check: TypeCheck, node: Node) -> str:
    """An extended instruction whose number is not known."""
    del check
    return f"number {node.literals[1]} is not supported for these types"


def builtin(check: TypeCheck, node: Node) -> str:
    """Kernels have the built-in variable, and it has the component."""
    del check
    count, element = components_of(node.type)
    if not isinstance(element, Int):
        return f"it is made of whole numbers, and not a {node.type}"
    known = BUILTIN_COMPONENTS.get(str(node.literals[0]))
    if known is None:
        return "kernels do not have this built-in variable"
    component = int(str(node.literals[1])) if len(node.literals) > 1 else count - 1
    return f"it has no component {component}" if component >= known else ""


# --- Groups -------------------------------------------------------------------------------------


def of_subgroup(check: TypeCheck, node: Node) -> str:
    """Group operations of a whole work-group have become others, as far as there is a way."""
    del check
    if constant_int(node.operands[0]) != Scope.Subgroup:
        return "it is not supported over a whole work-group"
    return ""


def reason_against_quads(lanes: int) -> str:
    """Why lanes do not come in groups of four; nothing if they do."""
    return f"a sub-group of {lanes} has no groups of four work-items" if lanes < QUAD else ""


def quad_swap(check: TypeCheck, node: Node) -> str:
    """The direction is one of three."""
    direction = constant_int(node.operands[2])
    if direction is None or not 0 <= direction < SWAPS:
        return "there is no such direction in a group of four work-items"
    return of_subgroup(check, node)


def barrier(check: TypeCheck, node: Node) -> str:
    """Work-items wait for others of their group at most."""
    del check
    if constant_int(node.operands[0]) in (Scope.Workgroup, Scope.Subgroup, Scope.Invocation):
        return ""
    return f"{node.where}: {FAR_BARRIER}"


# --- Memory and constants -----------------------------------------------------------------------


def generic_cast(check: TypeCheck, node: Node) -> str:
    """Generic pointers lead to the memory that is asked for."""
    del check
    storage = int(str(node.literals[0]))
    return "" if storage in MEMORIES else f"no generic pointer leads to storage class {storage}"


def constant_table(check: TypeCheck, node: Node) -> str:
    """The table of a function of three bits is a constant."""
    del check
    if constant_int(node.operands[3]) is None:
        return "the table of the function is not a constant"
    return ""


def printed_format(node: Node) -> Variable | None:
    """The variable that holds the format of printf, if that is known."""
    pointer = node.operands[0]
    for _ in range(MAX_STEPS):
        row = ROWS[pointer.op]
        if not row.is_chain and not row.same_address:
            break
        pointer = pointer.operands[0]
    variable = pointer.literals[0] if pointer.op == "Global" else None
    if isinstance(variable, Variable) and variable.type.pointee is not None:
        return variable
    return None


def printf(check: TypeCheck, node: Node) -> str:
    """The format is a string literal."""
    del check
    if printed_format(node) is None:
        return "the format of printf must be a string literal"
    return ""


# --- Images -------------------------------------------------------------------------------------


def _image(node: Node) -> Image:
    type_: Type = node.operands[0].type
    image = type_.image if isinstance(type_, SampledImage) else type_
    assert isinstance(image, Image)
    return image


def image(check: TypeCheck, node: Node) -> str:
    """Kernels have images of its dimension."""
    del check
    image = _image(node)
    if image.dim not in AXES or image.multisampled:
        return "only 1D, 2D, 3D and buffer images are for kernels"
    return ""


def image_access(place: int) -> Check:
    """There are coordinates for all axes, and not more channels than texels have."""

    def look(check: TypeCheck, node: Node) -> str:
        reason = image(check, node)
        if reason:
            return reason
        type_ = _image(node)
        if components_of(node.operands[place].type)[0] < AXES[type_.dim] + bool(type_.arrayed):
            return "there are fewer coordinates than the image has axes"
        if components_of(node.type)[0] > CHANNELS:
            return f"what it gives is not a {node.type}"
        return ""

    return look


def image_size(check: TypeCheck, node: Node) -> str:
    """The result has a component for each axis."""
    reason = image(check, node)
    if reason:
        return reason
    type_ = _image(node)
    if components_of(node.type)[0] != AXES[type_.dim] + bool(type_.arrayed):
        return f"what it gives is not a {node.type}"
    return ""
