"""Accesses of checked mode: each happens only where its guard holds, and is reported elsewhere.

The usual case costs a comparison or two. Lanes whose addresses go up by a fixed step are checked by
the first and the last of them; only if that fails, because a lane is inactive or out of bounds, is
each looked at. The access itself is written as it would be without a guard, behind a branch; beside
it stand the report and the access of those lanes that may have it. So consecutive accesses stay
consecutive.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.codegen.control.speculation import MOSTLY
from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.function import components
from groundstate.compiler.codegen.reports import active_bits, lanes_of_bits, write_report
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.spirv.types import Type, Void
from groundstate.native_layouts import Bounds, offset_of

ZEROS = {"ptr": "null", "i1": "false", "half": "0.0", "float": "0.0", "double": "0.0"}
BOUNDS_BYTES = 16
MOST_LANES = 64
"""Whose bits fit into a word, with one to spare."""


@handles("ArgumentBound")
def _argument_bound(emitter: Emitter, node: Node) -> None:
    """What the launcher found out about the memory of an argument."""
    index, end = (int(str(each)) for each in node.literals)
    offset = index * BOUNDS_BYTES + offset_of(Bounds, "upper" if end else "lower")
    text = emitter.text
    place = text.emit(f"getelementptr i8, ptr {emitter.context.bounds}, i64 {offset}")
    name = text.emit(f"load i64, ptr {place}, align 8, !invariant.load !0")
    emitter.define(node, Lanes("i64", name))


@handles("Guard")
def _guard(emitter: Emitter, node: Node) -> None:
    """Nothing: the access looks at the guard's operands."""
    del emitter, node


@light_dataclass()
class _Test:
    """What a guard compares."""

    value: Lanes
    """An address, or the distance from the start of a variable."""
    lower: Lanes
    limit: Lanes
    """The last place where an access may begin."""
    align: int

    @property
    def is_uniform(self) -> bool:
        return self.value.stride == self.lower.stride == self.limit.stride == 0


def write_guarded(
    emitter: Emitter, node: Node, guards: list[Node], write: Callable[[], None]
) -> None:
    """Writes an access that happens only where all guards hold."""
    for operand in node.operands:
        if operand.op != "Guard":
            emitter.get(operand)  # here, so that it is there on all ways
    operands, node.operands = node.operands, [each for each in node.operands if each.op != "Guard"]
    value = _Guarded(emitter, node, write).write(guards)
    node.operands = operands
    if value is not None:
        emitter.define(node, value)


