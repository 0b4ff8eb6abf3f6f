"""The table of functions written in LLVM IR, and how a kernel calls them.

A function is written once, for any number of lanes and for the types it names, as a formula over
`Vec`. The first call of it with some type puts an internal LLVM function into the kernel's module,
which LLVM inlines if that pays; so a kernel that calls sin a hundred times holds one copy until
LLVM decides otherwise, and a formula may branch without regard to the code around its calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from groundstate.compiler.codegen.text import Text, overloaded
from groundstate.compiler.errors import BuildError
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.math.vec import BITS, Vec, element, lanes, like

PURE = "nounwind willreturn memory(none)"
"""What LLVM may believe of a function of the C library: errno is not looked at."""

Results = Vec | tuple[Vec, ...]
Formula = Callable[..., Results]


class Body(Text):
    """The text of an internal function: it knows the block that is being written."""

    def __init__(self, caller: Text) -> None:
        super().__init__(caller.target)
        self.declarations = caller.declarations
        self.block = "entry"

    def start(self, label: str) -> None:
        super().start(label)
        self.block = label


@light_dataclass()
class Row:
    """One function: its formula and the floating-point types that it is written for."""

    formula: Formula
    types: tuple[str, ...]
    branches: bool
    """True if it branches on its arguments, so that those of idle lanes must not decide."""
    in_place: bool
    """True if it is as short as a call of it."""
    attributes: str


FUNCTIONS: dict[str, Row] = {}


def function(
    *names: str,
    types: tuple[str, ...] = ("half", "float", "double"),
    branches: bool = False,
    in_place: bool = False,
    attributes: str = "inlinehint",
) -> Callable[[Formula], Formula]:
    """Adds a formula to the table. A half goes through float where `types` lacks it."""

    def register(formula: Formula) -> Formula:
        for name in names:
            FUNCTIONS[name] = Row(formula, types, branches, in_place, attributes)
        return formula

    return register


def is_written_for(name: str, kind: str) -> bool:
    """True if a function has a formula for a type, or for the float that stands in for a half."""
    row = FUNCTIONS.get(name)
    if row is None:
        return False
    return kind not in BITS or kind in row.types or (kind == "half" and "float" in row.types)


def call(name: str, *arguments: Vec) -> Vec:
    """Calls a function of the table that has one result."""
    (result,) = call_all(name, *arguments)
    return result


def call_all(name: str, *arguments: Vec) -> tuple[Vec, ...]:
    """Calls a function of the table; its results."""
    row = FUNCTIONS[name]
    kind = element(arguments[0].t)
    if kind == "half" and "half" not in row.types:
        wide = [each.to_float("float") if element(each.t) == "half" else each for each in arguments]
        narrow = call_all(name, *wide)
        return tuple(
            each.to_float("half") if element(each.t) == "float" else each for each in narrow
        )
    if row.in_place:
        found = row.formula(*arguments)
        return found if isinstance(found, tuple) else (found,)
    text = arguments[0].text
    symbol = "gs." + ".".join((name, *(overloaded(each.t) for each in arguments)))
    if symbol not in text.declarations:
        _define(text, symbol, row, [each.t for each in arguments])
    results = _result_types(text.declarations[symbol])
    passed = ", ".join(f"{each.t} {each.name}" for each in arguments)
    if len(results) == 1:
        return (Vec(text, results[0], text.emit(f"call {results[0]} @{symbol}({passed})")),)
    whole = f"{{ {', '.join(results)} }}"
    called = text.emit(f"call {whole} @{symbol}({passed})")
    return tuple(
        Vec(text, t, text.emit(f"extractvalue {whole} {called}, {at}"))
        for at, t in enumerate(results)
    )


def _define(text: Text, symbol: str, row: Row, types: list[str]) -> None:
    """Writes the internal function for some types of arguments."""
    body = Body(text)
    found = row.formula(*(Vec(body, t, f"%x{at}") for at, t in enumerate(types)))
    results = found if isinstance(found, tuple) else (found,)
    if len(results) == 1:
        t, value = results[0].t, results[0].name
    else:
        t, value = f"{{ {', '.join(each.t for each in results)} }}", "poison"
        for at, each in enumerate(results):
            value = body.emit(f"insertvalue {t} {value}, {each.t} {each.name}, {at}")
    body.do(f"ret {t} {value}")
    parameters = ", ".join(f"{each} %x{at}" for at, each in enumerate(types))
    head = f"define internal {t} @{symbol}({parameters}) nounwind {row.attributes} {{"
    text.declarations[symbol] = "\n".join((head, "entry:", *body.lines, "}"))


def _result_types(definition: str) -> list[str]:
    """The types of the results, from the first line of a definition."""
    whole = definition.removeprefix("define internal ").split(" @")[0]
    return whole.strip("{} ").split(", ")


def rarely(condition: Vec, usual: Vec, careful: Callable[[], Vec]) -> Vec:
    """`usual`, but what `careful` writes in lanes where the condition holds.

    Careful code runs only if there is such a lane, and changes no other: the result of a lane does
    not depend on its neighbours.
    """
    (result,) = rarely_all(condition, (usual,), lambda: (careful(),))
    return result


def rarely_all(
    condition: Vec, usual: tuple[Vec, ...], careful: Callable[[], tuple[Vec, ...]]
) -> tuple[Vec, ...]:
    """The same for several results."""
    text = condition.text
    assert isinstance(text, Body)
    happens = condition.freeze().any()
    before, inside, after = text.block, text.label("rare"), text.label("usual")
    text.do(f"br i1 {happens.name}, label %{inside}, label %{after}")
    text.start(inside)
    chosen = [condition.choose(new, old) for new, old in zip(careful(), usual, strict=True)]
    leaving = text.block
    text.do(f"br label %{after}")
    text.start(after)
    merged = []
    for new, old in zip(chosen, usual, strict=True):
        ways = f"[ {old.name}, %{before} ], [ {new.name}, %{leaving} ]"
        merged.append(Vec(text, old.t, text.emit(f"phi {old.t} {ways}")))
    return tuple(merged)


def library(name: str, *arguments: Vec, only: Vec | None = None) -> Vec:
    """Calls a function of the C library, in double precision, for each lane, or `only` some."""
    text = arguments[0].text
    first = arguments[0]
    if lanes(first.t) == 0 and text.target.compute_capability:
        if f"device.{name}" not in FUNCTIONS:
            raise BuildError(f"{name} in double precision is not supported on GPUs")
        wide = [each.to_float("double") for each in arguments]
        return call(f"device.{name}", *wide).to_float(element(first.t))
    if lanes(first.t) == 0:
        doubles = [("double", each.to_float("double").name) for each in arguments]
        result = Vec(text, "double", text.call("double", name, doubles, PURE))
        return result.to_float(element(first.t))
    suffix = "" if only is None else ".only"
    symbol = f"gs.each.{name}.{overloaded(first.t)}{suffix}"
    if symbol not in text.declarations:
        _define_each(text, symbol, name, first.t, len(arguments), only is not None)
    passed = [(each.t, each.name) for each in arguments]
    if only is not None:
        passed.append((only.t, only.name))
    listed = ", ".join(f"{t} {value}" for t, value in passed)
    return Vec(text, first.t, text.emit(f"call {first.t} @{symbol}({listed})"))


def _define_each(text: Text, symbol: str, name: str, t: str, count: int, masked: bool) -> None:
    """A loop over the lanes, in memory: small code for what is rare or slow anyway."""
    scalar = element(t)
    body = Body(text)
    places = [body.emit(f"alloca {t}") for _ in range(count + 1)]
    body.do(f"store {t} zeroinitializer, ptr {places[-1]}")
    for at in range(count):
        body.do(f"store {t} %x{at}, ptr {places[at]}")
    mask = ""
    if masked:
        bits = f"i{lanes(t)}"
        packed = body.emit(f"bitcast {like(t, 'i1')} %only to {bits}")
        mask = body.emit(f"zext {bits} {packed} to i64") if lanes(t) < 64 else packed
    body.do("br label %loop")
    body.start("loop")
    body.do("%lane = phi i64 [ 0, %entry ], [ %following, %next ]")
    if masked:
        shifted = body.emit(f"lshr i64 {mask}, %lane")
        body.do(f"br i1 {body.emit(f'trunc i64 {shifted} to i1')}, label %work, label %next")
        body.start("work")
    operands = []
    for at in range(count):
        place = body.emit(f"getelementptr {scalar}, ptr {places[at]}, i64 %lane")
        operands.append(Vec(body, scalar, body.emit(f"load {scalar}, ptr {place}")))
    result = library(name, *operands)
    place = body.emit(f"getelementptr {scalar}, ptr {places[-1]}, i64 %lane")
    body.do(f"store {scalar} {result.name}, ptr {place}")
    if masked:
        body.do("br label %next")
        body.start("next")
    body.do("%following = add i64 %lane, 1")
    body.do(f"%more = icmp ult i64 %following, {lanes(t)}")
    body.do("br i1 %more, label %loop, label %done")
    body.start("done")
    body.do(f"ret {t} {body.emit(f'load {t}, ptr {places[-1]}')}")
    lines = body.lines
    if not masked:
        lines = [line.replace("%next ]", "%loop ]") for line in lines]
    parameters = [f"{t} %x{at}" for at in range(count)]
    if masked:
        parameters.append(f"{like(t, 'i1')} %only")
    attributes = "nounwind noinline minsize optsize" + (" cold" if masked else "")
    head = f"define internal {t} @{symbol}({', '.join(parameters)}) {attributes} {{"
    text.declarations[symbol] = "\n".join((head, "entry:", *lines, "}"))


def careful_library(name: str, arguments: Sequence[Vec], only: Vec) -> Callable[[], Vec]:
    """For `rarely`: the C library's function in the lanes that need it."""

    def write() -> Vec:
        return library(name, *arguments, only=only)

    return write
