"""Shows a module as a person would want to read it.

Types are written out where they are used, small constants stand as their values, and each function
has its parameters in front and its blocks indented. `assembly` shows the bare instructions instead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from groundstate.compiler.spirv import types as t
from groundstate.compiler.spirv.constants import Address, Constant
from groundstate.compiler.spirv.debug_info import SourceLine
from groundstate.compiler.spirv.instructions import ROWS, enumeration
from groundstate.compiler.spirv.module import Function, Instruction, Module, Variable
from groundstate.compiler.spirv.opcodes import Decoration, FunctionParameterAttribute, Op
from groundstate.compiler.spirv.text import OperandText, enumerant_text, number_text, quoted

INLINE_PARTS = 16
"""A constant with more values than this is shown once, and by name where it is used."""
SHOWN_PARTS = 1024
LEFT = 24
"""How far results are moved to the left of what they are the results of, at most."""
BUILTIN_OR_LINK = frozenset((Decoration.BuiltIn, Decoration.LinkageAttributes))


def disassemble(module: Module) -> Iterator[str]:
    """The lines of a module. Raises `InvalidModule` when it comes to a function that is broken."""
    return Disassembler(module).lines()


class Disassembler:
    """Shows one module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.locals: dict[int, str] = {}
        """The names of the ids of the function that is being shown."""

    def lines(self) -> Iterator[str]:
        """All the lines."""
        yield from self.header()
        yield from spaced(self.structures())
        yield from spaced(self.large_constants())
        yield from spaced(self.variable(v) for v in self.module.variables.values())
        for id in self.module.function_ids:
            yield ""
            yield from self.function(self.module.function(id))

    # --- The module -------------------------------------------------------------------------------

    def header(self) -> Iterator[str]:
        """What the module says about itself."""
        module = self.module
        major, minor = module.version
        addressing = enumerant_text("AddressingModel", module.addressing_model)
        memory = enumerant_text("MemoryModel", module.memory_model)
        yield f"; SPIR-V {major}.{minor}, {addressing}, {memory}, ids below {module.bound}"
        capabilities = [enumerant_text("Capability", c) for c in sorted(module.capabilities)]
        for title, words in (
            ("capabilities", capabilities),
            ("extensions", sorted(module.extensions)),
            ("instruction sets", sorted(module.ext_imports.values())),
        ):
            if words:
                yield f"; {title}: {', '.join(words)}"
        if module.source is not None:
            language = enumerant_text("SourceLanguage", module.source.language)
            yield f"; source: {language} {module.source.version}"

    def structures(self) -> Iterator[str]:
        """The structures, with where their members lie."""
        for id, kind in self.module.types.items():
            if not isinstance(kind, t.Struct):
                continue
            members = [
                f"{self.type_text(member)} {self._member_name(id, index)} @{offset}"
                for index, (member, offset) in enumerate(
                    zip(kind.members, kind.offsets, strict=True)
                )
            ]
            packed = "packed " if kind.packed else ""
            body = "; ".join(members)
            yield f"{packed}struct {self.id(id)} {{ {body} }}  ; {kind.size} bytes"

    def _member_name(self, id: int, index: int) -> str:
        return clean(self.module.member_names.get((id, index), f"_{index}"))

    def large_constants(self) -> Iterator[str]:
        """The constants that are too long to stand where they are used."""
        for id, constant in self.module.constants.items():
            if not is_small(constant):
                text = self.constant_text(constant, SHOWN_PARTS)
                yield f"value {self.type_text(constant.type)} {self.id(id)} = {text}"

    def variable(self, variable: Variable) -> str:
        """One variable of the module."""
        storage = t.STORAGE_WORDS.get(variable.storage, str(variable.storage))
        kind = self.type_text(variable.data_type) if variable.data_type else "untyped"
        line = f"{storage} {kind} {self.id(variable.id)}"
        if variable.initializer is not None:
            line += f" = {self._initializer(variable)}"
        if variable.builtin is not None:
            line += f"  ; built-in {enumerant_text('BuiltIn', variable.builtin)}"
        return line + self.linkage(variable.id) + self.decorations(variable.id)

    def _initializer(self, variable: Variable) -> str:
        initializer = variable.initializer
        assert initializer is not None
        if not is_small(initializer) and id(initializer) in self._constant_ids:
            return self.id(self._constant_ids[id(initializer)])
        return self.constant_text(initializer, INLINE_PARTS)

    @cached_property
    def _constant_ids(self) -> dict[int, int]:
        """The ids of constants, by the identity of the object."""
        return {id(constant): number for number, constant in self.module.constants.items()}

    def linkage(self, id: int) -> str:
        """How other modules know an id."""
        module = self.module
        if id in module.imports:
            return f"  ; import {quoted(module.imports[id])}"
        if id in module.exports:
            how = "link once" if id in module.link_once else "export"
            return f"  ; {how} {quoted(module.exports[id])}"
        return ""

    def decorations(self, id: int) -> str:
        """What else is said about an id."""
        said = self.module.decorations.get(id, {})
        texts = [
            self._decoration(decoration, operands)
            for decoration, operands in said.items()
            if decoration not in BUILTIN_OR_LINK
        ]
        return f"  ; {', '.join(texts)}" if texts else ""

    def _decoration(self, decoration: int, operands: tuple[int, ...] | str) -> str:
        name = enumerant_text("Decoration", decoration)
        if isinstance(operands, str):
            return f"{name} {quoted(operands)}"
        if decoration == Decoration.FuncParamAttr:
            return " ".join(enumerant_text("FunctionParameterAttribute", o) for o in operands)
        known = enumeration("Decoration").get(decoration)
        kinds = [operand.kind for operand in known.operands] if known else []
        texts = [
            enumerant_text(kind, word) if kind[0].isupper() else str(word)
            for kind, word in zip(kinds, operands, strict=False)
        ]
        return " ".join([name, *texts, *map(str, operands[len(kinds) :])])

    # --- Functions --------------------------------------------------------------------------------

    def function(self, function: Function) -> Iterator[str]:
        """One function, from its signature to its end."""
        module = self.module
        self.locals = self._names_in(function)
        for name in self._kernels.get(function.id, ()):
            yield f"; kernel {quoted(name)}{self._modes(function.id)}"
        signature = module.types[function.type]
        result = signature.result if isinstance(signature, t.FunctionType) else signature
        parameters = ", ".join(map(self._parameter, function.parameters))
        control = enumerant_text("FunctionControl", function.control)
        control = "" if control == "None" else f" {control}"
        line = f"{self.type_text(result)} {self.id(function.id)}({parameters}){control}"
        if not function.blocks:
            yield line + self.linkage(function.id)
            return
        yield line + " {" + self.linkage(function.id) + self.decorations(function.id)
        for block in function.blocks:
            yield f"{self.id(block.label)}:"
            yield from self.block(block.instructions)
        yield "}"

    @cached_property
    def _kernels(self) -> dict[int, list[str]]:
        """The names under which programs know a function as a kernel."""
        names: dict[int, list[str]] = {}
        for point in self.module.entry_points.values():
            names.setdefault(point.function, []).append(point.name)
        return names

    def _modes(self, id: int) -> str:
        modes = self.module.execution_modes.get(id, {})
        texts = [
            " ".join([enumerant_text("ExecutionMode", mode), *map(str, operands)])
            for mode, operands in modes.items()
        ]
        return f": {', '.join(texts)}" if texts else ""

    def _parameter(self, parameter: Instruction) -> str:
        kind = self.type_text(self.module.types[parameter.type])
        said = self.module.decorations.get(parameter.result, {})
        attributes = said.get(Decoration.FuncParamAttr, ())
        by_value = FunctionParameterAttribute.ByVal in attributes if attributes else False
        return f"{kind} {self.id(parameter.result)}{' byval' if by_value else ''}"

    def block(self, instructions: list[Instruction]) -> Iterator[str]:
        """The instructions of a block, with their results in a column."""
        lefts = [self.id(i.result) if i.result else "" for i in instructions]
        width = max((len(left) for left in lefts if len(left) <= LEFT), default=0)
        line: SourceLine | None = None
        for instruction, left in zip(instructions, lefts, strict=True):
            if instruction.line is not line:
                line = instruction.line
                yield f"    ; {self.place(line)}"
            margin = f"    {left:<{width}} = " if left else "    "
            yield margin + self.instruction(instruction) + self.decorations(instruction.result)

    def place(self, line: SourceLine | None) -> str:
        """A line of the source, and the calls that were inlined around it."""
        debug_info = self.module.debug_info
        frames = debug_info.frames(line, "") if line is not None and debug_info is not None else []
        if not frames:
            return "no line"
        told = [
            f"{file}:{at}:{column} {function}".rstrip() for file, at, column, function in frames
        ]
        return ", called at ".join(told)

    def instruction(self, instruction: Instruction) -> str:
        """One instruction without its result."""
        row = ROWS[instruction.opcode]
        parts = [row.name]
        if instruction.type:
            parts.append(self.type_text(self.module.types[instruction.type]))
        extension, kind = None, None
        if instruction.opcode == Op.ExtInst:
            extension = self.module.ext_imports.get(instruction.operands[0])
        if instruction.opcode == Op.Switch:
            kind = self._type_of(instruction.operands[0])
        operands = OperandText(self.operand, kind, extension).texts(row, instruction.operands)
        if extension is not None:
            operands[0:2] = [f"{extension}.{operands[1]}"]
        return " ".join([*parts, " ".join(operands)]).rstrip()

    def _type_of(self, id: int) -> t.Type | None:
        constant = self.module.constants.get(id)
        return constant.type if constant is not None else self._value_types.get(id)

    @cached_property
    def _value_types(self) -> dict[int, t.Type]:
        found = {}
        for id in self.module.function_ids:
            function = self.module.function(id)
            bodies = [block.instructions for block in function.blocks]
            for instructions in (function.parameters, *bodies):
                for instruction in instructions:
                    if instruction.type:
                        found[instruction.result] = self.module.types[instruction.type]
        return found

    # --- Ids, types, constants --------------------------------------------------------------------

    def operand(self, id: int) -> str:
        """An id where it is used: its value if it is a small constant, a type as it is written."""
        constant = self.module.constants.get(id)
        if constant is not None and is_small(constant):
            return self.constant_text(constant, INLINE_PARTS)
        kind = self.module.types.get(id)
        return self.type_text(kind) if kind is not None else self.id(id)

    def id(self, id: int) -> str:
        """An id by its name."""
        return self.locals.get(id) or self._globals.get(id) or f"%{id}"

    @cached_property
    def _globals(self) -> dict[int, str]:
        """The names of the ids of the module; a kernel without one has that of its entry point."""
        module = self.module
        kernels = {point.function: name for name, point in module.entry_points.items()}
        named = kernels | {id: module.names[id] for id in module.global_ids if id in module.names}
        return unique(named, set())

    @cached_property
    def _taken(self) -> set[str]:
        return set(self._globals.values())

    def _names_in(self, function: Function) -> dict[int, str]:
        """The names of the ids of a function."""
        ids = [parameter.result for parameter in function.parameters]
        for block in function.blocks:
            ids.append(block.label)
            ids += [instruction.result for instruction in block.instructions]
        names = self.module.names
        return unique({id: names[id] for id in ids if id in names}, self._taken)

    def type_text(self, kind: t.Type) -> str:
        """A type, with structures by their names."""
        return re.sub(r"%\d+", lambda found: self.id(int(found[0][1:])), str(kind))

    def constant_text(self, constant: Constant, parts: int) -> str:
        """The value of a constant, with at most so many parts of each composite."""
        value = constant.value
        if constant.undef:
            return "undef"
        if isinstance(value, int):
            return number_text(constant.type, value)
        if isinstance(value, Address):
            offset = f" + {value.offset}" if value.offset else ""
            return f"&{self.id(value.base)}{offset}"
        if isinstance(value, tuple):
            if is_text(constant):
                return quoted(text_of(value)).replace("\n", "\\n")
            shown = ", ".join(self.constant_text(part, parts // 16) for part in value[:parts])
            return f"{{{shown}{', ...' if len(value) > parts else ''}}}"
        return "null" if value is None else str(value)


def is_small(constant: Constant) -> bool:
    """Whether a constant can stand where it is used."""
    return constant.weight <= INLINE_PARTS + 1


def is_text(constant: Constant) -> bool:
    """Whether a constant is an array of bytes that can be read."""
    kind, value = constant.type, constant.value
    if not isinstance(kind, t.Array) or kind.element != t.Int(8) or not isinstance(value, tuple):
        return False
    codes = [part.value for part in value]
    printable = all(
        isinstance(code, int) and (32 <= code < 127 or code == 10) for code in codes[:-1]
    )
    return printable and codes[-1] == 0


def text_of(parts: tuple[Constant, ...]) -> str:
    """The text that bytes stand for."""
    codes = [part.value for part in parts[:-1]]
    return "".join(chr(code) for code in codes if isinstance(code, int))


def unique(names: dict[int, str], taken: set[str]) -> dict[int, str]:
    """Ids with their names; one that is taken, or that ids share, has the number behind it."""
    cleaned = {id: f"%{clean(name)}" for id, name in names.items() if clean(name)}
    uses = Counter(cleaned.values())
    return {
        id: name if uses[name] == 1 and name not in taken else f"{name}.{id}"
        for id, name in cleaned.items()
        if not name[1:].isdigit()
    }


def clean(name: str) -> str:
    """A name with nothing in it that would confuse a reader of the text."""
    return re.sub(r"[^\w.$:<>~-]+", "_", name)


def spaced(lines: Iterator[str]) -> Iterator[str]:
    """Lines with an empty one in front, if there are any."""
    for number, line in enumerate(lines):
        if number == 0:
            yield ""
        yield line
