"""Makes up calls from what the registry knows of functions, parameters and structs.

A call is `[name, {parameter: value}]`. A value is a number, None, or a list that begins with a word
and that `execute` understands:

    ["live", 3]              one of the handles of that type that live: the third from the end
    ["dead", 0]              one that was destroyed
    ["other", 1]             a live handle of another type
    ["memory", 2, 64]        an address in an allocation, or with "freed" in one that was
    ["reserved", 0]          an address that zeVirtualMemReserve has returned
    ["room", 24]             so many bytes to write into, right before memory that is not there
    ["text", "-g"]           a string
    ["bytes", "00ff"]        bytes, as hexadecimal text
    ["array", [...]]         words in a row
    ["struct", name, {...}]  the address of a struct with these fields
    ["made", 0]              a struct that an earlier call has filled
    ["loop"] ["astray"]      ends of a pNext chain: back to its beginning, where nothing is,
    ["forbidden"]            and where nobody may read
    ["file", "memory"]       a new descriptor

Which handle that is, is decided when the call is made. So calls can be left out of a sequence, and
the others still mean something.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from registry.load import load
from registry.model import CType, Direction, Field, Function, Parameter, Struct

REGISTRY = load()

Value = Any
Call = list[Any]
Fields = dict[str, Value]

WORD = 2**64 - 1
INTERESTING = (0, 1, 2, 3, 4, 7, 8, 16, 63, 64, 255, 4096, 65535, 2**31 - 1, 2**31, 2**32 - 1)
HUGE = (2**32, 2**40, 2**47, 2**63 - 1, 2**63, 2**64 - 4096, 2**64 - 1)
GARBAGE = (1, 8, 0xFFF, 0x1000, 2**32 - 1, 2**47, 2**63, WORD, 0xDEADBEEFDEADBEE0)

LONGEST_ARRAY = 16

NOT_CALLED = frozenset(("zeDeviceSynchronize",))
"""It waits for all work of the device, also for what waits for an event that nobody signals."""

WEIGHTS = {"ze": 12, "zer": 6, "zes": 2, "zet": 1}

PLAIN: dict[str, tuple[int, ...]] = {
    "size": (1, 64, 4096, 10_000, 65_536),
    "alignment": (0, 1, 64, 4096),
    "pattern_size": (1, 2, 4, 8, 16),
    "ordinal": (0, 0, 0, 1),
    "index": (0, 0, 1, 2, 3),
    "argIndex": (0, 0, 1, 2, 3),
    "count": (1, 2, 4),
    "width": (1, 4, 16),
    "height": (1, 4, 16),
    "depth": (1, 1, 4),
    "arraylevels": (0, 0, 2),
    "miplevels": (0,),
    "originX": (0, 1),
    "originY": (0, 1),
    "originZ": (0,),
    "groupSizeX": (1, 2, 8, 32),
    "groupSizeY": (1, 1, 2),
    "groupSizeZ": (1, 1, 2),
    "groupCountX": (1, 2, 5),
    "groupCountY": (1, 1, 2),
    "groupCountZ": (1,),
    "globalSizeX": (1, 16, 64),
    "globalSizeY": (1, 4),
    "globalSizeZ": (1,),
    "timeout": (0, 0, 1, 20, 500),
    "version": (1, 0x10000, 0x1000A),
    "builderVersion": (0x10000,),
    "argSize": (8, 4),
    "commandId": (1, 2, 3),
}
BOUNDED = frozenset(("timeout", "patience"))
"""What says how long a call may take stays small."""

BLOCKING = frozenset(("ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS",))
"""Appending to such a list returns when an event is signalled, which may be never. So does freeing
memory with a policy that waits."""

TEXTS: dict[str, tuple[str, ...]] = {
    "pKernelName": ("first", "second", "third", "", "nothing"),
    "pFunctionName": ("first", "second"),
    "pGlobalName": ("first", "counter"),
    "pBuildFlags": ("", "-g", "-ze-opt-level=1", "-cl-mad-enable", "nonsense", "-ze-opt-level 9"),
    "filePath": ("/dev/null",),
    "name": ("zeDriverGetApiVersion", "zesDriverGet", "nothing", ""),
}
"""What strings are made of; others are short and say nothing."""

MEMORY = frozenset(
    [
        "ptr",
        "dstptr",
        "srcptr",
        "pStart",
        "pRanges",
        "pCountBuffer",
        "pLaunchArgumentsBuffer",
        "deviceAddress",
        "hostAddress",
        "base",
        "pSystemMemory",
        "pRtasBuffer",
        "pScratchBuffer",
    ]
)
"""Parameters and fields that lead to memory of the device, or that only name an address."""

UNCOUNTED = frozenset(("pEvents",))
"""Arrays of which the registry does not say how long they are."""

FILES = ("memory", "event", "pipe", "none", "closed")


@cache
def functions() -> tuple[list[str], list[int]]:
    """The functions that are called, and how often."""
    names = [name for name in REGISTRY.functions if name not in NOT_CALLED]
    return names, [WEIGHTS[REGISTRY.functions[name].namespace] for name in names]


def sequence(chance: random.Random, length: int) -> list[Call]:
    """Some calls in a row."""
    names, weights = functions()
    return [call(name, chance) for name in chance.choices(names, weights, k=length)]


def call(name: str, chance: random.Random) -> Call:
    """One call; about half of them have something hostile in them."""
    hostility = chance.choice((0.0, 0.0, 0.0, 0.1, 0.3))
    function = REGISTRY.functions[name]
    return [name, Maker(chance, hostility, function.noun == "zeVirtualMem").arguments(function)]


class Maker:
    """Makes values, of which a share is hostile."""

    def __init__(self, chance: random.Random, hostility: float, reserved: bool) -> None:
        self.chance = chance
        self.hostility = hostility
        self.reserved = reserved
        """Whether addresses are of memory that was only reserved."""

    def is_hostile(self) -> bool:
        return self.chance.random() < self.hostility

    # --- Functions --------------------------------------------------------------------------------

    def arguments(self, function: Function) -> Fields:
        """Values for all parameters. Arrays come first, for they say what their counts are."""
        made: Fields = {}
        for parameter in function.parameters:
            if parameter.count and parameter.name not in made:
                self._counted(function, parameter, made)
        for parameter in function.parameters:
            if parameter.name not in made:
                made[parameter.name] = self._parameter(parameter, made)
        return made

    def _counted(self, function: Function, array: Parameter, made: Fields) -> None:
        """An array and its count, which agree unless they are hostile."""
        count_name = str(array.count).lstrip("*")
        count = next(p for p in function.parameters if p.name == count_name)
        length = made.get(count_name)
        if not isinstance(length, int):
            length = self.chance.choice((0, 1, 1, 2, 3))
        if length > LONGEST_ARRAY:
            made[array.name] = None
        elif array.direction is Direction.IN:
            made[array.name] = self._array(array, length)
        elif length == 0 and array.optional:
            made[array.name] = None
        else:
            made[array.name] = self._room_for(array.type, length)
        if self.is_hostile():
            length = self._wrong_count(function, count_name, made)
        if count.type.is_pointer:
            made[count_name] = ["bytes", _bytes_of(count.type.base, length)]
        else:
            made[count_name] = length

    def _wrong_count(self, function: Function, count: str, made: Fields) -> int:
        """A count without arrays."""
        for array in function.parameters:
            if array.count and array.count.lstrip("*") == count:
                made[array.name] = None
        return int(self.chance.choice(INTERESTING))

    def _array(self, array: Parameter, length: int) -> Value:
        if length == 0:
            return None
        element = CType.parse(array.type.text.removeprefix("const ").replace("*", "", 1).strip())
        if array.type.depth == 1 and REGISTRY.struct_of(array.type.base):
            return ["structs", [self.struct(array.type.base, deep=False) for _ in range(length)]]
        if array.type.depth == 1 and array.type.base in ("void", "uint8_t"):
            return ["bytes", self.chance.randbytes(length).hex()]
        return ["array", [self._element(array.name, element) for _ in range(length)]]

    def _element(self, name: str, element: CType) -> Value:
        if element.is_pointer:
            return self._memory() if name in MEMORY else ["room", 64]
        return self.scalar(name, element)

    def _parameter(self, parameter: Parameter, made: Fields) -> Value:
        kind, name = parameter.type, parameter.name
        if not kind.is_pointer:
            return self.scalar(name, kind)
        if parameter.must_be_zero or (name == "pNext" and not self.is_hostile()):
            return None
        if parameter.optional and self.chance.random() < 0.4:
            return None
        return self.pointer(name, kind, parameter.direction, made)

    # --- Values -----------------------------------------------------------------------------------

    def scalar(self, name: str, kind: CType) -> Value:
        """A value that is passed as it is."""
        if REGISTRY.kind_of(kind.base):
            return self.handle()
        if kind.base in REGISTRY.callbacks:
            return ["function"]
        if REGISTRY.struct_of(kind.base):
            return (
                ["made", self.chance.randrange(3)]
                if self.chance.random() < 0.7
                else (self.struct(kind.base, deep=False))
            )
        if name == "fd":
            return ["file", self.chance.choice(FILES)]
        enum = REGISTRY.enum_of(kind.base)
        if name == "freePolicy":
            return self.chance.choice((0, 2, 4))
        if enum is not None:
            allowed = [value for known, value in enum.known if known not in BLOCKING]
            return self._enumerated(enum.is_flags, allowed)
        if kind.base in ("double", "float"):
            return self.chance.choice((0.0, 1.0, -1.0, 1e300, 0.5))
        return self.number(name)

    def _enumerated(self, is_flags: bool, known: list[int]) -> int:
        if self.is_hostile():
            return int(self.chance.choice((0x7FFFFFFF, 0xFFFFFFFF, 2**30, *INTERESTING[3:])))
        if is_flags and self.chance.random() < 0.6:
            return 0
        return int(self.chance.choice(known))

    def number(self, name: str) -> int:
        plain = PLAIN.get(name)
        if plain and (name in BOUNDED or not self.is_hostile()):
            return int(self.chance.choice(plain))
        if self.is_hostile():
            return int(self.chance.choice(INTERESTING + HUGE))
        return int(self.chance.choice((0, 1, 1, 2, 3, 4, 16, 64)))

    def handle(self) -> Value:
        if not self.is_hostile():
            return ["live", self._place()]
        return self.chance.choice(
            (
                None,
                ["dead", self._place()],
                ["dead", self._place()],
                ["other", self._place()],
                self.chance.choice(GARBAGE),
            )
        )

    def _place(self) -> int:
        return min(int(self.chance.expovariate(0.7)), 30)

    def _memory(self) -> Value:
        if self.is_hostile():
            return self.chance.choice((None, ["freed", 0, 0], *GARBAGE[:6], ["room", 4096]))
        if self.reserved:
            return ["reserved", self._place()]
        return ["memory", self._place(), self.chance.choice((0, 0, 0, 64, 4096))]

    def pointer(self, name: str, kind: CType, direction: Direction, made: Fields) -> Value:
        """A value that leads somewhere."""
        if name in MEMORY and (kind.base == "void" or direction is Direction.IN):
            return self._memory()
        if self.is_hostile() and self.chance.random() < 0.4:
            return None
        if name == "pNext":
            return self.chain(None)
        if kind.depth == 1 and REGISTRY.struct_of(kind.base) is not None:
            return self.struct(kind.base)
        if kind.base == "char" and kind.depth == 1 and direction is Direction.IN:
            return self.text(name)
        if name == "pArgValue":
            return self._argument_value(made)
        if kind.base == "void" and kind.depth == 2 and direction is Direction.IN:
            return ["array", [["room", 64] for _ in range(8)]]
        if kind.base in ("char", "void", "uint8_t") and kind.depth == 1:
            return ["room", 4096]
        if direction is Direction.INOUT and name in ("pCount", "pSize"):
            return ["bytes", _bytes_of(kind.base, self.chance.choice((0, 0, 1, 4)))]
        return ["room", 4096] if name in UNCOUNTED else self._room_for(kind, 1)

    def _argument_value(self, made: Fields) -> Value:
        """A value of as many bytes as are announced, or more."""
        size = self.chance.choice((8, 8, 8, 4, 1, 16))
        if self.is_hostile():
            return ["room", 8192]
        made["argSize"] = size
        if size == 8 and self.chance.random() < 0.7:
            return ["array", [self._memory()]]
        return ["bytes", self.chance.randbytes(size).hex()]

    def text(self, name: str) -> Value:
        if name != "filePath" and self.is_hostile():
            return ["text", self.chance.choice(("", "%s%n", "a" * 5000, "\udcff\n\t", "é" * 40))]
        return ["text", self.chance.choice(TEXTS.get(name, ("", "x")))]

    def _room_for(self, kind: CType, length: int) -> Value:
        """Where a function writes: an array of handles, numbers or structs, or one of them."""
        struct = REGISTRY.struct_of(kind.base)
        if struct is not None and kind.depth == 1:
            return ["structs", [self.struct(kind.base) for _ in range(length)]]
        size = 8 if kind.depth > 1 else size_of(kind.base)
        return ["room", size * length]

    # --- Structs ----------------------------------------------------------------------------------

    def struct(self, type_name: str, deep: bool = True) -> Value:
        """The address of a struct with values in its fields and perhaps a chain."""
        struct = REGISTRY.struct_of(type_name)
        assert struct is not None
        return ["struct", struct.name, self.fields(struct, deep)]

    def fields(self, struct: Struct, deep: bool) -> Fields:
        made: Fields = {}
        for field in struct.fields:
            if field.count and not field.type.length:
                self._counted_field(struct, field, made)
        for field in struct.fields:
            if field.name in made:
                continue
            if field.name == "stype":
                if self.is_hostile():
                    made["stype"] = self.chance.choice(INTERESTING)
            elif field.name == "pNext":
                if deep and self.chance.random() < 0.15:
                    made["pNext"] = self.chain(struct.name)
            else:
                value = self._field(struct, field, made)
                if value is not None:
                    made[field.name] = value
        return made

    def _counted_field(self, struct: Struct, field: Field, made: Fields) -> None:
        count_name = str(field.count).lstrip("*")
        length = made.get(count_name)
        if not isinstance(length, int):
            length = self.chance.choice((0, 1, 2))
        count = next((each for each in struct.fields if each.name == count_name), None)
        if count is None:
            return
        made[count_name] = (
            ["bytes", _bytes_of(count.type.base, length)] if count.type.is_pointer else length
        )
        if length:
            made[field.name] = self._array_of_field(field, length)

    def _array_of_field(self, field: Field, length: int) -> Value:
        if field.type.depth == 1 and REGISTRY.struct_of(field.type.base):
            return ["structs", [self.struct(field.type.base, deep=False) for _ in range(length)]]
        if field.type.depth == 1:
            return ["bytes", _bytes_of(field.type.base, 1) * length]
        if field.name == "pInputModules":
            return ["array", [["module"]] * length]
        return ["array", [["room", 64]] * length]

    def _field(self, struct: Struct, field: Field, made: Fields) -> Value:
        kind = field.type
        if kind.length or field.name.startswith("pfn"):
            return None
        if struct.name == "ze_module_desc_t" and field.name in ("format", "inputSize"):
            return None  # both follow from the module
        if field.name == "pInputModule":
            made["format"] = self.chance.choice((0, 0, 0, 0, 1))
            return ["module"] if not self.is_hostile() else ["spoilt", self.chance.randrange(2**32)]
        if kind.is_pointer:
            if field.optional and self.chance.random() < 0.6:
                return None
            return self.pointer(field.name, kind, field.direction or Direction.IN, made)
        nested = REGISTRY.struct_of(kind.base)
        if nested is not None:
            return ["inline", self.fields(nested, deep=False)]
        return self.scalar(field.name, kind)

    def chain(self, base: str | None) -> Value:
        """What pNext leads to: structs that belong there, or do not, and an end that may loop."""
        if self.is_hostile():
            return self.chance.choice((["loop"], ["astray"], ["forbidden"], ["unknown"]))
        wanted = extensions(base) or extensions(None)
        if self.is_hostile():
            wanted = extensions(None)
        made = self.struct(self.chance.choice(wanted), deep=False)
        if self.chance.random() < 0.3:
            made[2]["pNext"] = self.chain(base)
        return made


@cache
def extensions(base: str | None) -> tuple[str, ...]:
    """The structs that can follow in the chain of one, or of any."""
    return tuple(
        struct.name
        for struct in REGISTRY.structs.values()
        if struct.stype and struct.extends and (base is None or base in struct.extends)
    )


def size_of(type_name: str) -> int:
    """Bytes of a type that is no struct and no array."""
    sizes = {"char": 1, "uint8_t": 1, "ze_bool_t": 1, "void": 1, "uint16_t": 2}
    sizes |= {"uint64_t": 8, "size_t": 8, "double": 8, "int64_t": 8}
    if REGISTRY.kind_of(type_name):
        return 8
    return sizes.get(type_name, 4)


def _bytes_of(type_name: str, value: int) -> str:
    size = size_of(type_name)
    return (value % (1 << 8 * size)).to_bytes(size, "little").hex()
