"""What the generated modules ze, zes, zet and zer stand on.

Those modules hold C declarations as text. A class, an enumeration or a function is made from its
declaration when its name is first used, because making all of them costs more time than a driver
may take to start.
"""

from __future__ import annotations

import ctypes
import importlib

from groundstate.light_functools import cache

TYPE_CHECKING = False  # as typing has it; importing typing would double the cost of this module
if TYPE_CHECKING:
    import enum
    import re
    from collections.abc import Iterable, Mapping
    from typing import Any, ClassVar, Self

DECLARATION = (
    r"(?:const )?(?P<base>[\w ]+?) ?(?P<stars>\**) ?(?P<name>\b\w+)(?:\[(?P<length>\d+)\])?"
)

PLAIN_TYPES: dict[str, Any] = {
    "char": ctypes.c_char,
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    **{f"int{bits}_t": getattr(ctypes, f"c_int{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": getattr(ctypes, f"c_uint{bits}") for bits in (8, 16, 32, 64)},
}


_FUNCTION_POINTER: Any = ctypes.CFUNCTYPE(None).__base__


class MissingFunctionError(AttributeError):
    """A library does not have a function of the API."""


class _Printed:
    """Prints the fields of a struct by name."""

    _fields_: ClassVar[Any]
    _enums_: ClassVar[Mapping[str, str]] = {}

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={self._show(name)}" for name, *_ in self._fields_)
        return f"{type(self).__name__}({fields})"

    def _show(self, name: str) -> str:
        descriptor = getattr(type(self), name)
        kind = next(kind for field, kind, *_ in self._fields_ if field == name)
        if _is_pointer(kind):
            address = ctypes.c_void_p.from_buffer(self, descriptor.offset).value  # type: ignore[arg-type]
            return f"0x{address:x}" if address else "None"
        value = getattr(self, name)
        if name in self._enums_:
            return _symbol(self._enums_[name], value)
        if isinstance(value, bytes):
            return repr(value.decode("utf-8", "replace"))
        if isinstance(value, ctypes.Array):
            return repr(list(value))
        return repr(value)


class Structure(_Printed, ctypes.Structure):
    """A struct of the API."""

    @classmethod
    def array(cls, length: int) -> ctypes.Array[Self]:
        """`length` structs in a row, each as if it had been constructed."""
        elements = (cls * length)()
        for index in range(length):
            elements[index] = cls()
        return elements


class TypedStructure(Structure):
    """A struct that says what it is in its field `stype`, which is set when it is constructed."""

    _stype_: ClassVar[int] = 0

    def __init__(self, *values: Any, **fields: Any) -> None:
        super().__init__(*values, **fields)
        if not values and "stype" not in fields:
            self.stype = self._stype_


class Union(_Printed, ctypes.Union):
    """A union of the API."""


def _is_pointer(kind: Any) -> bool:
    return kind in (ctypes.c_void_p, ctypes.c_char_p) or issubclass(kind, _FUNCTION_POINTER)


def _symbol(enum_name: str, value: int) -> str:
    """A value by its name, as far as it has one."""
    import enum  # only for who prints one; a start needs neither this module nor re

    kind = namespace_of(enum_name).lookup(enum_name)
    if issubclass(kind, enum.IntFlag):
        return "|".join(_flag_names(kind, value)) or "0"
    try:
        return str(kind(value).name)
    except ValueError:
        return str(value)


def _flag_names(kind: type[enum.IntFlag], value: int) -> Iterable[str]:
    rest = value
    for member in kind:
        if value & member:
            rest &= ~int(member)
            yield str(member.name)
    if rest:
        yield f"0x{rest:x}"


class Namespace:
    """The declarations of one module, and the objects made of them so far."""

    def __init__(
        self,
        *,
        structs: Mapping[str, tuple[Any, ...]],
        enums: Mapping[str, Mapping[str, int]],
        types: Mapping[str, str],
        callbacks: Mapping[str, str],
        functions: Mapping[str, str],
    ) -> None:
        self.structs = structs
        self.enums = enums
        self.types = types
        self.callbacks = callbacks
        self.functions = functions
        self._made: dict[str, Any] = {}
        self._members: dict[str, str] = {}

    def names(self) -> list[str]:
        """Every name the module has."""
        sections = (self.structs, self.enums, self.types, self.callbacks, self.functions)
        return [name for section in sections for name in section] + list(self._enum_of_member())

    def resolve(self, name: str) -> Any:
        """The object behind a name; functions are those of the default library."""
        if name in self.functions:
            return getattr(default_library(), name)
        return self.lookup(name)

    def lookup(self, name: str) -> Any:
        """The type, enumeration or constant behind a name."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def number(self, name: str) -> int:
        """The number of a constant, without making its enumeration."""
        return self.enums[self._enum_of_member()[name]][name]

    def _make(self, name: str) -> Any:
        if name in self.structs:
            return self._make_struct(name)
        if name in self.enums:
            return self._make_enum(name)
        if name in self.types:
            return c_type(f"{self.types[name]} _")
        if name in self.callbacks:
            return self._make_callback(name)
        if (enum_name := self._enum_of_member().get(name)) is not None:
            if name.endswith("_FORCE_UINT32"):
                return self.enums[enum_name][name]
            return self.lookup(enum_name)[name]
        raise AttributeError(f"the Level Zero API has no {name!r} here")

    def _make_struct(self, name: str) -> type[Any]:
        """A struct class; a field that Python reserves, `global`, is also called `global_`."""
        stype, *declarations = self.structs[name]
        base: type[Any] = Structure
        members: dict[str, Any] = {}
        if stype == "union":
            base = Union
        elif stype is not None:
            base, members["_stype_"] = TypedStructure, stype
        parsed = [parse(declaration) for declaration in declarations]
        members["_enums_"] = {
            match["name"]: enumeration
            for match in parsed
            if match and not match["stars"] and (enumeration := enum_behind(match["base"]))
        }
        members["_fields_"] = [
            (match["name"], c_type(declaration))
            for match, declaration in zip(parsed, declarations, strict=True)
            if match
        ]
        members["__module__"] = "groundstate." + name.split("_")[0]
        struct = type(name, (base,), members)
        from keyword import iskeyword

        for field, _ in members["_fields_"]:
            if iskeyword(field):
                setattr(struct, f"{field}_", getattr(struct, field))
        return struct

    def _make_enum(self, name: str) -> Any:
        import enum

        members = [(n, v) for n, v in self.enums[name].items() if not n.endswith("_FORCE_UINT32")]
        base: Any = enum.IntFlag if name.endswith("flag_t") else enum.IntEnum
        return base(name, members, module="groundstate." + name.split("_")[0])

    def _make_callback(self, name: str) -> Any:
        declarations = self.callbacks[name].split(", ")
        return ctypes.CFUNCTYPE(None, *(c_type(declaration + " _") for declaration in declarations))

    def _enum_of_member(self) -> dict[str, str]:
        if not self._members:
            self._members = {m: name for name, members in self.enums.items() for m in members}
        return self._members


def namespace_of(name: str) -> Namespace:
    """The namespace that declares a name: "zes_device_state_t" and "zesDeviceGet" are of zes."""
    letter, following = name[2:3], name[3:4]
    has_letter = letter in ("s", "t", "r") and (following == "_" or following.isupper())
    module = importlib.import_module(f"groundstate.{name[:3] if has_letter else 'ze'}")
    namespace: Namespace = module.NAMESPACE
    return namespace


@cache
def _pattern() -> re.Pattern[str]:
    import re

    return re.compile(DECLARATION)


def parse(declaration: str) -> re.Match[str] | None:
    """A C declaration in its parts: base, stars, name, length."""
    return _pattern().fullmatch(declaration)


def c_type(declaration: str) -> Any:
    """The ctypes type of a C declaration such as "char name[256]"; every pointer is a void one."""
    match = parse(declaration)
    if match is None:
        raise ValueError(f"not a declaration this module understands: {declaration!r}")
    if match["stars"]:
        is_string = match["base"] == "char" and match["stars"] == "*"
        return ctypes.c_char_p if is_string else ctypes.c_void_p
    kind = _named_type(match["base"])
    return kind * int(match["length"]) if match["length"] else kind


def _named_type(name: str) -> Any:
    if name in PLAIN_TYPES:
        return PLAIN_TYPES[name]
    if name.endswith("_handle_t") and name not in namespace_of(name).structs:
        return ctypes.c_void_p
    namespace = namespace_of(name)
    return ctypes.c_uint32 if name in namespace.enums else namespace.lookup(name)


def enum_behind(type_name: str) -> str | None:
    """The enumeration whose values a type holds, flags types included."""
    if type_name in PLAIN_TYPES:
        return None
    plain = type_name.replace("_packed", "")
    for candidate in (plain, plain.removesuffix("flags_t") + "flag_t"):
        if candidate in namespace_of(candidate).enums:
            return candidate
    return None


class Library:
    """A shared library with the functions of the API, each an attribute made on first use.

    A function takes handles and pointers as ints, `None`, `ctypes.byref(...)` or ctypes arrays, and
    returns the value of its `ze_result_t` as an int.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._library = ctypes.CDLL(path)
        if hasattr(self._library, "gs_share_python"):  # ours: this interpreter may run the driver
            self._library.gs_share_python()

    def __repr__(self) -> str:
        return f"Library({self.path!r})"

    def find(self, name: str) -> Any:
        """A function as it is in the library: ctypes knows nothing of its parameters."""
        try:
            return self._library[name]
        except AttributeError:
            raise MissingFunctionError(f"{self.path} has no function {name!r}") from None

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("ze"):
            raise AttributeError(name)
        declaration = namespace_of(name).functions.get(name)
        if declaration is None:
            raise MissingFunctionError(f"the Level Zero API has no function {name!r}")
        function = self.find(name)
        parameters, _, returns = declaration.partition(" -> ")
        function.argtypes = [_argument_type(text) for text in parameters.split(", ") if text]
        function.restype = c_type(f"{returns or 'ze_result_t'} _")
        setattr(self, name, function)
        return function


def _argument_type(declaration: str) -> Any:
    kind = c_type(declaration)
    return ctypes.c_void_p if _is_pointer(kind) else kind


@cache
def default_library() -> Library:
    """The driver that belongs to this package, or the one that GROUNDSTATE_LIBRARY names."""
    from groundstate import knobs

    path = knobs.library()
    try:
        return Library(path)
    except OSError as problem:
        raise OSError(f"cannot open the driver library {path}: {problem}") from problem
