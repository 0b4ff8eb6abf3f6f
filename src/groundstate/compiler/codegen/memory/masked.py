"""Vector loads and stores of the active lanes."""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.text import overloaded


def load_masked(emitter: Emitter, wide: str, pointer: str, align: int, mask: str) -> str:
    """Loads what the mask allows. Inactive lanes get zero: see `gather`."""
    count = wide[1:].split(" ")[0]
    function = f"llvm.masked.load.{overloaded(wide)}.p0"
    emitter.text.declarations.setdefault(
        function, f"declare {wide} @{function}(ptr, <{count} x i1>, {wide})"
    )
    return emitter.text.emit(
        f"call {wide} @{function}(ptr align {align} {pointer}, <{count} x i1> {mask}, "
        f"{wide} zeroinitializer)"
    )


def store_masked(
    emitter: Emitter, wide: str, name: str, pointer: str, align: int, mask: str
) -> None:
    """Writes the lanes that the mask allows."""
    count = wide[1:].split(" ")[0]
    function = f"llvm.masked.store.{overloaded(wide)}.p0"
    emitter.text.declarations.setdefault(
        function, f"declare void @{function}({wide}, ptr, <{count} x i1>)"
    )
    emitter.text.do(
        f"call void @{function}({wide} {name}, ptr align {align} {pointer}, <{count} x i1> {mask})"
    )
