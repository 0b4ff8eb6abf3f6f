"""The arithmetic checker: operations whose results are undefined, or no finite numbers, for the
operands that they are given.

In goes a lowered kernel; out comes one with a `CheckArithmetic` for each operation that can go
wrong, behind it or where its result is used (`demand.py`). What is defined to wrap around is no
mistake: unsigned numbers, and signed ones whose SPIR-V has no NoSignedWrap.
"""

from __future__ import annotations

from groundstate.compiler.instrument.demand import ALWAYS, Demand, Way, condition_of
from groundstate.compiler.ir import Block, Kernel, Node, constant_int
from groundstate.compiler.ir.ops import operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.ir.site import make_site
from groundstate.compiler.spirv.opcodes import Decoration
from groundstate.compiler.spirv.types import Float, Int, Type, Vector, Void

DIVISIONS = ("SDiv", "UDiv", "SRem", "SMod", "UMod")
WRAPPING = ("IAdd", "ISub", "IMul", "SNegate", "ShiftLeftLogical")
SHIFTS = ("ShiftLeftLogical", "ShiftRightLogical", "ShiftRightArithmetic")
CONVERSIONS = ("ConvertFToS", "ConvertFToU")
FLOATS = frozenset(
    ("FAdd", "FSub", "FMul", "FDiv", "FRem", "FMod", "FmaKHR", "Dot", "VectorTimesScalar")
)
_ROUNDING_FUNCTIONS = "ceil floor trunc rint round fract modf frexp"
_CHOOSING = "fabs fmin fmax fclamp fmin_common fmax_common copysign sign step minmag maxmag select"
_BOUNDED = "atan atan2 atanpi atan2pi asinh cbrt erf erfc sin cos tanh native_sin native_cos"
_MOVING = "bitselect shuffle shuffle2 nan"
NEVER_INFINITE = frozenset(
    f"{_ROUNDING_FUNCTIONS} {_CHOOSING} {_BOUNDED} {_MOVING}".split(),
)
"""Functions that make no infinity and no NaN of finite numbers, or whose point it is."""
MIXING = frozenset(
    [
        "Dot",
        "cross",
        "distance",
        "fast_distance",
        "length",
        "fast_length",
        "normalize",
        "fast_normalize",
    ]
)
"""Those of which each component of the result is made of all of the operands."""
ROUNDING = {0: "roundeven", 2: "ceil", 3: "floor"}
"""Modes of conversions, by the functions that round so. Otherwise they cut off."""
MOST_BITS = 64
MOST_SITES = 20_000
MOST_VALUES = 3
"""Operands that a report shows."""


def check_arithmetic(kernel: Kernel, analyses: Analyses) -> bool:
    """Watches operations that can go wrong; true if there is any."""
    del analyses
    demand = Demand(kernel)
    behind: dict[Node, list[Node]] = {}
    at_end: dict[Block, list[Node]] = {}
    for node in list(kernel.nodes()):
        for rule in rules_of(node):
            if len(kernel.sites) >= MOST_SITES:
                break
            site = len(kernel.sites)
            places = _places(demand, node, rule)
            if not places:
                continue
            kernel.sites.append(make_site("arithmetic", node, **_facts(node, rule)))
            for block, ways in places:
                into = at_end.setdefault(block, [])
                if ways == [ALWAYS] and block is node.block:
                    into = behind.setdefault(node, [])
                into += _checks(node, rule, site, ways)
    for block in kernel.blocks:
        behind_phis = [each for phi in block.phis for each in behind.get(phi, ())]
        nodes = [each for node in block.nodes for each in (node, *behind.get(node, ()))]
        block.nodes = [*behind_phis, *nodes, *at_end.get(block, ())]
    return bool(behind or at_end)


def _places(demand: Demand, node: Node, rule: str) -> list[tuple[Block, list[Way]]]:
    """Where an operation is judged. A division by zero is a mistake even if nobody uses it."""
    assert node.block is not None
    return [(node.block, [ALWAYS])] if rule == "divide" else demand.uses(node)


