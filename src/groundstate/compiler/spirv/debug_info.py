"""What a module says of its source: OpLine, OpSource, and the instruction sets for debuggers.

Four sets are known: `OpenCL.DebugInfo.100`, `NonSemantic.Shader.DebugInfo.100` and `.200`, and the
`DebugInfo` and `SPIRV.debug` of older translators. They number their instructions alike. Of those,
scopes and inlined calls are read; types and variables are not.

All of this is for people. Whatever is wrong with it is left out, and the module is taken without.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.opcodes import Op
from groundstate.compiler.spirv.strings import read_string
from groundstate.printable import printable

if TYPE_CHECKING:
    from groundstate.compiler.spirv.module import Module

DEBUG_SETS = ("NonSemantic.", "OpenCL.DebugInfo", "DebugInfo", "SPIRV.debug")
"""How the names of sets of instructions begin that change nothing in what a kernel computes."""
SCOPED_SETS = ("NonSemantic.Shader.DebugInfo", *DEBUG_SETS[1:])
"""Those of them that say where in the source something is."""

FUNCTION, LEXICAL_BLOCK, DISCRIMINATOR = 20, 21, 22
SCOPE, NO_SCOPE, INLINED_AT, SOURCE = 23, 24, 25, 35
SOURCE_CONTINUED, LINE, NO_LINE = 102, 103, 104
"""The numbers of the instructions that are read."""
DECLARE, VALUE = 28, 29
VARIABLES = frozenset((DECLARE, VALUE))
"""Those that stand in functions and say where a variable of the source is, or what it is."""

EXTENDED = (Op.ExtInst, Op.ExtInstWithForwardRefsKHR)
MAX_FRAMES = 100
"""How deeply calls may be inlined into each other, and scopes lie in each other."""
MAX_FILE_CHARACTERS = 1000
MAX_LINE = 1 << 31

SourceLine = tuple[int, int, int, int, int]
"""The id of a file, a line, a column, and the ids of a scope and of an inlined call; 0: none."""
Frames = list[tuple[str, int, int, str]]
"""File, line, column and function, the innermost first."""


@light_dataclass()
class DebugInstruction:
    """An instruction of one of the sets, outside of functions."""

    number: int
    operands: tuple[int, ...]
    is_shader: bool
    """Whether its numbers are ids of constants."""
    has_columns: bool
    """Whether inlined calls have columns."""


def is_debug_set(name: str) -> bool:
    """True if the instructions of a set may be left out."""
    return name.startswith(DEBUG_SETS)


class LineTracker:
    """Which line of the source is in force, while the instructions of a function go by."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.sets = {id for id, name in module.ext_imports.items() if name.startswith(SCOPED_SETS)}
        """The instructions of these are for this tracker alone."""
        self.current: SourceLine | None = None
        self._line = (0, 0, 0)
        self._scope = (0, 0)

    def leave_block(self) -> None:
        """Lines and scopes end with their block."""
        self._line, self._scope, self.current = (0, 0, 0), (0, 0), None

    def take_line(self, operands: Sequence[int]) -> None:
        """Takes an OpLine, or an OpNoLine, which has no operands."""
        self._set_line(tuple(operands[:3]) if len(operands) >= 3 else ())

    def take(self, words: Sequence[int]) -> None:
        """Takes an OpExtInst of a debug set: type, result, set, number, operands."""
        number, operands = words[3], words[4:]
        if number == SCOPE and operands:
            self._scope = (operands[0], operands[1] if len(operands) > 1 else 0)
        elif number == NO_SCOPE:
            self._scope = (0, 0)
        elif number == LINE and len(operands) >= 4:
            line, column = (self._constant(operands[each]) for each in (1, 3))
            self._set_line((operands[0], line, column))
            return
        elif number == NO_LINE:
            self._set_line(())
            return
        self._update()

    def _constant(self, id: int) -> int:
        constant = self.module.constants.get(id)
        value = constant.value if constant is not None else None
        return value if isinstance(value, int) else 0

    def _set_line(self, line: tuple[int, ...]) -> None:
        self._line = (line[0], line[1], line[2]) if line else (0, 0, 0)
        self._update()

    def _update(self) -> None:
        # Without a line, a scope still tells the function.
        self.current = (*self._line, *self._scope) if any(self._line) else None


