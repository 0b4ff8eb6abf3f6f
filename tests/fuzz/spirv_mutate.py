"""Changes SPIR-V modules at random, knowing what their words mean.

    mutate(module, random.Random(77))
    mutate(module, random.Random(77), others=more_modules)

A module is taken apart into instructions, and each word into what the grammar says it is: an id, a
type, a number, a value of an enumeration. Most changes put another word of the same kind in its
place, so that the result gets past the reader and reaches the rest of the compiler. The same module
and the same seed always give the same result.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from groundstate.compiler.spirv.grammar import ENUMERATIONS
from groundstate.compiler.spirv.instructions import (
    ROWS,
    Operand,
    enumeration,
    is_bits,
    opencl_rows,
)
from groundstate.compiler.spirv.opcodes import Op
from groundstate.compiler.spirv.strings import string_words
from tests.fuzz.spirv_text import TYPE_OPCODES, Line, Text, kinds_of
from tests.fuzz.spirv_words import INTERESTING, RAW_CHANGES, SMALL

OPCODES = tuple(ROWS)
IN_FUNCTIONS = tuple(
    number
    for number, row in ROWS.items()
    if row.has_type and row.has_result and not row.name.startswith(("OpConstant", "OpSpec"))
)
DECORATIONS = tuple(enumeration("Decoration"))
MODES = tuple(enumeration("ExecutionMode"))
OPENCL = tuple(opencl_rows())
MOST_INSTRUCTIONS_MOVED = 6


def mutate(words: bytes, random: random.Random, others: Sequence[bytes] = ()) -> bytes:
    """A changed copy of a module, with parts of others in it now and then."""
    text = Text(words)
    for _ in range(random.choice((1, 1, 1, 1, 2, 2, 3, 8))):
        if others and random.random() < 0.05:
            splice(text, random, Text(random.choice(others)))
        else:
            random.choice(CHANGES)(text, random)
    changed = text.pack()
    if random.random() < 0.05:
        changed = random.choice(RAW_CHANGES)(changed, random)
    return changed


# --- Words of an instruction ----------------------------------------------------------------------


def some_line(
    text: Text, chance: random.Random, wanted: Callable[[Line], bool] | None = None
) -> Line | None:
    """Any instruction, or any of those that are wanted."""
    lines = text.lines if wanted is None else [line for line in text.lines if wanted(line)]
    return chance.choice(lines) if lines else None


def in_body(text: Text, chance: random.Random) -> Line | None:
    """Any instruction of a function."""
    lines = text.lines[text.first_function :]
    return chance.choice(lines) if lines else None


def any_number(chance: random.Random, before: int = 0) -> int:
    """A number that may make a difference."""
    match chance.randrange(5):
        case 0:
            return before ^ 1 << chance.randrange(32)
        case 1:
            return (before + chance.choice((-2, -1, 1, 2))) & 0xFFFFFFFF
        case 2:
            return chance.getrandbits(32)
    return chance.choice(INTERESTING)


def any_of(kind: str, chance: random.Random) -> int:
    """A value of an enumeration."""
    known = list(enumeration(kind))
    if not is_bits(kind) or chance.random() < 0.7:
        return chance.choice(known)
    return chance.choice(known) | chance.choice(known)


def like(text: Text, chance: random.Random, id: int) -> int:
    """Another id of the same kind: a value of the same type, another type, another label."""
    line = text.line_of(id)
    if line is None:
        return id
    if line.opcode in TYPE_OPCODES:
        return chance.choice(text.types())
    same_type = [each for each in text.lines if each.result and each.type == line.type]
    if line.opcode in (Op.Label, Op.Function):
        same_type = [each for each in text.lines if each.opcode == line.opcode]
    return chance.choice(same_type).result


def any_id(text: Text, chance: random.Random) -> int:
    """Any id, also one that nothing defines."""
    if chance.random() < 0.05:
        return chance.choice((0, text.header[3], text.header[3] - 1, 0xFFFFFFFF))
    known = text.ids(lambda _: True)
    return chance.choice(known) if known else 1


def change_id(text: Text, chance: random.Random) -> None:
    """Another id, mostly of the same kind."""
    line = in_body(text, chance) if chance.random() < 0.8 else some_line(text, chance)
    places = line.places("id") if line is not None else []
    if line is not None and places:
        at = chance.choice(places)
        if chance.random() < 0.6:
            line.words[at] = like(text, chance, line.words[at])
        else:
            line.words[at] = any_id(text, chance)


def swap_ids(text: Text, chance: random.Random) -> None:
    """Two operands of an instruction change places."""
    line = some_line(text, chance, lambda each: len(each.places("id")) > 1)
    if line is not None:
        first, second = chance.sample(line.places("id"), 2)
        line.words[first], line.words[second] = line.words[second], line.words[first]


def rename_id(text: Text, chance: random.Random) -> None:
    """Every use of an id becomes a use of another."""
    before = any_id(text, chance)
    after = like(text, chance, before) if chance.random() < 0.7 else any_id(text, chance)
    for line in text.lines:
        for at in line.places("id"):
            if line.words[at] == before:
                line.words[at] = after


def change_type(text: Text, chance: random.Random) -> None:
    """Another type for a result."""
    line = some_line(text, chance, lambda each: bool(each.type))
    types = text.types()
    if line is not None and types:
        line.words[line.places("type")[0]] = chance.choice(types)


def change_number(text: Text, chance: random.Random) -> None:
    """Another number, or another value of an enumeration."""
    names = ("id", "type", "result")
    line = some_line(text, chance, lambda each: any(kind not in names for kind in each.kinds))
    if line is not None:
        at = chance.choice([at for at, kind in enumerate(line.kinds) if kind not in names])
        if line.kinds[at] in ENUMERATIONS and chance.random() < 0.7:
            line.words[at] = any_of(line.kinds[at], chance)
        elif line.kinds[at] == "extension_instruction":
            line.words[at] = chance.choice(OPENCL)
        else:
            line.words[at] = any_number(chance, line.words[at])


def change_declared_type(text: Text, chance: random.Random) -> None:
    """Another width, length, storage class or element of a type."""
    line = some_line(text, chance, lambda each: each.opcode in TYPE_OPCODES and len(each.words) > 1)
    if line is not None:
        at = chance.randrange(1, len(line.words))
        if line.kinds[at] == "id":
            line.words[at] = any_id(text, chance)
        elif line.kinds[at] in ENUMERATIONS:
            line.words[at] = any_of(line.kinds[at], chance)
        else:
            line.words[at] = chance.choice(INTERESTING)


def change_constant(text: Text, chance: random.Random) -> None:
    """Another value of a constant."""
    line = some_line(text, chance, lambda each: each.opcode in (Op.Constant, Op.SpecConstant))
    if line is not None and len(line.words) > 2:
        at = chance.randrange(2, len(line.words))
        line.words[at] = any_number(chance, line.words[at])


def change_opcode(text: Text, chance: random.Random) -> None:
    """Another instruction, mostly one that takes the same words."""
    line = in_body(text, chance) if chance.random() < 0.9 else some_line(text, chance)
    row = ROWS.get(line.opcode) if line is not None else None
    if line is None or row is None or chance.random() < 0.1:
        fitting: Sequence[int] = OPCODES
    else:
        count, skip = len(line.words), row.has_type + row.has_result
        fitting = [
            number
            for number, each in ROWS.items()
            if (each.has_type, each.has_result) == (row.has_type, row.has_result)
            and each.fewest <= count - skip
            and (each.most is None or each.most >= count - skip)
        ]
    if line is not None:
        line.opcode = chance.choice(fitting or OPCODES)
        line.kinds = kinds_of(line.opcode, line.words)


def add_or_remove_word(text: Text, chance: random.Random) -> None:
    """One operand more or less."""
    line = some_line(text, chance)
    if line is None:
        return
    at = chance.randrange(len(line.words) + 1)
    if line.words and chance.random() < 0.5:
        del line.words[min(at, len(line.words) - 1)]
    else:
        line.words.insert(at, any_id(text, chance))
    line.kinds = kinds_of(line.opcode, line.words)


def change_phi(text: Text, chance: random.Random) -> None:
    """Another value, another way, one way more or one less for a phi."""
    line = some_line(text, chance, lambda each: each.opcode == Op.Phi and len(each.words) > 3)
    labels = text.ids(lambda each: each.opcode == Op.Label)
    if line is None or not labels:
        return
    at = 2 + 2 * chance.randrange((len(line.words) - 2) // 2)
    match chance.randrange(5):
        case 0:
            line.words[at] = like(text, chance, line.words[at])
        case 1:
            line.words[at] = line.result
        case 2:
            line.words[at + 1] = chance.choice(labels)
        case 3:
            del line.words[at : at + 2]
        case 4:
            line.words += [line.words[at], chance.choice(labels)]
    line.kinds = kinds_of(line.opcode, line.words)


def change_branch(text: Text, chance: random.Random) -> None:
    """Another target of a branch."""
    branches = (Op.Branch, Op.BranchConditional, Op.Switch, Op.LoopMerge, Op.SelectionMerge)
    line = some_line(text, chance, lambda each: each.opcode in branches)
    labels = text.ids(lambda each: each.opcode == Op.Label)
    if line is not None and labels and line.places("id"):
        line.words[chance.choice(line.places("id"))] = chance.choice(labels)


# --- Whole instructions ---------------------------------------------------------------------------


def operands_for(
    text: Text, chance: random.Random, kinds: Sequence[Operand], depth: int = 0
) -> list[int]:
    """Words for operands, made up."""
    words: list[int] = []
    for operand in kinds:
        count = chance.randrange(4) if operand.repeated else 1
        if operand.optional and chance.random() < 0.5:
            count = 0
        for _ in range(count):
            words += words_for(text, chance, operand.kind, depth)
    return words


def words_for(text: Text, chance: random.Random, kind: str, depth: int) -> list[int]:
    """Words for one operand, made up."""
    if kind == "id":
        return [any_id(text, chance)]
    if kind == "string":
        return string_words("x" * chance.randrange(6))
    if kind in ("incoming", "member", "case"):
        return [any_id(text, chance), any_id(text, chance)]
    if kind in ENUMERATIONS:
        value, known = any_of(kind, chance), enumeration(kind)
        if value not in known or depth > 2:
            return [value]
        return [value, *operands_for(text, chance, known[value].operands, depth + 1)]
    if kind == "extension_instruction":
        return [chance.choice(OPENCL)]
    return [any_number(chance)]


def insert_instruction(text: Text, chance: random.Random) -> None:
    """A new instruction in a function, and a use of its result in place of another value."""
    types, start = text.types(), text.first_function
    places = [at for at in range(start + 1, len(text.lines)) if text.lines[at].type]
    if not places or not types:
        return
    at = chance.choice(places)
    row = ROWS[chance.choice(IN_FUNCTIONS)]
    kind = text.lines[at].type if chance.random() < 0.5 else chance.choice(types)
    result = text.new_id()
    words = [kind, result, *operands_for(text, chance, row.operands)]
    text.lines.insert(at, Line(row.number, words))
    users = [each for each in text.lines[at + 1 :] if each.places("id")]
    if users:
        user = chance.choice(users[:10])
        user.words[chance.choice(user.places("id"))] = result


def insert_opencl(text: Text, chance: random.Random) -> None:
    """A call of the set OpenCL.std, with values from before it."""
    sets = text.ids(lambda each: each.opcode == Op.ExtInstImport)
    start = text.first_function
    places = [at for at in range(start + 1, len(text.lines)) if text.lines[at].type]
    if not places or not sets:
        return
    at = chance.choice(places)
    kind, result = text.lines[at].type, text.new_id()
    row = opencl_rows()[chance.choice(OPENCL)]
    before = [each for each in text.lines[:at] if each.type == kind] or text.lines[at : at + 1]
    given = [
        chance.choice(before).result if chance.random() < 0.8 else any_id(text, chance)
        for _ in range(max(row.fewest, 1))
    ]
    text.lines.insert(at + 1, Line(Op.ExtInst, [kind, result, sets[0], row.number, *given]))


def decorate(text: Text, chance: random.Random) -> None:
    """A new decoration, with numbers that may be absurd."""
    decoration = chance.choice(DECORATIONS)
    operands = operands_for(text, chance, enumeration("Decoration")[decoration].operands)
    target = any_id(text, chance)
    line = Line(Op.Decorate, [target, decoration, *operands])
    if chance.random() < 0.3:
        line = Line(Op.MemberDecorate, [target, chance.choice(SMALL), decoration, *operands])
    places = [at for at, each in enumerate(text.lines) if each.opcode in TYPE_OPCODES]
    text.lines.insert(places[0] if places else 0, line)


def add_mode(text: Text, chance: random.Random) -> None:
    """A new execution mode, with numbers that may be absurd."""
    kernels = [line for line in text.lines if line.opcode == Op.EntryPoint]
    if not kernels:
        return
    mode = chance.choice(MODES)
    operands = operands_for(text, chance, enumeration("ExecutionMode")[mode].operands)
    at = text.lines.index(kernels[-1]) + 1
    function = kernels[0].words[1] if len(kernels[0].words) > 1 else 0
    text.lines.insert(at, Line(Op.ExecutionMode, [function, mode, *operands]))


def add_type(text: Text, chance: random.Random) -> None:
    """A new type, used in the place of another."""
    row = ROWS[chance.choice(tuple(TYPE_OPCODES))]
    if not row.has_result:
        return
    result, types = text.new_id(), text.types()
    words = [result, *operands_for(text, chance, row.operands)]
    for at, operand in enumerate(row.operands[: len(words) - 1]):
        if operand.kind == "id" and types and chance.random() < 0.8:
            words[1 + at] = chance.choice(types)
    at = chance.randrange(text.first_function + 1)
    text.lines.insert(at, Line(row.number, words))
    user = some_line(text, chance, lambda each: bool(each.type))
    if user is not None:
        user.words[user.places("type")[0]] = result


def remove_instruction(text: Text, chance: random.Random) -> None:
    if text.lines:
        del text.lines[chance.randrange(len(text.lines))]


def repeat_instruction(text: Text, chance: random.Random) -> None:
    """A copy elsewhere, mostly with a result of its own."""
    if not text.lines:
        return
    copied = chance.choice(text.lines).copy()
    if copied.result and chance.random() < 0.8:
        copied.words[copied.places("result")[0]] = text.new_id()
    text.lines.insert(chance.randrange(len(text.lines) + 1), copied)


def move_instructions(text: Text, chance: random.Random) -> None:
    """A few instructions in a row go to another place."""
    if text.lines:
        at = chance.randrange(len(text.lines))
        count = chance.randrange(1, MOST_INSTRUCTIONS_MOVED)
        moved = text.lines[at : at + count]
        del text.lines[at : at + count]
        near = max(0, min(len(text.lines), at + chance.randrange(-8, 9)))
        to = near if chance.random() < 0.7 else chance.randrange(len(text.lines) + 1)
        text.lines[to:to] = moved


def swap_instructions(text: Text, chance: random.Random) -> None:
    if len(text.lines) > 1:
        first, second = chance.sample(range(len(text.lines)), 2)
        lines = text.lines
        lines[first], lines[second] = lines[second], lines[first]


def change_header(text: Text, chance: random.Random) -> None:
    """Another version or bound of ids."""
    at = chance.choice((1, 3, 3, 4))
    text.header[at] = any_number(chance, text.header[at])


def splice(text: Text, chance: random.Random, other: Text) -> None:
    """Instructions of another module, whose ids mean what they mean here."""
    if not other.lines:
        return
    at = chance.randrange(len(other.lines))
    taken = [line.copy() for line in other.lines[at : at + chance.randrange(1, 20)]]
    known = text.ids(lambda _: True) or [1]
    types = text.types() or [1]
    renamed: dict[int, int] = {}
    for line in taken:
        if line.result:
            renamed[line.result] = text.new_id()
            line.words[line.places("result")[0]] = renamed[line.result]
    for line in taken:
        for place in line.places("id"):
            line.words[place] = renamed.get(line.words[place], chance.choice(known))
        for place in line.places("type"):
            line.words[place] = renamed.get(line.words[place], chance.choice(types))
    to = chance.randrange(len(text.lines) + 1)
    text.lines[to:to] = taken


CHANGES: tuple[Callable[[Text, random.Random], None], ...] = (
    change_id,
    change_id,
    change_id,
    change_id,
    swap_ids,
    rename_id,
    change_type,
    change_type,
    change_number,
    change_number,
    change_declared_type,
    change_declared_type,
    change_constant,
    change_opcode,
    change_opcode,
    change_opcode,
    add_or_remove_word,
    change_phi,
    change_branch,
    insert_instruction,
    insert_instruction,
    insert_opencl,
    decorate,
    decorate,
    add_mode,
    add_type,
    remove_instruction,
    repeat_instruction,
    move_instructions,
    swap_instructions,
    change_header,
)