class _Guarded:
    """Writes one access and what is beside it."""

    def __init__(self, emitter: Emitter, node: Node, write: Callable[[], None]) -> None:
        self.emitter = emitter
        self.text = emitter.text
        self.node = node
        self._write_access = write

    def write(self, guards: list[Node]) -> Value | None:
        """The access under some guards; its value, if it has one."""
        if not guards:
            return self.emitter.captured(self.node, self._write_access)
        emitter, text = self.emitter, self.text
        guard, *others = guards
        site, size, align, looks = (int(str(each)) for each in guard.literals)
        test = self._test(guard, size, align)
        is_uniform = text.width == 1 or test.is_uniform
        words = [test.value, emitter.scalar(guard.operands[1]), emitter.scalar(guard.operands[2])]
        words += [emitter.scalar(each) for each in guard.operands[3:]]
        hot, cold, after = (text.label(stem) for stem in ("in", "out", "checked"))
        bits = self._branch(test, is_uniform, hot, cold)
        known = dict(emitter.here)
        text.start(hot)
        ways = [self._way(after, self.write(others))]
        text.start(cold)
        emitter.here = dict(known)
        reported = bits  # of what accompanies an access that reports by itself
        if site >= 0:
            reported = write_report(emitter, site, bits, words, size if looks else 0)
        ways += self._rest(reported, others, after, is_uniform and not looks)
        emitter.here = known
        text.start(after)
        return None if isinstance(self.node.type, Void) else self._joined(self.node.type, ways)

    # --- Comparisons ----------------------------------------------------------------------------

    def _test(self, guard: Node, size: int, align: int) -> _Test:
        value, lower, upper = (self.emitter.scalar(each) for each in guard.operands[:3])
        limit = self._operation("sub", upper, Lanes("i64", str(size)))
        return _Test(value, lower, limit, align)

    def _operation(self, op: str, one: Lanes, other: Lanes) -> Lanes:
        text = self.text
        if text.width == 1 or (one.stride == 0 and other.stride == 0):
            return Lanes("i64", text.emit(f"{op} i64 {one.name}, {other.name}"))
        wide = text.vector_type("i64")
        names = text.as_vector(one), text.as_vector(other)
        return Lanes("i64", text.emit(f"{op} {wide} {names[0]}, {names[1]}"), None)

    def _branch(self, test: _Test, is_uniform: bool, hot: str, cold: str) -> str:
        """Goes to where all active lanes may access memory, or to where some may not; in the
        latter, the bits of those."""
        text, emitter = self.text, self.emitter
        if is_uniform:
            bad = self._bad(test.value, test, "i64", "i1", lambda each: each.name)
            look, good = text.label("look"), text.emit(f"icmp eq i1 {bad}, false")
            text.do(f"br i1 {good}, label %{hot}, label %{look}, !prof {MOSTLY}")
            text.start(look)
            bits = active_bits(emitter, None)
            text.do(f"br label %{cold}")
            return bits
        fast = self._fast(test)
        if fast is not None:
            look = text.label("look")
            text.do(f"br i1 {fast}, label %{hot}, label %{look}, !prof {MOSTLY}")
            text.start(look)
        bits = self._bad_bits(test, fast is not None)
        none = text.emit(f"icmp eq i64 {bits}, 0")
        text.do(f"br i1 {none}, label %{hot}, label %{cold}, !prof {MOSTLY}")
        return bits

    def _bad_bits(self, test: _Test, is_affine: bool) -> str:
        """The bits of the active lanes that are out of bounds."""
        text, stride = self.text, test.value.stride
        if is_affine and stride is not None and stride > 0 and text.width < MOST_LANES:
            return self._bad_bits_of_row(test, stride)
        wide, truth = text.vector_type("i64"), text.vector_type("i1")
        bad = self._bad(test.value, test, wide, truth, text.as_vector)
        return active_bits(self.emitter, Lanes("i1", bad, None))

    def _bad_bits_of_row(self, test: _Test, stride: int) -> str:
        """The same where lanes go up by a fixed step: those before one and from another on."""
        text, first = self.text, test.value.name
        if test.value.type == "ptr":
            first = text.emit(f"ptrtoint ptr {first} to i64")
        under = self._count(text.emit(f"sub i64 {test.lower.name}, {first}"), stride, stride - 1, 0)
        over = self._count(text.emit(f"sub i64 {test.limit.name}, {first}"), stride, stride, -1)
        bad = text.emit(f"xor i64 {self._ones(over)}, -1")
        bad = text.emit(f"or i64 {bad}, {self._ones(under)}")
        if test.align > 1:
            low = text.emit(f"and i64 {first}, {test.align - 1}")
            odd = text.emit(f"icmp ne i64 {low}, 0")
            bad = text.emit(f"select i1 {odd}, i64 -1, i64 {bad}")
        return text.emit(f"and i64 {bad}, {active_bits(self.emitter, None)}")

    def _count(self, distance: str, stride: int, more: int, least: int) -> str:
        """How many lanes there are in a distance, of at most all."""
        text = self.text
        for name, limit in (("smax", least), ("smin", stride * text.width)):
            arguments = [("i64", distance), ("i64", str(limit))]
            distance = text.call("i64", f"llvm.{name}.i64", arguments)
        rounded = text.emit(f"add i64 {distance}, {more}")
        count = text.emit(f"udiv i64 {rounded}, {stride}")
        arguments = [("i64", count), ("i64", str(text.width))]
        return text.call("i64", "llvm.umin.i64", arguments)

    def _ones(self, count: str) -> str:
        """So many of the lowest bits."""
        power = self.text.emit(f"shl i64 1, {count}")
        return self.text.emit(f"sub i64 {power}, 1")

    def _bad(
        self, value: Lanes, test: _Test, t: str, truth: str, name: Callable[[Lanes], str]
    ) -> str:
        """True for a value that is out of bounds, or not aligned."""
        text, number = self.text, name(value)
        if value.type == "ptr":
            number = text.emit(f"ptrtoint {t.replace('i64', 'ptr')} {number} to {t}")
        under = text.emit(f"icmp slt {t} {number}, {name(test.lower)}")
        over = text.emit(f"icmp sgt {t} {number}, {name(test.limit)}")
        bad = text.emit(f"or {truth} {under}, {over}")
        if test.align > 1:
            mask = str(test.align - 1) if t == "i64" else text.splat("i64", str(test.align - 1))
            low = text.emit(f"and {t} {number}, {mask}")
            zero = "0" if t == "i64" else "zeroinitializer"
            odd = text.emit(f"icmp ne {t} {low}, {zero}")
            bad = text.emit(f"or {truth} {bad}, {odd}")
        return bad

    def _fast(self, test: _Test) -> str | None:
        """True if the first and the last lane are in bounds, and so all of them are; None if that
        does not follow."""
        text, value = self.text, test.value
        if test.lower.stride != 0 or test.limit.stride != 0:
            return None
        first, stride, holds = value.name, value.stride, None
        if value.speculation is not None:
            first, stride = value.speculation.first, value.speculation.stride
            holds = value.speculation.holds
        if stride is None or stride % test.align != 0:
            return None
        if value.type == "ptr":
            first = text.emit(f"ptrtoint ptr {first} to i64")
        last = text.emit(f"add i64 {first}, {stride * (text.width - 1)}")
        lowest, highest = (first, last) if stride >= 0 else (last, first)
        fits = text.emit(f"icmp sge i64 {lowest}, {test.lower.name}")
        ends = text.emit(f"icmp sle i64 {highest}, {test.limit.name}")
        fits = text.emit(f"and i1 {fits}, {ends}")
        if test.align > 1:
            low = text.emit(f"and i64 {first}, {test.align - 1}")
            even = text.emit(f"icmp eq i64 {low}, 0")
            fits = text.emit(f"and i1 {fits}, {even}")
        return fits if holds is None else text.emit(f"and i1 {fits}, {holds}")

    # --- Ways -----------------------------------------------------------------------------------

    def _way(self, after: str, value: Value | None) -> tuple[str, Value | None]:
        """Ends a way; its last block, and the value that it brings, each part as lanes need it."""
        text = self.text
        flat = None if value is None else self._flat(value)
        last = text.label("way")
        text.do(f"br label %{last}")
        text.start(last)
        text.do(f"br label %{after}")
        return last, flat

    def _flat(self, value: Value) -> Value:
        """Without strides, and what is only speculated."""
        if isinstance(value, list):
            return [self._flat(each) for each in value]
        if value.stride == 0 or self.text.width == 1:
            return Lanes(value.type, value.name)
        return Lanes(value.type, self.text.as_vector(value), None)

    def _rest(
        self, reported: str, others: list[Node], after: str, is_uniform: bool
    ) -> list[tuple[str, Value | None]]:
        """The access for the lanes that did not report anything, and its absence for none."""
        emitter, text = self.emitter, self.text
        if is_uniform:
            return [self._way(after, None)]
        active = active_bits(emitter, None)
        others_bits = text.emit(f"xor i64 {reported}, -1")
        left = text.emit(f"and i64 {active}, {others_bits}")
        some, none = text.label("some"), text.label("none")
        any_ = text.emit(f"icmp ne i64 {left}, 0")
        text.do(f"br i1 {any_}, label %{some}, label %{none}")
        text.start(some)
        before, here = emitter.mask, dict(emitter.here)
        if emitter.width > 1:
            emitter.mask = lanes_of_bits(emitter, left)
        ways = [self._way(after, self.write(others))]
        emitter.mask, emitter.here = before, here
        text.start(none)
        return [*ways, self._way(after, None)]

    def _joined(self, type_: Type, ways: list[tuple[str, Value | None]]) -> Value:
        """The value of whichever way was taken; zero if that has none."""
        parts = components(type_)
        if parts is None:
            return self._phi(type_, ways)
        joined: list[Value] = []
        for index, part in enumerate(parts):
            inner = [(last, v[index] if isinstance(v, list) else None) for last, v in ways]
            joined.append(self._joined(part, inner))
        return joined

    def _phi(self, type_: Type, ways: list[tuple[str, Value | None]]) -> Value:
        text, scalar = self.text, scalar_type(type_)
        known = [each for _, each in ways if isinstance(each, Lanes)]
        is_vector = any(each.stride is None for each in known)
        zero = "zeroinitializer" if is_vector and text.width > 1 else ZEROS.get(scalar, "0")
        t = text.vector_type(scalar) if is_vector else scalar
        arms = []
        for last, value in ways:
            name = zero
            if isinstance(value, Lanes):
                name = self._widened(value, last) if is_vector else value.name
            arms.append(f"[ {name}, %{last} ]")
        return Lanes(scalar, text.emit(f"phi {t} {', '.join(arms)}"), None if is_vector else 0)

    def _widened(self, value: Lanes, last: str) -> str:
        """The vector of a value, made in the block that brings it."""
        if value.stride is None:
            return value.name
        text = self.text
        start = len(text.lines)
        name = text.as_vector(value)
        added, text.lines[start:] = text.lines[start:], []
        at = text.lines.index(f"{last}:") + 1
        text.lines[at:at] = added
        return name
