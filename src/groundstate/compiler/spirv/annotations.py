"""Decorations: what a module says about its ids besides defining them."""

from __future__ import annotations

from array import array

from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.instructions import enumeration
from groundstate.compiler.spirv.module import DecorationOperands, Module
from groundstate.compiler.spirv.opcodes import Decoration, LinkageType, Op
from groundstate.compiler.spirv.strings import read_name, read_string

MAX_GROUP_APPLICATIONS = 1 << 22
"""How many decorations groups may hand out: a few words could otherwise mean billions."""
MAX_ATTRIBUTES = 100

Decorations = dict[int, DecorationOperands]


class Annotations:
    """Collects the decorations of a module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.group_uses: list[tuple[int, int, int | None]] = []  # group, target, member

    def add(self, opcode: int, operands: array[int]) -> None:
        """Takes one instruction that decorates."""
        match opcode:
            case Op.Decorate | Op.DecorateId | Op.DecorateString:
                need(operands, 2)
                self._decorate(operands[0], operands[1], operands[2:])
            case Op.MemberDecorate | Op.MemberDecorateString:
                need(operands, 3)
                self._decorate_member(operands[0], operands[1], operands[2], operands[3:])
            case Op.GroupDecorate:
                need(operands, 1)
                self.group_uses += [(operands[0], target, None) for target in operands[1:]]
            case Op.GroupMemberDecorate:
                need(operands, 1)
                if len(operands) % 2 == 0:
                    raise InvalidModule("a target has no member")
                targets = zip(operands[1::2], operands[2::2], strict=True)
                self.group_uses += [(operands[0], target, member) for target, member in targets]

    def _decorate(self, target: int, decoration: int, words: array[int]) -> None:
        if not 0 < target < self.module.bound:
            raise InvalidModule(f"the id %{target} is out of range")
        if decoration == Decoration.LinkageAttributes:
            self._link(target, words)
            return
        merge(self.module.decorations.setdefault(target, {}), decoration, words)

    def _decorate_member(
        self, target: int, member: int, decoration: int, words: array[int]
    ) -> None:
        key = (target, member)
        merge(self.module.member_decorations.setdefault(key, {}), decoration, words)

    def _link(self, target: int, words: array[int]) -> None:
        name, used = read_name(words)
        if used >= len(words):
            raise InvalidModule("the kind of linkage is missing")
        module, kind = self.module, words[used]
        if kind == LinkageType.Import:
            module.imports[target] = name
        else:
            module.exports[target] = name
        if kind == LinkageType.LinkOnceODR:
            module.link_once.add(target)
        module.decorations.setdefault(target, {})[Decoration.LinkageAttributes] = name

    def apply_groups(self) -> None:
        """Gives each target what its groups say."""
        module, left = self.module, MAX_GROUP_APPLICATIONS
        for group, target, member in self.group_uses:
            said = module.decorations.get(group, {})
            left -= 1 + len(said)
            if left < 0:
                raise InvalidModule("decoration groups are applied too often")
            if target == group:
                continue
            if member is None:
                module.decorations.setdefault(target, {}).update(said)
            else:
                module.member_decorations.setdefault((target, member), {}).update(said)


def merge(said: Decorations, decoration: int, words: array[int]) -> None:
    """Adds a decoration to what was said about an id before."""
    value = operands_of(decoration, words)
    before = said.get(decoration)
    if decoration == Decoration.FuncParamAttr and isinstance(before, tuple):
        assert isinstance(value, tuple)
        value = before + value
        if len(value) > MAX_ATTRIBUTES:
            raise InvalidModule(f"a parameter has more than {MAX_ATTRIBUTES} attributes")
    said[decoration] = value


def operands_of(decoration: int, words: array[int]) -> DecorationOperands:
    """The operands of a decoration: a text where it takes only that, otherwise the words."""
    known = enumeration("Decoration").get(decoration)
    if known is None or not known.operands:
        return tuple(words)
    if len(words) < len(known.operands):
        raise InvalidModule(f"the decoration {known.name} lacks an operand")
    if known.operands[0].kind == "string":
        return read_string(words)[0]
    return tuple(words)


def need(operands: array[int], count: int) -> None:
    """Refuses an instruction that is too short."""
    if len(operands) < count:
        raise InvalidModule("an operand is missing")
