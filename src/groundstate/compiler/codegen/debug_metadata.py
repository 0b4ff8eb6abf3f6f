"""The debug metadata of a kernel: what LLVM makes DWARF of.

Each location of the source becomes a `DILocation`, and inlined calls the chain that DWARF has for
them, so that debuggers know lines and frames. The number of a location, from 1 on, is also its
*discriminator* in the line table, which no debugger looks at: so an address of the code leads back
to the location without reading more of DWARF than its line table (native/faults/source_lines.c).

Metadata changes no code: a kernel with lines is the same machine code as one without.
"""

from __future__ import annotations

from collections.abc import Sequence

from groundstate.compiler.ir import Kernel
from groundstate.compiler.ir.location import Location

FIRST = 100
"""The number of the first node of metadata: the ones below are for code generation."""
MOST_COLUMN = 0xFFFF
"""LLVM keeps columns in 16 bits."""
DWARF_VERSION = 4
"""With discriminators, and read by every tool."""

Described = tuple[str, int, int, str, int]
"""A location: file, line, column, function, and the number of the caller's location or 0."""


class DebugMetadata:
    """The metadata of one kernel, made as its locations are met."""

    def __init__(
        self, kernel: str, first: Location, start: int = FIRST, emission: str = "FullDebug"
    ) -> None:
        """`first` is any location of the kernel: it tells the file. Nodes are numbered from `start`
        on. `emission` is what LLVM makes of them."""
        self.locations: dict[Location, int] = {}
        """All locations, with their numbers."""
        self._lines: list[str] = []
        self._count = start
        self._files: dict[str, str] = {}
        self._functions: dict[tuple[str, str], str] = {}
        self._scopes: dict[Location, str] = {}
        self._places: dict[Location, str] = {}
        self._calls: dict[Location, str] = {}
        outermost = list(first.frames())[-1]
        version = self._add('!{i32 2, !"Debug Info Version", i32 3}')
        dwarf = self._add(f'!{{i32 7, !"Dwarf Version", i32 {DWARF_VERSION}}}')
        file = self._file(outermost.file)
        self._unit = self._add(
            f"distinct !DICompileUnit(language: DW_LANG_OpenCL, file: {file}, "
            'producer: "Groundstate", isOptimized: true, '
            f"emissionKind: {emission}, nameTableKind: None)"
        )
        self._type = self._add("!DISubroutineType(types: !{null})")
        self.step = self._function(kernel, file, outermost.line)
        self.run = self._function("run", file, outermost.line)
        self.call = self._add(f"!DILocation(line: {outermost.line}, scope: {self.run})")
        """Where `run` calls `step`."""
        self._flags = f"!llvm.module.flags = !{{{version}, {dwarf}}}"

    @staticmethod
    def of_kernel(
        kernel: Kernel, start: int = FIRST, emission: str = "FullDebug"
    ) -> DebugMetadata | None:
        """The start of a kernel's metadata, if anything is known of its source."""
        known = (node.location for node in kernel.nodes() if node.location is not None)
        first = next(known, None)
        return DebugMetadata(kernel.name, first, start, emission) if first is not None else None

    def lines(self) -> list[str]:
        """The lines of LLVM IR for a module of its own."""
        return DebugMetadata.together([self])

    @staticmethod
    def together(kernels: Sequence[DebugMetadata]) -> list[str]:
        """The lines of LLVM IR for a module of several kernels; none without kernels."""
        if not kernels:
            return []
        units = ", ".join(each._unit for each in kernels)
        nodes = [line for each in kernels for line in each._lines]
        return [f"!llvm.dbg.cu = !{{{units}}}", kernels[0]._flags, *nodes]

    @property
    def end(self) -> int:
        """The number of the first node that is not one of these."""
        return self._count

    def table(self) -> list[Described]:
        """The locations in the order of their numbers."""
        return [
            (
                each.file,
                each.line,
                each.column,
                each.function,
                self.locations[each.caller] if each.caller is not None else 0,
            )
            for each in self.locations
        ]

    def of(self, location: Location) -> str:
        """The node for an instruction that comes from a location."""
        found = self._places.get(location)
        if found is None:
            found = self._places[location] = self._add(self._location(location))
        return found

    def _number(self, location: Location) -> int:
        if location.caller is not None:
            self._number(location.caller)
        return self.locations.setdefault(location, len(self.locations) + 1)

    def _location(self, location: Location) -> str:
        column = location.column if location.column <= MOST_COLUMN else 0
        caller = location.caller
        inlined = "" if caller is None else f", inlinedAt: {self._call(caller)}"
        scope = self._scope(location)
        return f"!DILocation(line: {location.line}, column: {column}, scope: {scope}{inlined})"

    def _call(self, caller: Location) -> str:
        """The node for a call that was inlined."""
        found = self._calls.get(caller)
        if found is None:
            found = self._calls[caller] = self._add(f"distinct {self._location(caller)}")
        return found

    def _scope(self, location: Location) -> str:
        """A scope of its own for each location: it carries the number."""
        found = self._scopes.get(location)
        if found is None:
            file = self._file(location.file)
            function = self.step
            if location.caller is not None:
                key = location.file, location.function
                if key not in self._functions:
                    made = self._function(location.function, file, location.line)
                    self._functions[key] = made
                function = self._functions[key]
            found = self._scopes[location] = self._add(
                f"!DILexicalBlockFile(scope: {function}, file: {file}, "
                f"discriminator: {self._number(location)})"
            )
        return found

    def _function(self, name: str, file: str, line: int) -> str:
        return self._add(
            f"distinct !DISubprogram(name: {_quoted(name)}, scope: {file}, file: {file}, "
            f"line: {line}, type: {self._type}, scopeLine: {line}, "
            f"spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: {self._unit})"
        )

    def _file(self, path: str) -> str:
        if path not in self._files:
            folder, _, name = path.rpartition("/")
            self._files[path] = self._add(
                f"!DIFile(filename: {_quoted(name)}, directory: {_quoted(folder)})"
            )
        return self._files[path]

    def _add(self, node: str) -> str:
        name = f"!{self._count}"
        self._count += 1
        self._lines.append(f"{name} = {node}")
        return name


def _quoted(text: str) -> str:
    """A string of LLVM IR, in which everything that is not plain is written as bytes."""
    plain = (
        chr(each) if 32 <= each < 127 and each not in b'"\\' else f"\\{each:02X}"
        for each in text.encode("utf-8", "surrogatepass")
    )
    return f'"{"".join(plain)}"'
