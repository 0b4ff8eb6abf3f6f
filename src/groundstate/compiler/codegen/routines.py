"""Internal functions of a kernel's module, with branches on what all lanes share.

What is large and used often, such as reading an image, is written once for each combination of
types that a kernel needs, and called. Inside, `either` and `by_case` branch on scalars, so that all
lanes go the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from groundstate.compiler.codegen.text import overloaded
from groundstate.compiler.math.functions import Body
from groundstate.compiler.math.vec import Vec, element, lanes, like

HINT = "inlinehint"
"""The attribute of functions that LLVM inlines where it sees fit."""
MOST_COPIED_LINES = 200
"""Of all copies of a function that is inlined in several places."""

Results = tuple[Vec, ...]
Writer = Callable[..., Results]
Branch = Callable[[], Results]


def call_routine(
    name: str, write: Writer, *arguments: Vec, attributes: str = "noinline"
) -> Results:
    """Calls an internal function; the first call with some types of arguments writes it."""
    text = arguments[0].text
    symbol = "gs." + ".".join((name, *(overloaded(each.t) for each in arguments)))
    if symbol not in text.declarations:
        body = Body(text)
        made = write(*(Vec(body, each.t, f"%x{at}") for at, each in enumerate(arguments)))
        text.declarations[symbol] = _definition(symbol, body, made, arguments, attributes)
    passed = ", ".join(f"{each.t} {each.name}" for each in arguments)
    whole = text.declarations[symbol].removeprefix("define internal ").split(" @")[0]
    if whole == "void":
        text.do(f"call void @{symbol}({passed})")
        return ()
    called = text.emit(f"call {whole} @{symbol}({passed})")
    if whole.startswith("<"):
        count = lanes(whole)
        picks = [text.emit(f"extractelement {whole} {called}, i64 {at}") for at in range(count)]
        return tuple(Vec(text, element(whole), pick) for pick in picks)
    return tuple(
        Vec(text, t, text.emit(f"extractvalue {whole} {called}, {at}"))
        for at, t in enumerate(whole.strip("{} ").split(", "))
    )


def _definition(
    symbol: str, body: Body, made: Results, arguments: tuple[Vec, ...], attributes: str
) -> str:
    t, value = _returned(body, made)
    body.do(f"ret {t} {value}".rstrip())
    parameters = ", ".join(f"{each.t} %x{at}" for at, each in enumerate(arguments))
    head = f"define internal {t} @{symbol}({parameters}) nounwind {attributes} {{"
    return "\n".join((head, "entry:", *body.lines, "}"))


def _returned(body: Body, made: Results) -> tuple[str, str]:
    """All results as one value.

    Scalars become a vector: of a structure of four floats the last would come back on the stack of
    the x87, which nobody else keeps in order."""
    if not made:
        return "void", ""
    scalars = all(lanes(each.t) == 0 for each in made)
    value = "poison"
    if scalars:
        t = f"<{len(made)} x {made[0].t}>"
        for at, each in enumerate(made):
            value = body.emit(f"insertelement {t} {value}, {each.t} {each.name}, i64 {at}")
        return t, value
    t = f"{{ {', '.join(each.t for each in made)} }}"
    for at, each in enumerate(made):
        value = body.emit(f"insertvalue {t} {value}, {each.t} {each.name}, {at}")
    return t, value


def inline_hinted(declarations: Mapping[str, str], lines: Sequence[str]) -> list[str]:
    """The declarations, with hinted functions marked as always inlined that are called once, or
    that are short enough for their calls.

    LLVM's own list of passes finds them by itself; shorter ones only do what they are told."""
    text = "\n".join((*lines, *declarations.values()))

    def marked(symbol: str, function: str) -> str:
        if f" {HINT} {{" not in function:
            return function
        calls = text.count(f"@{symbol}(") - 1  # without its definition
        if calls > 1 and calls * function.count("\n") > MOST_COPIED_LINES:
            return function
        return function.replace(f" {HINT} {{", " alwaysinline {", 1)

    return [marked(symbol, each) for symbol, each in declarations.items()]


# --- Branches -------------------------------------------------------------------------------------


def either(condition: Vec, yes: Branch, no: Branch) -> Results:
    """What one of two writers gives, depending on a truth value that is not a vector."""
    text = _body(condition)
    labels = [text.label("yes"), text.label("no")]
    text.do(f"br i1 {condition.name}, label %{labels[0]}, label %{labels[1]}")
    return _join(text, labels, [yes, no])


def by_case(number: Vec, cases: Mapping[int, Branch], otherwise: Branch) -> Results:
    """What the writer for a number gives, or `otherwise` for all numbers that have none."""
    text = _body(number)
    labels = [text.label("case") for _ in range(len(cases) + 1)]
    listed = " ".join(
        f"{number.t} {case}, label %{label}" for case, label in zip(cases, labels[1:], strict=True)
    )
    text.do(f"switch {number.t} {number.name}, label %{labels[0]} [{listed}]")
    return _join(text, labels, [otherwise, *cases.values()])


def _join(text: Body, labels: list[str], writers: list[Branch]) -> Results:
    """Writes the branches, and what they give where they meet again."""
    after = text.label("joined")
    ways: list[tuple[Results, str]] = []
    for label, write in zip(labels, writers, strict=True):
        text.start(label)
        results = write()
        ways.append((results, text.block))
        text.do(f"br label %{after}")
    text.start(after)
    joined = []
    for at, example in enumerate(ways[0][0]):
        arms = ", ".join(f"[ {results[at].name}, %{label} ]" for results, label in ways)
        joined.append(Vec(text, example.t, text.emit(f"phi {example.t} {arms}")))
    return tuple(joined)


def each_lane(text: Body, count: int, write: Callable[[Vec], None]) -> None:
    """A loop over the numbers of the lanes: small code for what is rare."""
    before, loop, after = text.block, text.label("loop"), text.label("after")
    text.do(f"br label %{loop}")
    text.start(loop)
    position = len(text.lines)
    lane = text.name("lane")
    write(Vec(text, "i64", lane))
    following = text.emit(f"add i64 {lane}, 1")
    text.lines.insert(
        position, f"  {lane} = phi i64 [ 0, %{before} ], [ {following}, %{text.block} ]"
    )
    more = text.emit(f"icmp ult i64 {following}, {count}")
    text.do(f"br i1 {more}, label %{loop}, label %{after}")
    text.start(after)


def _body(value: Vec) -> Body:
    assert isinstance(value.text, Body)
    return value.text


# --- Values ---------------------------------------------------------------------------------------


def splat(scalar: Vec, t: str) -> Vec:
    """A scalar in as many lanes as a type has."""
    count = lanes(t)
    if count == 0:
        return scalar
    text, wide = scalar.text, like(t, scalar.t)
    first = text.emit(f"insertelement {wide} poison, {scalar.t} {scalar.name}, i64 0")
    name = text.emit(
        f"shufflevector {wide} {first}, {wide} poison, <{count} x i32> zeroinitializer"
    )
    return Vec(text, wide, name)


def at_least(value: Vec, limit: Vec | float) -> Vec:
    """The larger of two; the limit if the value is no number."""
    return (value > limit).choose(value, limit)


def at_most(value: Vec, limit: Vec | float) -> Vec:
    """The smaller of two; the limit if the value is no number."""
    return (value < limit).choose(value, limit)