class DebugInfo:
    """What the part of a module before its functions says of the source."""

    def __init__(self, module: Module, words: array[int], end: int) -> None:
        self.module = module
        self._words = words
        self._end = end
        self._frames: dict[SourceLine, Frames] = {}

    @cached_property
    def _said(self) -> tuple[dict[int, DebugInstruction], dict[str, str]]:
        """The instructions by their ids, and the texts of files, as far as they are there."""
        instructions: dict[int, DebugInstruction] = {}
        texts: dict[str, str] = {}
        last = ""
        at = 5
        while at < self._end:
            opcode, count = self._words[at] & 0xFFFF, self._words[at] >> 16
            operands = self._words[at + 1 : at + count]
            if opcode in EXTENDED and len(operands) >= 4:
                last = self._extended(operands, instructions, texts, last)
            elif opcode == Op.Source and len(operands) > 3:
                last = self._file(operands[2])
                texts.setdefault(last, _text(operands[3:]))
            elif opcode == Op.SourceContinued and last in texts:
                texts[last] += _text(operands)
            at += count
        return instructions, {name: text for name, text in texts.items() if name and text}

    def _extended(
        self,
        words: array[int],
        instructions: dict[int, DebugInstruction],
        texts: dict[str, str],
        last: str,
    ) -> str:
        """Notes an instruction; returns the file whose text may go on."""
        name = self.module.ext_imports.get(words[2], "")
        if not name.startswith(SCOPED_SETS):
            return last
        number, operands = words[3], tuple(words[4:])
        is_shader = name.startswith("NonSemantic.")
        instructions[words[1]] = DebugInstruction(
            number, operands, is_shader, name.endswith(".200")
        )
        if number == SOURCE and operands:
            last = self._file(operands[0])
            if len(operands) > 1:
                text = self.module.strings.get(operands[1], "")
                texts.setdefault(last, "" if text.startswith("//__CSK_") else text)
        elif number == SOURCE_CONTINUED and operands and last in texts:
            texts[last] += self.module.strings.get(operands[0], "")
        return last

    def instruction(self, id: int) -> DebugInstruction | None:
        """An instruction by its id: of a type, or of a variable."""
        return self._said[0].get(id)

    def text_of(self, file: str) -> str | None:
        """The text of a file, if the module has it."""
        return self._said[1].get(file)

    def frames(self, line: SourceLine, function: str) -> Frames:
        """Where something stands in the source, and the calls that were inlined around it.

        `function` is what the function is called that it stands in. Empty: it is not known."""
        found = self._frames.get(line)
        if found is None:
            found = self._frames[line] = self._find_frames(line)
        return [(*frame[:3], frame[3] or function) for frame in found]

    def _find_frames(self, line: SourceLine) -> Frames:
        file, number, column, scope, inlined = line
        name = self._file(file) or self._file_of_scope(scope)
        if not name or not 0 < number < MAX_LINE:
            return []
        frames = [(name, number, column if column < MAX_LINE else 0, self._function_of(scope))]
        while inlined and len(frames) < MAX_FRAMES:
            call = self._said[0].get(inlined)
            if call is None or call.number != INLINED_AT:
                break
            number, column, scope, inlined = self._inlined(call)
            name = self._file_of_scope(scope)
            if not name or not 0 < number < MAX_LINE:
                break
            frames.append((name, number, column, self._function_of(scope)))
        return frames if len(frames) < MAX_FRAMES else []

    def _inlined(self, call: DebugInstruction) -> tuple[int, int, int, int]:
        """Line, column, scope and the next call of a DebugInlinedAt."""
        line, *rest = call.operands or (0,)
        line = self._number(call, line)
        column = self._number(call, rest.pop(0)) if call.has_columns and rest else 0
        scope, inlined = (*rest, 0, 0)[:2]
        return line, column, scope, inlined

    def _number(self, user: DebugInstruction, operand: int) -> int:
        if not user.is_shader:
            return operand
        constant = self.module.constants.get(operand)
        value = constant.value if constant is not None else None
        return value if isinstance(value, int) else 0

    def _file(self, id: int) -> str:
        """The name of a file, by the id of its OpString or DebugSource."""
        source = self._said_of(id)
        if source is not None and source.number == SOURCE and source.operands:
            id = source.operands[0]
        return printable(self.module.strings.get(id, "")[:MAX_FILE_CHARACTERS])

    def _said_of(self, id: int) -> DebugInstruction | None:
        said = self.__dict__.get("_said")  # while that is made, files are named by strings
        return said[0].get(id) if said is not None else None

    def _function_scope(self, scope: int) -> DebugInstruction | None:
        """The DebugFunction that a scope lies in."""
        for _ in range(MAX_FRAMES):
            found = self._said[0].get(scope)
            if found is None or found.number == FUNCTION:
                return found
            place = {LEXICAL_BLOCK: 3, DISCRIMINATOR: 2}.get(found.number)
            if place is None or len(found.operands) <= place:
                return None
            scope = found.operands[place]
        return None

    def _function_of(self, scope: int) -> str:
        function = self._function_scope(scope)
        if function is None or not function.operands:
            return ""
        return printable(self.module.strings.get(function.operands[0], "")[:MAX_FILE_CHARACTERS])

    def _file_of_scope(self, scope: int) -> str:
        found = self._said[0].get(scope)
        if found is not None and found.number in (LEXICAL_BLOCK, DISCRIMINATOR) and found.operands:
            return self._file(found.operands[0])
        function = self._function_scope(scope)
        return self._file(function.operands[2]) if function and len(function.operands) > 2 else ""


def _text(words: Sequence[int]) -> str:
    try:
        return read_string(words)[0]
    except InvalidModule:
        return ""