def _checks(node: Node, rule: str, site: int, ways: list[Way]) -> list[Node]:
    added: list[Node] = []
    wanted = condition_of(node, ways, added) if ways != [ALWAYS] else None
    numbers = [each for each in node.operands if isinstance(_element(each.type), Int | Float)]
    operands = [*numbers, node, *([wanted] if wanted is not None else [])]
    literals = (site, _precise(node, rule), _with_rounding(node), len(numbers))
    return [*added, node.derive("CheckArithmetic", Void(), operands, literals)]


def _precise(node: Node, rule: str) -> str:
    """The rule, with whether each component of a result is made of all of the operands."""
    name = operation(node).name if node.op == "ExtInst" else node.op
    return "mixed" if rule == "float" and name in MIXING else rule


def _with_rounding(node: Node) -> str:
    """The operation, and how a conversion rounds."""
    mode = node.decorations.get(Decoration.FPRoundingMode)
    if node.op not in CONVERSIONS or not isinstance(mode, tuple) or not mode:
        return node.op
    return f"{node.op} {ROUNDING.get(mode[0], '')}".rstrip()


def rules_of(node: Node) -> list[str]:
    """What can go wrong in an operation: words that `codegen/arithmetic/checks.py` knows."""
    op, element = node.op, _element(node.type)
    if isinstance(element, Int) and element.width > MOST_BITS:
        return []
    if op in DIVISIONS:
        divisor = constant_int(node.operands[1])
        is_safe = divisor is not None and (divisor > 0 or (divisor < -1 or op[0] == "U") * divisor)
        return [] if is_safe else ["divide"]
    found = []
    if op in SHIFTS and isinstance(element, Int):
        amount = constant_int(node.operands[1])
        if amount is None or not 0 <= amount < element.width:
            found.append("shift")
    if op in WRAPPING and Decoration.NoSignedWrap in node.decorations:
        found.append("overflow")
    if op in CONVERSIONS and Decoration.SaturatedConversion not in node.decorations:
        found.append("convert")
    return found or (["float"] if _may_be_infinite(node) else [])


def _may_be_infinite(node: Node) -> bool:
    element = _element(node.type)
    if not isinstance(element, Float) or _is_other_format(node):
        return False
    if node.op == "ExtInst":
        name = operation(node).name
        return name not in NEVER_INFINITE and not name.startswith(("vload", "vstore"))
    if node.op == "FConvert":
        source = _element(node.operands[0].type)
        return isinstance(source, Float) and source.width > element.width
    if node.op in ("ConvertSToF", "ConvertUToF"):
        return element.width == 16
    return node.op in FLOATS


def _is_other_format(node: Node) -> bool:
    """True of what computes with formats besides those of IEEE 754."""
    types = (_element(each.type) for each in (node, *node.operands))
    return any(isinstance(each, Float) and each.encoding is not None for each in types)


def _element(type_: Type) -> Type:
    return type_.element if isinstance(type_, Vector) else type_


def _facts(node: Node, rule: str) -> dict[str, object]:
    """What the words of a report need to know."""
    element, first = _element(node.type), _element(node.operands[0].type)
    numbers = [_element(each.type) for each in node.operands]
    kinds = [
        ("float" if isinstance(each, Float) else "int", each.width)
        for each in numbers
        if isinstance(each, Int | Float)
    ]
    return {
        "rule": rule,
        "name": operation(node).name if node.op == "ExtInst" else node.op,
        "bits": element.width if isinstance(element, Int | Float) else 0,
        "given_bits": first.width if isinstance(first, Int | Float) else 0,
        "components": node.type.count if isinstance(node.type, Vector) else 1,
        "operands": len(kinds),
        "kinds": kinds[:MOST_VALUES],
        "is_mixed": _precise(node, rule) == "mixed",
    }
