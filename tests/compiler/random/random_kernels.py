"""Writes OpenCL C kernels at random: well-defined ones, so that every implementation must agree.

`Generator(seed).kernel(name)` gives one kernel with the parameters of `PARAMETERS`. Integers are
added and multiplied as unsigned, shifts and indices are masked, divisors are never 0, each loop
has a bound, and each work-item writes only to places of its own, or adds to shared ones with atomic
operations whose order does not matter. Barriers stand where all work-items of a group come by. The
rest is as unfriendly as it gets: divergent loops with several ways out, switches that fall through,
jumps into loops, functions that return from the middle, small integers, vectors, private arrays.
"""

from __future__ import annotations

import random
from collections.abc import Callable

PARAMETERS = (
    "global const uint *in, global uint *out, global uint *counters, uint mode, local uint *tile"
)
IN_WORDS = 256
OUT_WORDS = 8
"""Of each work-item."""
COUNTERS = 8
LARGEST_GROUP = 64

BITS = {"uchar": 8, "char": 8, "ushort": 16, "short": 16, "uint": 32, "int": 32}
BITS |= {"ulong": 64, "long": 64}
TYPES = tuple(BITS)
COUNTER_OPERATIONS = ("add", "add", "xor", "min", "max", "or", "and", "sub")
"""What is done to each counter; of one operation alone the order does not matter."""

PRELUDE = """
#pragma OPENCL FP_CONTRACT OFF
uint bits_of(float x) { return isnan(x) ? 77u : as_uint(x); }
uint exchange(local uint *tile, uint lane, uint count, uint value, uint shift) {
    barrier(CLK_LOCAL_MEM_FENCE);
    tile[lane] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    return tile[(lane + shift) % count];
}
uint leave_early(uint a, uint b, uint *side) {
    for (uint k = 0; k < (b & 7u); k++) {
        if ((a >> k & 3u) == 3u) return a ^ k;
        *side += a;
        if (a & 1u) continue;
        a = a * 3u + k;
        if (*side > 4000000000u) break;
    }
    switch (b & 3u) {
    case 0: *side ^= 5u;
    case 1: return a + *side;
    case 2: break;
    default: if (a & 2u) return b;
    }
    return a - b;
}
"""


def unsigned(kind: str) -> str:
    """The type in which a type's numbers are added, so that nothing overflows."""
    return "ulong" if BITS[kind] == 64 else "uint"


