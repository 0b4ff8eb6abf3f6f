"""What `groundstate.pyzes` is made of: the system management API in the shape of that package.

The declarations are those of `groundstate.zes`. pyzes has a class for each kind of handle, a plain
ctypes integer for each enumeration, constants that are plain ints, and parameters that are typed
pointers; this module makes all of that from the declarations, and holds by hand what no declaration
says: how a struct is printed.
"""

from __future__ import annotations

import ctypes
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar

from groundstate import _raw, knobs, ze, zes

# What pyzes has of the core API.
CORE_ENUMS = ("ze_result_t", "ze_device_type_t")
CORE_TYPES = ("ze_bool_t", "ze_device_property_flags_t")
CORE_STRUCTS = ("ze_device_uuid_t", "ze_device_properties_t")
CORE_CONSTANTS = ("ZE_MAX_DEVICE_UUID_SIZE", "ZE_MAX_DEVICE_NAME")

_UNSIGNED_ENUMS = ("zes_engine_group_t",)
_BYTES, _MHZ, _DEGREES, _MICROSECONDS = "%d bytes", "%.1f MHz", "%.1f °C", "%d microseconds"

_FORMATS: dict[str, dict[str, str]] = {
    "zes_process_state_t": {"memSize": _BYTES, "sharedSize": _BYTES},
    "zes_pci_state_t": {"qualityIssues": "0x%08X", "stabilityIssues": "0x%08X"},
    "zes_mem_properties_t": {
        "physicalSize": _BYTES,
        "busWidth": "%d bits",
        "numChannels": "%d channels",
    },
    "zes_mem_state_t": {"free": _BYTES, "size": _BYTES},
    "zes_mem_bandwidth_t": {
        "readCounter": _BYTES,
        "writeCounter": _BYTES,
        "maxBandwidth": "%d bytes/sec",
    },
    "zes_power_energy_counter_t": {"timestamp": _MICROSECONDS},
    "zes_freq_properties_t": {"min": _MHZ, "max": _MHZ},
    "zes_freq_range_t": {"min": _MHZ, "max": _MHZ},
    "zes_freq_state_t": {
        "currentVoltage": "%.3f V",
        **dict.fromkeys(("request", "tdp", "efficient", "actual"), _MHZ),
        "throttleReasons": "0x%08X",
    },
    "zes_freq_throttle_time_t": {"timestamp": _MICROSECONDS},
    "zes_temp_properties_t": {"maxTemperature": _DEGREES},
    "zes_temp_threshold_t": {"threshold": _DEGREES},
    "zes_engine_properties_t": {"type": "0x%08X"},
}


