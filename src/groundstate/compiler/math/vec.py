"""Numbers to write formulas with: each operation writes an LLVM instruction for all lanes.

A `Vec` is the name of an LLVM value and its type, a scalar or a vector of lanes. Python numbers in
a formula become constants of the type of the `Vec` next to them. Nothing here is fused or reordered
behind the writer's back: what is to be fused is written with `fma`.
"""

from __future__ import annotations

from groundstate.compiler.codegen.text import Text, float_literal, overloaded
from groundstate.compiler.light_dataclass import light_dataclass

BITS = {"half": 16, "float": 32, "double": 64}
FRACTION = {"half": 10, "float": 23, "double": 52}
"""How many bits of the fraction a type stores."""
BIAS = {"half": 15, "float": 127, "double": 1023}


def element(t: str) -> str:
    """The type of one lane.

    >>> element("<8 x float>"), element("i32")
    ('float', 'i32')
    """
    return t.strip("<>").split(" x ")[-1]


def lanes(t: str) -> int:
    """How many lanes a type has; 0 for a scalar."""
    return int(t[1:].split(" ")[0]) if t.startswith("<") else 0


def like(t: str, other: str) -> str:
    """Another element type in the same number of lanes.

    >>> like("<8 x float>", "i1"), like("float", "i1")
    ('<8 x i1>', 'i1')
    """
    return f"<{lanes(t)} x {other}>" if t.startswith("<") else other


def spread(t: str, literal: str) -> str:
    """A constant in all lanes."""
    return f"splat ({element(t)} {literal})" if t.startswith("<") else literal


def is_float(t: str) -> bool:
    """True for half, float and double."""
    return element(t) in BITS


Number = int | float


