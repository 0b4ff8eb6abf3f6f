"""What an entry point checks before its function runs, as data.

`checks_of(function)` lists the checks of one function in the order in which they are made; the
stubs are printed from it, and so are the bad-input cases of the tests. Entry points are lenient
where real programs are: they never look at `stype`, never follow `pNext`, and leave structs that a
function fills alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from registry.load import load
from registry.model import CType, Direction, Field, Function, Parameter, Registry

NULL_HANDLE = "ZE_RESULT_ERROR_INVALID_NULL_HANDLE"
NULL_POINTER = "ZE_RESULT_ERROR_INVALID_NULL_POINTER"
BAD_ENUM = "ZE_RESULT_ERROR_INVALID_ENUMERATION"
BAD_SIZE = "ZE_RESULT_ERROR_INVALID_SIZE"
BAD_EVENT = "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT"
UNINITIALISED = "ZE_RESULT_ERROR_UNINITIALIZED"

INIT_FUNCTIONS = frozenset({"zeInit", "zeInitDrivers", "zesInit"})


class CheckKind(Enum):
    """What a check looks at."""

    INITIALISED = auto()  # the driver was initialised
    HANDLE = auto()  # a handle that must be live
    OPTIONAL_HANDLE = auto()  # a handle that must be null or live
    HANDLE_ARRAY = auto()  # handles that must all be live
    POINTER = auto()  # a pointer that must not be null
    ENUM = auto()  # a value that its enumeration must know
    FLAGS = auto()  # bits that their enumeration must know
    CONDITION = auto()  # an expression that must not hold


@dataclass(frozen=True)
class Check:
    """One check of one function."""

    kind: CheckKind  # CheckKind.HANDLE_ARRAY
    result: str  # "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT"
    parameter: str = ""  # "phWaitEvents"; "" for the initialisation check
    member: str | None = None  # "flags" where the check looks into the struct at `parameter`
    type: str = ""  # "ze_event_handle_t", the type of the handle or enumeration
    count: str | None = None  # "numWaitEvents", for an array
    condition: str | None = None  # "0 == size", as the specification writes it
    guard: str | None = None  # "NULL == desc->pNext": the check is made only where this holds

    @property
    def subject(self) -> str:
        """What the check looks at, as C writes it: "desc->flags"."""
        return f"{self.parameter}->{self.member}" if self.member else self.parameter


# A module made of several inputs (ze_module_program_exp_desc_t in the chain) leaves its own input
# empty, so these are looked at only where nothing is chained.
_UNCHAINED_ONLY = {"zeModuleCreate": ("pInputModule", "inputSize")}

# All bits set asks zeInitDrivers for every driver there is.
_ALL_BITS_ALLOWED = {("zeInitDrivers", "flags")}

# A format of acceleration structures is an opaque number; its enumeration names only the bounds.
_OPEN_ENUMS = {"ze_rtas_format_exp_t", "ze_rtas_format_ext_t"}

# Values of Intel's driver that ours understands, too: OpenCL C as the input of a module.
MORE_VALUES = {"ze_module_format_t": (3,)}

# An array in which a null handle stands for a place that is left empty.
_EMPTY_PLACES = {"zeCommandListUpdateMutableCommandWaitEventsExp"}

# Data that a callback receives back, which may be anything, null included.
_OPAQUE_MEMBERS = {("zet_tracer_exp_desc_t", "pUserData")}

# Pointers that may be null although the specification does not say so: a kernel may have no
# arguments, a program that recorded into a graph of its own knows it, a metric may be made without
# parameters, and a count may be asked for without a place for what is counted.
_MAY_BE_NULL = {
    ("zetMetricCreateFromProgrammableExp", "pParameterValues"),
    ("zetMetricCreateFromProgrammableExp2", "pParameterValues"),
    ("zetMetricDecoderGetDecodableMetricsExp", "phMetrics"),
    ("zetMetricTracerDecodeExp", "pMetricEntriesCount"),
    ("zeCommandListAppendLaunchKernelWithArguments", "pArguments"),
    ("zeCommandListEndGraphCaptureExt", "phGraph"),
}


def checks_of(function: Function) -> list[Check]:
    """The checks of a function, in order."""
    registry = load()
    return [
        *_initialisation(function, registry),
        *_handles(function, registry),
        *_handle_arrays(function, registry),
        *_optional_handles(function, registry),
        *_pointers(function, registry),
        *_enums(function, registry),
        *_members(function, registry),
        *_conditions(function, registry),
        *_missing_arrays(function, registry),
    ]


IN_CONTEXTS = frozenset(
    {
        "ze_context_handle_t",
        "ze_command_queue_handle_t",
        "ze_command_list_handle_t",
        "ze_fence_handle_t",
        "ze_event_pool_handle_t",
        "ze_event_handle_t",
        "ze_image_handle_t",
        "ze_sampler_handle_t",
        "ze_module_handle_t",
        "ze_kernel_handle_t",
    }
)
"""Objects that are lost with the context that they were made in, and the context itself."""

_GIVES_BACK = re.compile(r"Destroy|Free|Close(Ipc|Counter)|Put(Ipc|Handle)|Unmap")


def losses_of(function: Function) -> list[Check]:
    """The handles whose context must not be lost. What gives something back always works."""
    if _GIVES_BACK.search(function.name):
        return []
    return [check for check in _handles(function, load()) if check.type in IN_CONTEXTS]


def _initialisation(function: Function, registry: Registry) -> list[Check]:
    """A function that takes a handle needs no such check: without initialisation none is live."""
    takes_handle = any(registry.kind_of(p.type.base) and _is_input(p) for p in function.parameters)
    if takes_handle or function.name in INIT_FUNCTIONS:
        return []
    return [Check(CheckKind.INITIALISED, UNINITIALISED)]


def _handles(function: Function, registry: Registry) -> list[Check]:
    return [
        Check(CheckKind.HANDLE, NULL_HANDLE, p.name, type=p.type.base)
        for p in function.parameters
        if _is_handle(p.type, registry) and not p.optional
    ]


def _handle_arrays(function: Function, registry: Registry) -> list[Check]:
    return [
        Check(
            CheckKind.HANDLE_ARRAY,
            _dead(function, p),
            p.name,
            type=p.type.base,
            count=p.count,
            guard=f"NULL != {p.name}[i]" if function.name in _EMPTY_PLACES else None,
        )
        for p in function.parameters
        if p.type.depth == 1
        and p.direction is Direction.IN
        and p.count is not None
        and registry.kind_of(p.type.base)
    ]


def _optional_handles(function: Function, registry: Registry) -> list[Check]:
    return [
        Check(CheckKind.OPTIONAL_HANDLE, _dead(function, p), p.name, type=p.type.base)
        for p in function.parameters
        if _is_handle(p.type, registry) and p.optional
    ]


def _dead(function: Function, parameter: Parameter) -> str:
    """The error for a handle that is not null and not live."""
    is_event = parameter.type.base == "ze_event_handle_t"
    return BAD_EVENT if is_event and function.names_error(BAD_EVENT) else NULL_HANDLE


def _pointers(function: Function, registry: Registry) -> list[Check]:
    with_count = {
        match.group(1)
        for _, conditions in function.errors
        for condition in conditions
        if (match := _POINTER_WITH_COUNT.fullmatch(condition))
    }
    return [
        Check(CheckKind.POINTER, NULL_POINTER, p.name)
        for p in function.parameters
        if (p.type.is_pointer or p.type.base in registry.callbacks)
        and not p.optional
        and not p.must_be_zero
        and p.name not in with_count
        and (function.name, p.name) not in _MAY_BE_NULL
    ]


def _enums(function: Function, registry: Registry) -> list[Check]:
    return [
        Check(_enum_kind(p.type, registry), BAD_ENUM, p.name, type=p.type.base)
        for p in function.parameters
        if not p.type.is_pointer and _is_closed_enum(p.type, registry)
    ]


def _members(function: Function, registry: Registry) -> list[Check]:
    """Checks of the direct members of the structs that a function only reads."""
    checks = []
    for p in function.parameters:
        struct = registry.struct_of(p.type.base)
        if struct is None or p.type.depth != 1 or p.direction is not Direction.IN or p.count:
            continue
        for field in struct.fields:
            if field.direction is Direction.IN and (struct.name, field.name) not in _OPAQUE_MEMBERS:
                checks += _member(function, p, field, registry)
    return checks


def _member(
    function: Function, parameter: Parameter, field: Field, registry: Registry
) -> list[Check]:
    if field.name in ("stype", "pNext"):
        return []
    guard = _guard(function, parameter, field.name)
    where = parameter.name, field.name
    if field.type.is_pointer and not field.optional and field.count is None:
        return [Check(CheckKind.POINTER, NULL_POINTER, *where, guard=guard)]
    if field.type.is_pointer or field.type.length or not _is_closed_enum(field.type, registry):
        return []
    kind = _enum_kind(field.type, registry)
    return [Check(kind, BAD_ENUM, *where, type=field.type.base, guard=guard)]


def _guard(function: Function, parameter: Parameter, member: str) -> str | None:
    subject = f"{parameter.name}->{member}"
    terms = [f"NULL != {parameter.name}"] if parameter.optional else []
    if member in _UNCHAINED_ONLY.get(function.name, ()):
        terms.append(f"NULL == {parameter.name}->pNext")
    if (function.name, member) in _ALL_BITS_ALLOWED:
        terms.append(f"UINT32_MAX != {subject}")
    return " && ".join(terms) or None


def _conditions(function: Function, registry: Registry) -> list[Check]:
    made = {check.subject for check in _pointers(function, registry) + _members(function, registry)}
    checks = []
    for result, conditions in function.errors:
        for condition in conditions:
            null = _NULL_TEST.fullmatch(condition)
            if null and null.group(1) in made:
                continue
            if is_executable(condition, function, registry):
                checks.append(_condition(function, result, condition))
    return checks


def _missing_arrays(function: Function, registry: Registry) -> list[Check]:
    """Arrays of handles that may be left out, where a count says that they are not.

    The specification names this error for most functions; the others get it, too.
    """
    stated = {check.condition for check in _conditions(function, registry)}
    missing = []
    for array in _handle_arrays(function, registry):
        condition = f"(nullptr == {array.parameter}) && (0 < {array.count})"
        optional = any(p.optional for p in function.parameters if p.name == array.parameter)
        if optional and condition not in stated:
            missing.append(_condition(function, BAD_SIZE, condition))
    return missing


def _condition(function: Function, result: str, condition: str) -> Check:
    names = re.findall(r"\b[a-z_]\w*", condition)
    parameter = next(p for p in function.parameters if p.name in names)
    through = re.search(rf"{parameter.name}->(\w+)", condition)
    guard = _guard(function, parameter, through.group(1)) if through else None
    return Check(CheckKind.CONDITION, result, parameter.name, condition=condition, guard=guard)


_POINTER_WITH_COUNT = re.compile(r"\(nullptr == (\w+)\) && \(0 < \w+\)")
_NULL_TEST = re.compile(r"\(?nullptr == ([\w>-]+)\)?")
_TOKENS = re.compile(
    r"\s*(?:->|(?P<name>[A-Za-z_]\w*)|\d+|(?P<operator>==|!=|<=|>=|&&|\|\||[<>()&|%*+-]))"
)


def is_executable(condition: str, function: Function, registry: Registry) -> bool:
    """True if a condition is an expression over the parameters, and no sentence."""
    parameters = {p.name: p for p in function.parameters}
    position, struct, compares = 0, None, False
    while position < len(condition):
        token = _TOKENS.match(condition, position)
        if token is None:
            return False
        name, operator = token["name"], token["operator"]
        if name and condition[:position].endswith("->"):
            if struct is None or name not in {field.name for field in struct.fields}:
                return False
        elif name in parameters:
            struct = registry.struct_of(parameters[name].type.base)
        elif name and name != "nullptr":
            return False
        compares = compares or operator in ("==", "!=", "<", ">", "<=", ">=")
        position = token.end()
    return compares


def expression(condition: str) -> str:
    """A condition in C, safe to evaluate: a remainder is taken only of a divisor that is not 0."""
    text = condition.replace("nullptr", "NULL")
    divisor = re.search(r"% (\w+)", text)
    return f"0 == {divisor.group(1)} || {text}" if divisor else text


def _is_input(parameter: Parameter) -> bool:
    return parameter.type.depth == 0 or parameter.direction is Direction.IN


def _is_handle(type_: CType, registry: Registry) -> bool:
    return type_.depth == 0 and registry.kind_of(type_.base) is not None


def _is_closed_enum(type_: CType, registry: Registry) -> bool:
    return registry.enum_of(type_.base) is not None and type_.base not in _OPEN_ENUMS


def _enum_kind(type_: CType, registry: Registry) -> CheckKind:
    enum = registry.enum_of(type_.base)
    return CheckKind.FLAGS if enum is not None and enum.is_flags else CheckKind.ENUM
