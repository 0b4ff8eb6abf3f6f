"""Changes SPIR-V modules so that they mean something else and stay well defined.

Integer operations become other integer operations, comparisons other comparisons, and operands
change places. What an address, a shift, a division, a conversion, a call or the end of a loop
depends on is left alone: there a change could make the result undefined, and then two compilers may
well differ.
"""

from __future__ import annotations

import random
from array import array
from dataclasses import dataclass

HEADER_WORDS = 5

DECORATE = 71
NO_WRAP = (4469, 4470)
LABEL, BRANCH, BRANCH_CONDITIONAL, SWITCH = 248, 249, 250, 251
PHI = 245

SAME_SHAPE = (
    (128, 130, 132, 197, 198, 199),  # IAdd ISub IMul BitwiseOr BitwiseXor BitwiseAnd
    (170, 171, 172, 173, 174, 175, 176, 177, 178, 179),  # IEqual to SLessThanEqual
    (200, 126),  # Not SNegate
    (164, 165, 166, 167),  # LogicalEqual LogicalNotEqual LogicalOr LogicalAnd
)
ALTERNATIVES = {opcode: group for group in SAME_SHAPE for opcode in group}
TWO_OPERANDS = frozenset((*SAME_SHAPE[0], *SAME_SHAPE[1], *SAME_SHAPE[3]))

DELICATE = frozenset(
    (
        *(57, 59),  # FunctionCall, Variable
        *(61, 62, 63, 64),  # Load, Store (its address), CopyMemory, CopyMemorySized
        *(65, 66, 67, 70),  # access chains
        *(77, 78),  # vectors with an index that is computed
        *(109, 110, 120),  # conversions from floats, and from integers to pointers
        *(134, 135, 137, 138, 139),  # divisions and remainders
        *(194, 195, 196),  # shifts
        *range(227, 243),  # atomics
        *(224, 225),  # barriers
        *range(260, 272),  # operations of groups
        12,  # extended instructions
    )
)
"""What may be undefined for some operands."""


@dataclass(frozen=True)
class Instruction:
    """Where an instruction lies, and its words."""

    at: int
    opcode: int
    words: tuple[int, ...]

    @property
    def result(self) -> int:
        return self.words[2] if len(self.words) > 2 else 0


def instructions(words: array[int]) -> list[Instruction]:
    found, at = [], HEADER_WORDS
    while at < len(words) and words[at] >> 16:
        length = words[at] >> 16
        found.append(Instruction(at, words[at] & 0xFFFF, tuple(words[at : at + length])))
        at += length
    return found


def mutate(module: bytes, chance: random.Random, most: int = 6) -> bytes:
    """A module that means something else; the same if there is nothing to change."""
    words = array("I", without_promises(module))
    found = instructions(words)
    fixed = dependences(found)
    free = [each for each in found if each.opcode in ALTERNATIVES and each.result not in fixed]
    for chosen in chance.sample(free, min(len(free), chance.randint(1, most))):
        if chosen.opcode in TWO_OPERANDS and chance.random() < 0.25:
            words[chosen.at + 3], words[chosen.at + 4] = chosen.words[4], chosen.words[3]
        else:
            opcode = chance.choice(ALTERNATIVES[chosen.opcode])
            words[chosen.at] = chosen.words[0] & 0xFFFF0000 | opcode
    return words.tobytes()


def without_promises(module: bytes) -> bytes:
    """A module in which no operation promises not to wrap."""
    words = array("I", module)
    kept = words[:HEADER_WORDS]
    for each in instructions(words):
        if not (each.opcode == DECORATE and each.words[2] in NO_WRAP):
            kept.extend(each.words)
    return kept.tobytes()


def dependences(found: list[Instruction]) -> set[int]:
    """The results that something delicate depends on, directly or not."""
    defined = {each.result: each for each in found if len(each.words) > 2}
    pending = [word for each in found if each.opcode in DELICATE for word in operands(each)]
    pending += loop_conditions(found)
    reached: set[int] = set()
    while pending:
        word = pending.pop()
        if word in reached:
            continue
        reached.add(word)
        definition = defined.get(word)
        if definition is not None:
            pending += definition.words[3:]
    return reached


def operands(each: Instruction) -> tuple[int, ...]:
    """The words of an instruction that may be operands; of a store only the address."""
    return each.words[1:2] if each.opcode == 62 else each.words[3:]


def loop_conditions(found: list[Instruction]) -> list[int]:
    """What is branched on between the first block of a loop and its last."""
    labels = {each.words[1]: each.at for each in found if each.opcode == LABEL}
    spans = [
        (labels[word], each.at)
        for each in found
        if each.opcode in (BRANCH, BRANCH_CONDITIONAL, SWITCH)
        for word in each.words[1:]
        if labels.get(word, each.at) < each.at
    ]
    return [
        each.words[1]
        for each in found
        if each.opcode in (BRANCH_CONDITIONAL, SWITCH)
        and any(start <= each.at <= end for start, end in spans)
    ]
