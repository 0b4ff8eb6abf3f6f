"""Lines of the source in SPIR-V, which LLVM's SPIR-V back end does not write.

Once LLVM IR is optimised, `mark` puts a call of a function named `gs.line.` and a number before
each instruction that comes from another line than the one before it. The back end leaves such calls
where they are; `put` then replaces them by OpLine and, where functions were inlined, the scopes of
OpenCL.DebugInfo.100. So the instructions are the same as without lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator

from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.opencl import variable_info
from groundstate.compiler.opencl.spirv_module import (
    OP_DECORATE,
    OP_EXT_INST,
    OP_EXT_INST_IMPORT,
    OP_FUNCTION,
    OP_FUNCTION_CALL,
    OP_FUNCTION_END,
    OP_LABEL,
    OP_NAME,
    OP_STRING,
    Instruction,
    Module,
    make,
    opcode_of,
)
from groundstate.compiler.opencl.variable_info import Variables, VariableWriter
from groundstate.compiler.spirv import debug_info
from groundstate.compiler.spirv.strings import string_words

MARKER = "gs.line."
ATTRIBUTES = "nounwind memory(inaccessiblemem: readwrite)"
"""Of a marker: it stays where it is, and keeps no access to memory from moving."""

SET = "OpenCL.DebugInfo.100"
INFO_NONE, COMPILATION_UNIT, TYPE_FUNCTION = 0, 1, 8
VERSION, DWARF_VERSION, OPENCL_C, IS_DEFINITION = 1 << 16, 4, 3, 8
OP_TYPE_VOID, OP_LINE, OP_NO_LINE, OP_MEMORY_MODEL = 19, 8, 317, 14
BEFORE_STRINGS = (OP_MEMORY_MODEL, 15, 16, 331)
"""The memory model, entry points and their modes."""

MOST_TEXT_WORDS = 60_000
"""Of a source that is kept in the module: an instruction has at most 65535 words."""

_DECLARED = re.compile(r"^declare !dbg !\d+ ", re.MULTILINE)
_METADATA = re.compile(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$", re.MULTILINE)
_FIELD = re.compile(r'(\w+): (?:!(\d+)|"((?:[^"\\]|\\.)*)"|(-?\d+))')
_AT = re.compile(r", !dbg !(\d+)")
_DECLARED_AT = re.compile(r", !(\d+)\)$")
_SWITCH = re.compile(r"\[\n(?:    .*\n)*  \]")
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2})")

Function = tuple[str, str, int]
"""Its name, file and line."""


@light_dataclass()
class Line:
    """A place in the source, and the call that it was inlined into."""

    file: str
    line: int
    column: int
    function: Function
    caller: Line | None = None


NOWHERE = Line("", 0, 0, ("", "", 0))
"""For instructions that come from no line."""


def without_declarations(ir: str) -> str:
    """LLVM IR whose declarations are as they would be without lines."""
    return _DECLARED.sub("declare ", ir)


# --- LLVM IR --------------------------------------------------------------------------------------


class _Metadata:
    """The debug metadata of a module."""

    def __init__(self, ir: str, name: str) -> None:
        self.name = name
        self.nodes = {
            match[1]: (match[2], {each[1]: each for each in _FIELD.finditer(match[3])})
            for match in _METADATA.finditer(ir)
        }
        files = [fields for kind, fields in self.nodes.values() if kind == "DIFile"]
        self.own_folders = {
            self._text(each, "directory") for each in files if self._text(each, "filename") == "-"
        }
        """Where clang ran, which read the source from its standard input."""
        self._lines: dict[str, Line | None] = {}

    def line(self, number: str) -> Line | None:
        """The place of a DILocation; None if it is none."""
        if number not in self._lines:
            self._lines[number] = None
            self._lines[number] = self._line(number)
        return self._lines[number]

    def _line(self, number: str) -> Line | None:
        kind, fields = self.nodes.get(number, ("", {}))
        line = self._number(fields, "line")
        if kind != "DILocation" or line <= 0 or "scope" not in fields:
            return None
        scope = fields["scope"][2]
        function = self._function(scope)
        caller = self.line(fields["inlinedAt"][2]) if "inlinedAt" in fields else None
        if caller is not None and caller.function == function:
            caller = caller.caller  # clang has two functions for a kernel
        return Line(self._file(scope), line, self._number(fields, "column"), function, caller)

    def _number(self, fields: dict[str, re.Match[str]], name: str) -> int:
        return int(fields[name][4]) if name in fields and fields[name][4] else 0

    def _text(self, fields: dict[str, re.Match[str]], name: str) -> str:
        text = fields[name][3] if name in fields else None
        if not text:
            return ""
        if "\\" not in text:
            return text
        raw = _ESCAPE.sub(lambda each: chr(int(each[1], 16)), text)
        return raw.encode("latin-1", "replace").decode("utf-8", "replace")

    def _function(self, scope: str) -> Function:
        kind, fields = self.nodes.get(scope, ("", {}))
        while kind.startswith("DILexicalBlock") and "scope" in fields:
            kind, fields = self.nodes.get(fields["scope"][2], ("", {}))
        file = self._file(fields["file"][2]) if "file" in fields else ""
        return self._text(fields, "name"), file, self._number(fields, "line")

    def _file(self, scope: str) -> str:
        """The file of a scope, or the name of a DIFile."""
        kind, fields = self.nodes.get(scope, ("", {}))
        while kind != "DIFile" and "file" in fields:
            kind, fields = self.nodes.get(fields["file"][2], ("", {}))
        return self._path(fields) if kind == "DIFile" else ""

    def _path(self, fields: dict[str, re.Match[str]]) -> str:
        """What the program calls a file: clang splits an absolute path where it leaves the folder
        that it runs in."""
        file, folder = self._text(fields, "filename"), self._text(fields, "directory")
        whole = os.path.join(folder, file)
        return whole if whole == self.name or folder not in self.own_folders else file


def mark(ir: str, name: str = "") -> tuple[str, list[Line], Variables]:
    """LLVM IR with markers, and what they stand for; `name` is what the source is called."""
    metadata, variables = _Metadata(ir, name), variable_info.read(ir)
    numbers: dict[Line, int] = {}
    lines: list[str] = []
    now = NOWHERE
    for text in _SWITCH.sub(lambda each: each[0].replace("\n", " "), ir).split("\n"):
        declared = variables.mark(text)
        if not text.startswith("  "):
            now = NOWHERE  # a line ends with its block
        elif " = phi " not in text:
            found = _AT.search(text) or (declared and _DECLARED_AT.search(text)) or None
            line = (metadata.line(found[1]) if found is not None else None) or NOWHERE
            if line is not now:
                number = numbers.setdefault(line, len(numbers))
                lines.append(f'  call spir_func void @"{MARKER}{number}"()')
                now = line
        lines.append(declared or text)
    lines += [f'declare spir_func void @"{MARKER}{n}"() {ATTRIBUTES}' for n in numbers.values()]
    lines += variables.declarations
    return "\n".join(lines) + "\n", list(numbers), variables


# --- SPIR-V ---------------------------------------------------------------------------------------


def put(module: Module, lines: list[Line], variables: Variables, name: str, source: str) -> None:
    """Replaces markers by lines and variables. `source` is the text of the file `name`."""
    _Writer(module, lines, variables, name, source).write()


class _Writer:
    def __init__(
        self, module: Module, lines: list[Line], variables: Variables, name: str, source: str
    ) -> None:
        self.module = module
        self.lines = lines
        self.variables = VariableWriter(module, variables, self._put, self._string)
        self.name = name
        self.source = _plain(source)
        self.strings: dict[str, int] = {}
        self.instructions: list[Instruction] = []
        """Of the debug set, outside of functions."""
        self.set = module.new_id()
        self.void = module.declare(OP_TYPE_VOID)
        self.sources: dict[str, int] = {}
        self.functions: dict[Function, int] = {}
        self.calls: dict[Line, int] = {}

    def write(self) -> None:
        self.none = self._extended(INFO_NONE)
        self.unit = self._extended(
            COMPILATION_UNIT, VERSION, DWARF_VERSION, self._source(self.name), OPENCL_C
        )
        self.variables.unit = self.unit
        self.type = self._extended(TYPE_FUNCTION, 0, self.void)
        body = list(self._body())
        self.module.declarations += self.instructions
        self.module.replace(body)
        self._add_preamble()

    def _add_preamble(self) -> None:
        """Puts the import and the strings where they belong."""
        instructions = self.module.instructions
        imported = make(OP_EXT_INST_IMPORT, self.set, *string_words(SET))
        at = next(n for n, line in enumerate(instructions) if opcode_of(line) == OP_MEMORY_MODEL)
        instructions.insert(at, imported)
        at = max(n for n, line in enumerate(instructions) if opcode_of(line) in BEFORE_STRINGS) + 1
        instructions[at:at] = [
            make(OP_STRING, id, *string_words(text)) for text, id in self.strings.items()
        ]

    def _body(self) -> Iterator[Instruction]:
        """All instructions, with lines in the place of markers."""
        names = self.module.names()
        markers = {
            id: self.lines[int(name.removeprefix(MARKER))]
            for id, name in names.items()
            if name.startswith(MARKER)
        }
        declared = {
            id: int(name.removeprefix(variable_info.MARKER))
            for id, name in names.items()
            if name.startswith(variable_info.MARKER)
        }
        hidden = markers.keys() | declared.keys()
        scope = (0, 0)
        is_marker = False
        for line in self.module.instructions:
            opcode = opcode_of(line)
            if opcode == OP_FUNCTION:
                is_marker = line[2] in hidden
            if opcode == OP_LABEL:
                scope = (0, 0)
            if opcode == OP_FUNCTION_CALL and line[3] in declared:
                yield self._declaration(declared[line[3]], line[4], scope[0])
            elif opcode == OP_FUNCTION_CALL and line[3] in markers:
                place = markers[line[3]]
                if place is NOWHERE:
                    yield make(OP_NO_LINE)
                    continue
                wanted = self._function(place.function), self._call(place.caller)
                if wanted != scope:
                    scope = wanted
                    operands = [scope[0], scope[1]] if scope[1] else [scope[0]]
                    yield self._make(self.module.new_id(), debug_info.SCOPE, *operands)
                yield make(OP_LINE, self._string(place.file), place.line, place.column)
            elif not is_marker and not self._is_about(line, hidden):
                yield line
            if opcode == OP_FUNCTION_END:
                is_marker = False

    def _declaration(self, number: int, address: int, scope: int) -> Instruction:
        """What says in which memory a variable lives."""
        source = self._source(self.name)
        variable, expression = self.variables.declare(number, source, scope or self.unit, self.none)
        operands = (variable, address, expression)
        return self._make(self.module.new_id(), variable_info.DECLARE, *operands)

    def _is_about(self, line: Instruction, markers: Collection[int]) -> bool:
        """True for the names and decorations of markers."""
        return opcode_of(line) in (OP_NAME, OP_DECORATE) and line[1] in markers

    def _string(self, text: str) -> int:
        text = _plain(text)
        if text not in self.strings:
            self.strings[text] = self.module.new_id()
        return self.strings[text]

    def _make(self, id: int, number: int, *operands: int) -> Instruction:
        return make(OP_EXT_INST, self.void, id, self.set, number, *operands)

    def _extended(self, number: int, *operands: int) -> int:
        id = self.module.new_id()
        self._put(id, number, *operands)
        return id

    def _put(self, id: int, number: int, *operands: int) -> None:
        self.instructions.append(self._make(id, number, *operands))

    def _source(self, file: str) -> int:
        if file not in self.sources:
            operands = [self._string(file)]
            if file == self.name and len(string_words(self.source)) <= MOST_TEXT_WORDS:
                operands.append(self._string(self.source))
            self.sources[file] = self._extended(debug_info.SOURCE, *operands)
        return self.sources[file]

    def _function(self, function: Function) -> int:
        if function not in self.functions:
            name, file, line = function
            self.functions[function] = self._extended(
                debug_info.FUNCTION,
                *(self._string(name), self.type, self._source(file), line, 0, self.unit),
                *(self._string(""), IS_DEFINITION, line, self.none),
            )
        return self.functions[function]

    def _call(self, call: Line | None) -> int:
        """The inlined call at a line; 0 for none."""
        if call is None:
            return 0
        if call not in self.calls:
            operands = [call.line, self._function(call.function)]
            outer = self._call(call.caller)
            operands += [outer] if outer else []
            self.calls[call] = self._extended(debug_info.INLINED_AT, *operands)
        return self.calls[call]


def _plain(text: str) -> str:
    """A text that a module can hold."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", " ")
