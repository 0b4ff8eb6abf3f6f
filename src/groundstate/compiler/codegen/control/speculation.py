"""Indices that are most likely next to each other, which is looked at when the program runs.

`analysis/speculated_strides.py` finds them. One look is enough for all lanes: memory is read and
written as one vector if the speculation holds, and lane by lane if it does not.
`speculated_values.py` writes the looks.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.codegen.values import Lanes, LaneText, Speculation

MOSTLY = "!2"
"""The metadata of a branch that is nearly always taken."""
MOSTLY_LINE = f'{MOSTLY} = !{{!"branch_weights", i32 2000, i32 1}}'


def moved(text: LaneText, pointer: Lanes, index: Lanes, size: int) -> Speculation | None:
    """The speculation on an address that lies some elements behind a pointer, if there is one."""
    if pointer.is_vector and pointer.speculation is None:
        return None
    if index.is_vector and index.speculation is None:
        return None
    start, first = pointer.speculation or pointer, index.speculation or index
    assert start.stride is not None
    assert first.stride is not None
    stride = start.stride + first.stride * size
    swaps = [each.swap for each in (start, first) if isinstance(each, Speculation) and each.swap]
    if swaps and (start.stride and first.stride):
        return None
    if stride == 0:
        return None  # one address for all lanes, most likely, but not a vector access
    base = start.first if isinstance(start, Speculation) else start.name
    steps = first.first if isinstance(first, Speculation) else first.name
    name = text.emit(f"getelementptr [{size} x i8], ptr {base}, i64 {steps}")
    conditions = [each.holds for each in (start, first) if isinstance(each, Speculation)]
    holds = conditions[0]
    if len(conditions) > 1:
        holds = text.emit(f"and i1 {conditions[0]}, {conditions[1]}")
    return Speculation(name, stride, holds, swap=swaps[0] if swaps else "")


def either_way(
    text: LaneText, pointer: Lanes, write: Callable[[Lanes], list[str]], type_: str = ""
) -> list[str]:
    """Writes an access twice: as speculated, and for any addresses. Joins the results, if there
    are any, which are vectors of a type."""
    assert pointer.speculation is not None
    speculation = pointer.speculation
    near, far, after = text.label("near"), text.label("far"), text.label("joined")
    text.do(f"br i1 {speculation.holds}, label %{near}, label %{far}, !prof {MOSTLY}")
    ways: list[tuple[str, list[str]]] = []
    for label, where in (
        (near, Lanes("ptr", speculation.first, speculation.stride)),
        (far, Lanes("ptr", pointer.name, None)),
    ):
        text.start(label)
        results = write(where)
        last = text.label("way")
        text.do(f"br label %{last}")
        text.start(last)
        text.do(f"br label %{after}")
        ways.append((last, results))
    text.start(after)
    return [
        text.emit(f"phi {type_} " + ", ".join(f"[ {rs[index]}, %{last} ]" for last, rs in ways))
        for index in range(len(ways[0][1]))
    ]