class Generator:
    """One kernel's worth of choices."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.variables: dict[str, str] = {}
        """Names and types of what can be assigned."""
        self.constants: dict[str, str] = {}
        """Names and types of what can only be read."""
        self.labels = 0
        self.loops = 0
        """How many loops are around the place that is being written."""
        self.budget = 0
        """How many statements may still be written."""
        self.may_return = False

    def kernel(self, name: str) -> str:
        """The text of a kernel."""
        chance = self.chance
        self.variables = {f"v{n}": chance.choice(TYPES) for n in range(chance.randint(2, 5))}
        self.constants = {"i": "uint", "lane": "uint", "mode": "uint"}
        self.budget = chance.randint(2, 12)
        lines = [
            "uint lane = get_local_id(1) * get_local_size(0) + get_local_id(0);",
            "uint count = get_local_size(0) * get_local_size(1);",
            "uint i = (get_group_id(1) * get_num_groups(0) + get_group_id(0)) * count + lane;",
            "uint array[8]; for (uint k = 0; k < 8; k++) array[k] = in[(i * 3u + k) & 255u];",
        ]
        if chance.random() < 0.5:
            lines.append(f"local uint fixed[{LARGEST_GROUP}]; fixed[lane] = i;")
        for place, (variable, kind) in enumerate(self.variables.items()):
            lines.append(f"{kind} {variable} = ({kind})in[(i + {place * 31}u) & 255u];")
        with_barriers = chance.random() < 0.6
        if with_barriers:
            lines += self.uniform_block(2)
        self.may_return = chance.random() < 0.5
        lines += self.block(3)
        lines.append(self.summary())
        body = "\n".join(f"    {line}" for text in lines for line in text.split("\n"))
        return f"kernel void {name}({PARAMETERS}) {{\n{body}\n}}\n"

    def summary(self) -> str:
        """Writes everything that was computed."""
        parts = [f"(uint)({name})" for name in self.variables]
        return (
            f"out[i * {OUT_WORDS}u] ^= {' * 31u + '.join(parts)};\n"
            f"for (uint k = 1; k < {OUT_WORDS}; k++) out[i * {OUT_WORDS}u + k] += array[k];"
        )

    # --- Statements of all work-items together ----------------------------------------------------

    def uniform_block(self, depth: int) -> list[str]:
        """Statements that every work-item of a group executes."""
        lines: list[str] = []
        for _ in range(self.chance.randint(1, 3)):
            lines += self.chance.choice(self.UNIFORM)(self, depth)
        return lines

    def exchange_values(self, depth: int) -> list[str]:
        name = self.chance.choice(list(self.variables))
        value, shift = self.expression("uint", 2), self.expression("uint", 1)
        kind = self.variables[name]
        return [f"{name} ^= ({kind})exchange(tile, lane, count, {value}, {shift} & 63u);"]

    def count_together(self, depth: int) -> list[str]:
        """Atomic operations on local memory between barriers."""
        name = self.chance.choice(list(self.variables))
        operation = self.chance.choice(("add", "xor", "max"))
        condition = self.condition(1)
        return [
            "barrier(CLK_LOCAL_MEM_FENCE);",
            "tile[lane] = 0;",
            "barrier(CLK_LOCAL_MEM_FENCE);",
            f"if ({condition}) atomic_{operation}(&tile[{self.expression('uint', 1)} % count],"
            f" {self.expression('uint', 1)});",
            "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
            f"{name} ^= ({self.variables[name]})tile[lane];",
        ]

    def uniform_loop(self, depth: int) -> list[str]:
        if depth == 0:
            return self.block(1)
        counter = self.new_name("r")
        inside = self.with_constant(counter, lambda: self.uniform_block(depth - 1) + self.block(1))
        leave = [f"    if ((mode >> {counter} & 9u) == 9u) break;"] * self.chance.randint(0, 1)
        bound = self.chance.choice(("(mode & 3u) + 1u", "3u", "(mode >> 2 & 3u)"))
        return [
            f"for (uint {counter} = 0; {counter} < {bound}; {counter}++) {{",
            *leave,
            *indented(inside),
            "}",
        ]

    def uniform_branch(self, depth: int) -> list[str]:
        if depth == 0:
            return self.block(1)
        lines = [f"if (mode & {1 << self.chance.randrange(6)}u) {{"]
        lines += indented(self.uniform_block(depth - 1))
        lines += ["} else {", *indented(self.uniform_block(depth - 1)), "}"]
        return lines

    def divergent(self, depth: int) -> list[str]:
        return self.block(2)

    # --- Statements of each work-item for itself --------------------------------------------------

    def block(self, depth: int) -> list[str]:
        """Some statements."""
        lines: list[str] = []
        for _ in range(self.chance.randint(1, 4)):
            self.budget -= 1
            simple = depth == 0 or self.budget < 0
            kinds = self.SIMPLE if simple else self.SIMPLE + self.NESTED
            lines += self.chance.choice(kinds)(self, depth)
        return lines

    def assign(self, depth: int) -> list[str]:
        name = self.chance.choice(list(self.variables))
        return [f"{name} = {self.expression(self.variables[name], self.chance.randint(1, 3))};"]

    def change_array(self, depth: int) -> list[str]:
        index, operation = self.expression("uint", 1), self.chance.choice("+-^|&*")
        return [f"array[{index} & 7u] {operation}= {self.expression('uint', 2)};"]

    def write_result(self, depth: int) -> list[str]:
        index = self.expression("uint", 1)
        return [f"out[i * {OUT_WORDS}u + ({index} & 7u)] += {self.expression('uint', 2)};"]

    def count(self, depth: int) -> list[str]:
        place = self.chance.randrange(COUNTERS)
        operation = COUNTER_OPERATIONS[place]
        return [f"atomic_{operation}(&counters[{place}], {self.expression('uint', 2)});"]

    def call(self, depth: int) -> list[str]:
        side, name = self.new_name("side"), self.chance.choice(list(self.variables))
        first, second = self.expression("uint", 2), self.expression("uint", 2)
        kind = self.variables[name]
        return [
            f"{{ uint {side} = {self.expression('uint', 1)};"
            f" {name} ^= ({kind})leave_early({first}, {second}, &{side}); array[1] ^= {side}; }}"
        ]

    def change_vector(self, depth: int) -> list[str]:
        """A vector whose components are set one by one, some of them under conditions."""
        kind, count = self.chance.choice(TYPES), self.chance.choice((2, 3, 4, 8))
        name, target = self.new_name("vector"), self.chance.choice(list(self.variables))
        parts = ", ".join(self.expression(kind, 1) for _ in range(count))
        component = self.chance.randrange(count)
        other = self.chance.randrange(count)
        return [
            f"{{ {kind}{count} {name} = ({kind}{count})({parts});",
            f"  if ({self.condition(1)}) {name}.s{component:x} = {self.expression(kind, 1)};",
            f"  {name} = {self.vector_expression(kind, count, name)};",
            f"  {target} ^= ({self.variables[target]})({name}.s{other:x}); }}",
        ]

    def leave(self, depth: int) -> list[str]:
        """A way out of the loop or of the kernel, if there is one here."""
        words = ["break", "continue"] * (self.loops > 0) + ["return"] * self.may_return
        if not words:
            return self.assign(depth)
        return [f"if ({self.condition(2)}) {self.chance.choice(words)};"]

    def branch(self, depth: int) -> list[str]:
        lines = [f"if ({self.condition(2)}) {{", *indented(self.block(depth - 1))]
        if self.chance.random() < 0.6:
            lines += ["} else {", *indented(self.block(depth - 1))]
        return [*lines, "}"]

    def loop(self, depth: int) -> list[str]:
        counter = self.new_name("k")
        bound = f"({self.expression('uint', 1)} & {self.chance.choice((3, 7))}u)"
        self.loops += 1
        inside = indented(self.with_constant(counter, lambda: self.block(depth - 1)))
        self.loops -= 1
        way = self.chance.randrange(3)
        if way == 0:
            head = f"for (uint {counter} = 0; {counter} < {bound}; {counter}++) {{"
            return [head, *inside, "}"]
        if way == 1:
            head = (
                f"for (uint {counter} = 0; {counter} < 6u && {self.condition(1)}; {counter}++) {{"
            )
            return [head, *inside, "}"]
        end = f"}} while (++{counter} < 5u && {self.condition(1)}); }}"
        return [f"{{ uint {counter} = 0; do {{", *inside, end]

    def switch(self, depth: int) -> list[str]:
        cases = self.chance.sample(range(8), self.chance.randint(2, 5))
        labels = [f"case {number}:" for number in cases]
        if self.chance.random() < 0.7:
            labels.insert(self.chance.randrange(len(labels) + 1), "default:")
        lines = [f"switch ({self.expression('uint', 2)} & 7u) {{"]
        for label in labels:
            lines += [f"{label} {{", *indented(self.block(depth - 1)), "}"]
            if self.chance.random() < 0.6:
                lines.append("    break;")
        return [*lines, "}"]

    def jump_out(self, depth: int) -> list[str]:
        """Two loops and a way out of both at once."""
        label, outer, inner = self.new_name("out_of"), self.new_name("k"), self.new_name("k")
        self.loops += 2
        inside = indented(indented(self.with_constant(inner, lambda: self.block(depth - 1))))
        self.loops -= 2
        return [
            f"for (uint {outer} = 0; {outer} < ({self.expression('uint', 1)} & 3u) + 1u;"
            f" {outer}++) {{",
            f"    for (uint {inner} = 0; {inner} < 3u; {inner}++) {{",
            f"        if ({self.condition(2)}) goto {label};",
            *inside,
            "    }",
            "}",
            f"{label}:;",
        ]

    def irreducible(self, depth: int) -> list[str]:
        """A loop that can be entered in two places."""
        fuel, top, middle = self.new_name("fuel"), self.new_name("top"), self.new_name("middle")
        first, second = indented(self.block(depth - 1)), indented(self.block(depth - 1))
        return [
            f"{{ uint {fuel} = 0;",
            f"if ({self.condition(2)}) goto {middle};",
            f"{top}: {{",
            *first,
            "}",
            f"{middle}: {{",
            *second,
            "}",
            f"if (++{fuel} < ({self.expression('uint', 1)} & 3u)) goto {top};",
            f"if ({fuel} < 5u && {self.condition(1)}) goto {middle}; }}",
        ]

    SIMPLE: tuple[Callable[[Generator, int], list[str]], ...] = (
        assign,
        assign,
        assign,
        change_array,
        write_result,
        count,
        call,
        change_vector,
        leave,
    )
    NESTED = (branch, branch, branch, loop, loop, loop, switch, jump_out, irreducible)
    UNIFORM = (exchange_values, exchange_values, count_together, uniform_loop, uniform_branch)
    UNIFORM += (divergent,)

    # --- Expressions ------------------------------------------------------------------------------

    def expression(self, kind: str, depth: int) -> str:
        """A value of a type."""
        if depth == 0:
            return self.leaf(kind)
        return self.chance.choice(self.VALUES)(self, kind, depth - 1)

    def leaf(self, kind: str) -> str:
        known = [name for name, type_ in (self.variables | self.constants).items() if type_ == kind]
        others = list(self.variables | self.constants)
        way = self.chance.randrange(6)
        if way < 2 and known:
            return self.chance.choice(known)
        if way == 2:
            return f"({kind}){self.chance.choice(('0', '1', '2', '7', '100', '200', '65535'))}"
        if way == 3:
            return f"({kind})in[({self.chance.choice(others)} + i) & 255u]"
        if way == 4:
            return f"({kind})array[({self.chance.choice(others)}) & 7u]"
        return f"({kind}){self.chance.choice(others)}"

    def arithmetic(self, kind: str, depth: int) -> str:
        wide, operation = unsigned(kind), self.chance.choice("+-*&|^+-*")
        left, right = self.expression(kind, depth), self.expression(kind, depth)
        return f"({kind})(({wide})({left}) {operation} ({wide})({right}))"

    def shift(self, kind: str, depth: int) -> str:
        wide, mask = unsigned(kind), BITS[kind] - 1
        left, right = self.expression(kind, depth), self.expression(kind, depth)
        if self.chance.random() < 0.5:
            return f"({kind})(({wide})({left}) << (({right}) & {mask}))"
        return f"({kind})(({left}) >> (({right}) & {mask}))"

    def division(self, kind: str, depth: int) -> str:
        left, right = self.expression(kind, depth), self.expression(kind, depth)
        operation, wide = self.chance.choice("/%"), unsigned(kind)
        if self.chance.random() < 0.5:
            return f"({kind})(({left}) {operation} ({kind})((({right}) & 15) + 1))"
        return f"({kind})(({wide})({left}) {operation} (({wide})({right}) | 1))"

    def choice(self, kind: str, depth: int) -> str:
        left, right = self.expression(kind, depth), self.expression(kind, depth)
        return f"({kind})({self.condition(depth)} ? {left} : {right})"

    def function(self, kind: str, depth: int) -> str:
        name = self.chance.choice(("min", "max", "add_sat", "sub_sat", "hadd", "rhadd", "rotate"))
        name = self.chance.choice((name, name, "mul_hi", "abs_diff", "popcount", "clz"))
        left, right = self.expression(kind, depth), self.expression(kind, depth)
        if name in ("popcount", "clz"):
            return f"{name}({left})"
        result = f"{name}({left}, {right})"
        return f"({kind}){result}" if name == "abs_diff" else result

    def ternary_function(self, kind: str, depth: int) -> str:
        name = self.chance.choice(("bitselect", "mad_hi", "clamp", "mad_sat"))
        a, b, c = (self.expression(kind, depth) for _ in range(3))
        if name == "clamp":
            return f"clamp({a}, min({b}, {c}), max({b}, {c}))"
        return f"{name}({a}, {b}, {c})"

    def conversion(self, kind: str, depth: int) -> str:
        other = self.chance.choice(TYPES)
        inner = self.expression(other, depth)
        if self.chance.random() < 0.5:
            return f"convert_{kind}_sat({inner})"
        return f"({kind})({inner})"

    def component(self, kind: str, depth: int) -> str:
        count = self.chance.choice((2, 3, 4))
        parts = ", ".join(self.expression(kind, min(depth, 1)) for _ in range(count))
        vector = self.vector_expression(kind, count, f"(({kind}{count})({parts}))")
        return f"({vector}).s{self.chance.randrange(count)}"

    def through_float(self, kind: str, depth: int) -> str:
        """Additions and products of floats, which are exact or rounded alike everywhere."""
        left, right = self.expression("int", depth), self.expression("short", depth)
        operation = self.chance.choice("+-*")
        value = f"(float)({left}) {operation} (float)({right}) * 0.125f"
        if self.chance.random() < 0.5:
            return f"convert_{kind}_sat({value})"
        return f"({kind})bits_of({value})"

    VALUES = (arithmetic, arithmetic, arithmetic, shift, division, choice, choice, function)
    VALUES += (function, ternary_function, conversion, component, through_float)

    def vector_expression(self, kind: str, count: int, vector: str) -> str:
        """Something done to a vector of `count` elements, with the same type."""
        way = self.chance.randrange(5)
        wide = f"u{kind.removeprefix('u')}{count}"
        if way == 0:
            order = "".join(f"{self.chance.randrange(count):x}" for _ in range(count))
            return f"{vector}.s{order}"
        if way == 1 and kind.startswith("u"):
            return f"({vector} * ({kind}{count})({self.expression(kind, 1)}) + ({kind})3)"
        if way == 2:
            return f"max({vector}, ({kind}{count})({self.expression(kind, 1)}))"
        if way == 3:
            turned = f"{vector}.s{'10101010'[:count]}"
            return f"as_{kind}{count}(as_{wide}({vector}) ^ as_{wide}({turned}))"
        return f"rotate({vector}, ({kind}{count})({self.expression(kind, 1)}))"

    def condition(self, depth: int) -> str:
        """A truth value."""
        way = self.chance.randrange(5 if depth else 3)
        if way < 3:
            kind, operation = self.chance.choice(TYPES), self.chance.choice(("<", ">", "==", "!="))
            if self.chance.random() < 0.3:
                return f"({self.expression(kind, depth)} & 3) == {self.chance.randrange(4)}"
            return f"{self.expression(kind, depth)} {operation} {self.expression(kind, depth)}"
        joined = self.chance.choice(("&&", "||"))
        first, second = self.condition(depth - 1), self.condition(depth - 1)
        return f"(({first}) {joined} !({second}))"

    # --- Helpers ----------------------------------------------------------------------------------

    def new_name(self, stem: str) -> str:
        self.labels += 1
        return f"{stem}{self.labels}"

    def with_constant(self, name: str, write: Callable[[], list[str]]) -> list[str]:
        """Writes something in which a name can be read."""
        self.constants[name] = "uint"
        lines = write()
        del self.constants[name]
        return lines


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