@light_dataclass(eq=False)
class Vec:
    """A value of all lanes, and where operations on it are written."""

    text: Text
    t: str
    name: str

    # --- Making values --------------------------------------------------------------------------

    def constant(self, value: Number) -> Vec:
        """A constant of the same type."""
        if is_float(self.t):
            return self._new(self.t, spread(self.t, float_literal(value, element(self.t))))
        width = int(element(self.t)[1:])
        number = int(value) & ((1 << width) - 1)
        signed = number - (1 << width) if width > 1 and number >> (width - 1) else number
        return self._new(
            self.t, spread(self.t, str(signed) if width > 1 else str(bool(number)).lower())
        )

    def _new(self, t: str, name: str) -> Vec:
        return Vec(self.text, t, name)

    def _emit(self, t: str, instruction: str) -> Vec:
        return self._new(t, self.text.emit(instruction))

    def _of(self, other: Vec | Number) -> Vec:
        return other if isinstance(other, Vec) else self.constant(other)

    def _binary(self, float_op: str, int_op: str, other: Vec | Number, swap: bool = False) -> Vec:
        left, right = (self._of(other), self) if swap else (self, self._of(other))
        op = float_op if is_float(self.t) else int_op
        return self._emit(self.t, f"{op} {self.t} {left.name}, {right.name}")

    def call(self, intrinsic: str, *others: Vec | Number) -> Vec:
        """An LLVM intrinsic whose operands all have this type."""
        operands = [(self.t, self.name), *((self.t, self._of(each).name) for each in others)]
        name = self.text.call(self.t, f"llvm.{intrinsic}.{overloaded(self.t)}", operands)
        return self._new(self.t, name)

    # --- Arithmetic -----------------------------------------------------------------------------

    def __add__(self, other: Vec | Number) -> Vec:
        return self._binary("fadd", "add", other)

    def __radd__(self, other: Number) -> Vec:
        return self._binary("fadd", "add", other)

    def __sub__(self, other: Vec | Number) -> Vec:
        return self._binary("fsub", "sub", other)

    def __rsub__(self, other: Number) -> Vec:
        return self._binary("fsub", "sub", other, swap=True)

    def __mul__(self, other: Vec | Number) -> Vec:
        return self._binary("fmul", "mul", other)

    def __rmul__(self, other: Number) -> Vec:
        return self._binary("fmul", "mul", other)

    def __truediv__(self, other: Vec | Number) -> Vec:
        return self._binary("fdiv", "fdiv", other)

    def __rtruediv__(self, other: Number) -> Vec:
        return self._binary("fdiv", "fdiv", other, swap=True)

    def __neg__(self) -> Vec:
        if is_float(self.t):
            return self._emit(self.t, f"fneg {self.t} {self.name}")
        return 0 - self

    def __and__(self, other: Vec | Number) -> Vec:
        return self._binary("and", "and", other)

    def __or__(self, other: Vec | Number) -> Vec:
        return self._binary("or", "or", other)

    def __xor__(self, other: Vec | Number) -> Vec:
        return self._binary("xor", "xor", other)

    def __invert__(self) -> Vec:
        return self ^ -1

    def __lshift__(self, count: Vec | int) -> Vec:
        return self._binary("shl", "shl", count)

    def __rshift__(self, count: Vec | int) -> Vec:
        """The logical shift: zeros come in."""
        return self._binary("lshr", "lshr", count)

    def ashr(self, count: Vec | int) -> Vec:
        """The arithmetic shift: copies of the sign come in."""
        return self._binary("ashr", "ashr", count)

    # --- Comparisons: of floats ordered, of integers signed ---------------------------------------

    def compare(self, kind: str, other: Vec | Number) -> Vec:
        """`oeq`, `une`, `uno`... of floats; `eq`, `slt`, `ult`... of integers."""
        op = "fcmp" if is_float(self.t) else "icmp"
        right = self._of(other).name
        return self._emit(like(self.t, "i1"), f"{op} {kind} {self.t} {self.name}, {right}")

    def __lt__(self, other: Vec | Number) -> Vec:
        return self.compare("olt" if is_float(self.t) else "slt", other)

    def __le__(self, other: Vec | Number) -> Vec:
        return self.compare("ole" if is_float(self.t) else "sle", other)

    def __gt__(self, other: Vec | Number) -> Vec:
        return self.compare("ogt" if is_float(self.t) else "sgt", other)

    def __ge__(self, other: Vec | Number) -> Vec:
        return self.compare("oge" if is_float(self.t) else "sge", other)

    def equals(self, other: Vec | Number) -> Vec:
        """Equal; a NaN equals nothing."""
        return self.compare("oeq" if is_float(self.t) else "eq", other)

    def differs(self, other: Vec | Number) -> Vec:
        """Not equal; a NaN differs from everything."""
        return self.compare("une" if is_float(self.t) else "ne", other)

    def is_nan(self) -> Vec:
        return self.compare("uno", self)

    def is_infinite(self) -> Vec:
        return self.abs().equals(float("inf"))

    def choose(self, yes: Vec | Number, no: Vec | Number) -> Vec:
        """Of truth values: `yes` where true, `no` elsewhere. One of the two says the type."""
        example = yes if isinstance(yes, Vec) else no
        assert isinstance(example, Vec)
        y, n = example._of(yes), example._of(no)
        return self._emit(y.t, f"select {self.t} {self.name}, {y.t} {y.name}, {n.t} {n.name}")

    # --- Functions ------------------------------------------------------------------------------

    def fma(self, factor: Vec | Number, addend: Vec | Number) -> Vec:
        """self * factor + addend, rounded once."""
        return self.call("fma", factor, addend)

    def abs(self) -> Vec:
        return self.call("fabs")

    def sqrt(self) -> Vec:
        return self.call("sqrt")

    def copysign(self, other: Vec) -> Vec:
        return self.call("copysign", other)

    def rint(self) -> Vec:
        return self.call("rint")

    def floor(self) -> Vec:
        return self.call("floor")

    def trunc(self) -> Vec:
        return self.call("trunc")

    def freeze(self) -> Vec:
        """The same, but some number where it was undefined."""
        return self._emit(self.t, f"freeze {self.t} {self.name}")

    def polynomial(self, coefficients: tuple[float, ...]) -> Vec:
        """The sum of the coefficients times rising powers, by Horner's rule."""
        result = self.constant(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = result.fma(self, coefficient)
        return result

    def estrin(self, coefficients: tuple[float, ...]) -> Vec:
        """The same in pairs, which takes fewer steps one after another."""
        terms = [self.constant(each) for each in coefficients]
        power = self
        while len(terms) > 1:
            paired = [
                terms[at + 1].fma(power, terms[at]) if at + 1 < len(terms) else terms[at]
                for at in range(0, len(terms), 2)
            ]
            terms = paired
            if len(terms) > 1:
                power = power * power
        return terms[0]

    # --- Conversions ----------------------------------------------------------------------------

    def bits(self) -> Vec:
        """The bits of floats, as integers."""
        t = like(self.t, f"i{BITS[element(self.t)]}")
        return self._emit(t, f"bitcast {self.t} {self.name} to {t}")

    def as_float(self) -> Vec:
        """Floats with the bits of the integers."""
        width = int(element(self.t)[1:])
        t = like(self.t, {16: "half", 32: "float", 64: "double"}[width])
        return self._emit(t, f"bitcast {self.t} {self.name} to {t}")

    def sign_bits(self) -> Vec:
        """Of floats: integers that have the sign bit and nothing else."""
        bits = self.bits()
        return bits & (1 << (BITS[element(self.t)] - 1))

    def flip_sign(self, signs: Vec) -> Vec:
        """Negative where the sign bits are set; they come from `sign_bits`."""
        return (self.bits() ^ signs).as_float()

    def to_float(self, kind: str) -> Vec:
        """Floats of another width."""
        source = element(self.t)
        if source == kind:
            return self
        if source == "double" and kind == "half":
            return self.round_to_odd().to_float("half")
        op = "fpext" if BITS[kind] > BITS[source] else "fptrunc"
        t = like(self.t, kind)
        return self._emit(t, f"{op} {self.t} {self.name} to {t}")

    def round_to_odd(self) -> Vec:
        """Doubles as floats whose last bit is set if anything was lost.

        A float so rounded can be rounded again, to half, as if it had never been rounded before.
        """
        near = self.to_float("float")
        back = near.to_float("double")
        bits = near.bits()
        beyond = back.abs() > self.abs()
        below = beyond.choose(bits - 1, bits) | 1
        exact = back.compare("ueq", self)
        return exact.choose(bits, below).as_float()

    def to_int(self, width: int) -> Vec:
        """Integers with the sign extended, or cut off; floats rounded towards zero, saturated."""
        t = like(self.t, f"i{width}")
        if is_float(self.t):
            return self._saturated("fptosi", t, -(2 ** (width - 1)), 2 ** (width - 1))
        have = int(element(self.t)[1:])
        if have == width:
            return self
        op = "trunc" if have > width else "sext"
        return self._emit(t, f"{op} {self.t} {self.name} to {t}")

    def to_unsigned(self, width: int) -> Vec:
        """Of floats: integers without a sign, rounded towards zero, saturated."""
        return self._saturated("fptoui", like(self.t, f"i{width}"), 0, 2**width)

    def _saturated(self, operation: str, t: str, least: int, end: int) -> Vec:
        """Floats as integers from `least` to before `end`; NaN is 0. LLVM has an intrinsic for
        that, but would convert each lane of a vector alone."""
        if lanes(self.t) == 0:
            function = f"llvm.{operation}.sat.{overloaded(t)}.{overloaded(self.t)}"
            return self._new(t, self.text.call(t, function, [(self.t, self.name)]))
        whole = self._emit(t, f"{operation} {self.t} {self.name} to {t}")
        whole = (self >= float(end)).choose(end - 1, whole)
        below = self <= -1.0 if least == 0 else self < float(least)
        return self.is_nan().choose(0, below.choose(least, whole))

    def zero_extend(self, width: int) -> Vec:
        """Wider integers with zeros in front."""
        t = like(self.t, f"i{width}")
        return self._emit(t, f"zext {self.t} {self.name} to {t}")

    def int_to_float(self, kind: str) -> Vec:
        """Floats with the values of signed integers."""
        t = like(self.t, kind)
        return self._emit(t, f"sitofp {self.t} {self.name} to {t}")

    def any(self) -> Vec:
        """Of truth values: one that says whether some lane's is true."""
        count = lanes(self.t)
        if count == 0:
            return self
        whole = self._emit(f"i{count}", f"bitcast {self.t} {self.name} to i{count}")
        return whole.differs(0)