class PrintableStructure(ctypes.Structure):
    """A struct that prints as `name(field: value, ...)`.

    `_fmt_` has the format of a field by its name, and that of all others as "<default>".
    """

    _fmt_: ClassVar[dict[str, str]] = {}

    def __str__(self) -> str:
        default = self._fmt_.get("<default>", "%s")
        shown = [
            f"{name}: {self._fmt_.get(name, default) % (_printable(getattr(self, name)),)}"
            for name, *_ in self._fields_
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _printable(value: Any) -> Any:
    return list(value) if isinstance(value, ctypes.Array) else value


class ProcessStateNames(PrintableStructure):
    """The fields that the documentation of pyzes gives a `zes_process_state_t`, by those names."""

    processId: int  # noqa: N815 (a field of the API)
    sharedSize: int  # noqa: N815
    engines: int

    @property
    def pid(self) -> int:
        """The process."""
        return self.processId

    @property
    def command(self) -> bytes:
        """What the process runs; empty if it has ended meanwhile or may not be looked at."""
        try:
            with open(f"/proc/{self.processId}/comm", "rb") as file:
                return file.read().rstrip(b"\n")
        except OSError:
            return b""

    @property
    def sharedMemSize(self) -> int:  # noqa: N802 (documented so)
        """Bytes of the device's memory that the process shares with others."""
        return self.sharedSize

    @property
    def engineType(self) -> int:  # noqa: N802
        """The kinds of engines that the process uses, as flags."""
        return self.engines

    @property
    def subdeviceId(self) -> int:  # noqa: N802
        """Always 0: the API counts a process for the whole device."""
        return 0


_BASES: dict[str, type[PrintableStructure]] = {"zes_process_state_t": ProcessStateNames}


@cache
def named_type(name: str) -> Any:
    """The ctypes type that pyzes has, or would have, for a type of the C API."""
    if name in _raw.PLAIN_TYPES:
        return _raw.PLAIN_TYPES[name]
    namespace = _raw.namespace_of(name)
    if name in namespace.structs:
        return _struct(name, namespace.structs[name][1:])
    if name in namespace.enums:
        unsigned = name in _UNSIGNED_ENUMS or name.endswith("_flag_t")
        return ctypes.c_uint32 if unsigned else ctypes.c_int32
    if name.endswith("_handle_t"):
        return type(name, (ctypes.c_void_p,), {"__module__": "groundstate.pyzes"})
    return named_type(namespace.types[name])


def _struct(name: str, declarations: tuple[str, ...]) -> Any:
    members = {
        "__module__": "groundstate.pyzes",
        "_fields_": [_declared(declaration) for declaration in declarations],
        "_fmt_": _FORMATS.get(name, {}),
    }
    return type(name, (_BASES.get(name, PrintableStructure),), members)


def _declared(declaration: str) -> tuple[str, Any]:
    """The name and the type of what a C declaration such as "zes_uuid_t *pUuid" declares."""
    match = _raw.parse(declaration)
    if match is None:
        raise ValueError(f"not a declaration this module understands: {declaration!r}")
    base, stars = match["base"], len(match["stars"])
    if stars and base in ("void", "char"):
        kind: Any = ctypes.c_void_p if base == "void" else ctypes.c_char_p
        stars -= 1
    else:
        kind = named_type(base)
    for _ in range(stars):
        kind = ctypes.POINTER(kind)
    return match["name"], kind * int(match["length"]) if match["length"] else kind


def types_and_constants() -> Iterator[tuple[str, Any]]:
    """Every name that is not a function, with what it stands for."""
    for name in (*CORE_TYPES, *CORE_STRUCTS):
        yield name, named_type(name)
    for name in CORE_CONSTANTS:
        yield name, getattr(ze, name)
    for name, value in list(vars(zes).items()):
        if name.startswith("ZES_") and type(value) in (int, str):
            yield name, value
    core_enums = {name: ze.NAMESPACE.enums[name] for name in CORE_ENUMS}
    for name, members in (core_enums | dict(zes.NAMESPACE.enums)).items():
        yield name, named_type(name)
        yield from members.items()
    for name in (*zes.NAMESPACE.types, *zes.NAMESPACE.structs):
        if "_dditable" not in name:
            yield name, named_type(name)


def functions(find: Callable[[str], Any]) -> Iterator[tuple[str, Callable[..., int]]]:
    """Every function of system management; `find` looks one up in the library."""
    for name in zes.NAMESPACE.functions:
        if not name.endswith("ProcAddrTable"):
            yield name, _function(name, find)


def parameters_of(name: str) -> list[tuple[str, Any]]:
    """The names and types of a function's parameters."""
    return [_declared(text) for text in zes.NAMESPACE.functions[name].split(", ")]


def _function(name: str, find: Callable[[str], Any]) -> Callable[..., int]:
    parameters = parameters_of(name)
    signature = inspect.Signature(
        [inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD) for each, _ in parameters]
    )
    prepared: list[Any] = []

    def call(*arguments: Any, **named: Any) -> int:
        if not prepared:
            prepared.append(_prepare(find(name), [kind for _, kind in parameters]))
        if named or len(arguments) != len(parameters):
            arguments = signature.bind(*arguments, **named).args
        result: int = prepared[0](*arguments)
        if result:
            report(name, result, find)
        return result

    call.__name__ = call.__qualname__ = name
    call.__module__ = "groundstate.pyzes"
    call.__doc__ = f"ze_result_t {name}({zes.NAMESPACE.functions[name]})"
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _prepare(function: Any, kinds: list[Any]) -> Any:
    function.argtypes = kinds
    function.restype = named_type("ze_result_t")
    return function


_reported: set[tuple[str, int]] = set()


def report(name: str, result: int, find: Callable[[str], Any]) -> None:
    """Prints an error of a function on stderr, once, with the library's sentence if it has one."""
    try:
        known = ze.ze_result_t(result).name
    except ValueError:
        known = f"ZE_RESULT_ERROR 0x{result:x}"
    if "ERROR" not in known or (name, result) in _reported or not knobs.PYZES_ERRORS.get():
        return
    _reported.add((name, result))
    sentence = _last_error(name, find)
    print(f"pyzes: {name}: {known}{': ' if sentence else ''}{sentence}", file=sys.stderr)


def _last_error(name: str, find: Callable[[str], Any]) -> str:
    """The driver's sentence about the last error of this thread; other libraries have none."""
    try:
        function = find("gs_last_error_text")
    except AttributeError:
        return ""
    function.restype = ctypes.c_char_p
    sentence: str = (function() or b"").decode("utf-8", "replace")
    return sentence.removeprefix(f"{name}: ")
