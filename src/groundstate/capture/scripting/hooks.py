"""Hooks in Python: functions that take the place of API functions.

from groundstate.capture import hook

@hook("zeEventPoolCreate")
def with_timestamps(call):
    call.arguments.desc.flags |= ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP
    return call.proceed()
"""

from __future__ import annotations

import ctypes
import difflib
import re
from collections.abc import Callable, Iterator, MutableMapping
from functools import cache
from typing import Any

from groundstate import _raw
from groundstate.capture.describe import declared, parsed, struct_of_stype
from groundstate.capture.scripting.views import check_size, checked

Hook = Callable[..., int | None]
Readable = Callable[[int, int], bool]
"""Whether there is memory at an address, of a size."""

EVENTS = (
    "gitsProgramStart",
    "gitsProgramExit",
    "gitsFrameBegin",
    "gitsFrameEnd",
    "gitsLoopBegin",
    "gitsLoopEnd",
    "gitsStateRestoreBegin",
    "gitsStateRestoreEnd",
)

_HOOK_NAME = re.compile(r"ze[str]?[A-Z]|gits[A-Z]")
_IN_MEMORY = (ctypes.Structure, ctypes.Union, ctypes.Array, ctypes._SimpleCData, ctypes._Pointer)

HOOKS: dict[str, Hook] = {}
"""The hooks of the script, by the name of the function or event."""


def hook(name: str) -> Callable[[Hook], Hook]:
    """Makes a Python function take the place of an API function, or hear of an event."""
    if name not in EVENTS and name not in _functions_like(name):
        raise ValueError(f"there is no function '{name}' to hook{_nearest(name)}")

    def register(function: Hook) -> Hook:
        HOOKS[name] = function
        return function

    return register


class HookError(ValueError):
    """A function of a script that will never be called, at a line of it."""

    def __init__(self, line: int, sentence: str) -> None:
        super().__init__(sentence)
        self.line = line


HOOKS_NOTHING = 'the script hooks nothing: write @hook("zeFunction") above its functions'


def check_script(path: str, names: dict[str, Any]) -> None:
    """Raises HookError for a script with a function that looks like a hook and is none."""
    for name, function in names.items():
        code: Any = getattr(function, "__code__", None)
        is_own = code is not None and code.co_filename == path
        if is_own and looks_like_hook(name) and function not in HOOKS.values():
            raise HookError(code.co_firstlineno, unhooked(name))
    if not HOOKS:
        raise HookError(1, HOOKS_NOTHING)


def looks_like_hook(name: str) -> bool:
    """Whether a function's name is in the manner of API functions, or of events."""
    return _HOOK_NAME.match(name) is not None


def unhooked(name: str) -> str:
    """What is wrong with a function that is only named like a hook."""
    hint = "" if name in EVENTS or name in _functions_like(name) else _nearest(name)
    return f'the function {name} is never called: write @hook("{name}") above it{hint}'


def _functions_like(name: str) -> list[str]:
    """The functions of a name's namespace, without those that only a loader calls."""
    names = _raw.namespace_of(name).functions
    return [known for known in names if not known.endswith("ProcAddrTable")]


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, [*EVENTS, *_functions_like(name)], n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


class Parameter:
    """One parameter of a function, as its declaration says."""

    def __init__(self, declaration: str) -> None:
        parts = parsed(declaration)
        self.name = parts["name"]
        self.base = parts["base"]
        self.depth = len(parts["stars"])
        self.is_real = not self.depth and self.base == "double"
        is_void = self.base == "void" and self.depth == 1
        self.kind: Any = None if is_void else self._kind()

    def _kind(self) -> Any:
        """What the value is, or what the pointer leads to."""
        return ctypes.c_void_p if self.depth > 1 else _raw.c_type(f"{self.base} _")

    @property
    def is_struct(self) -> bool:
        return isinstance(self.kind, type) and issubclass(
            self.kind, ctypes.Structure | ctypes.Union
        )

    def value(self, word: int, is_there: Readable) -> Any:
        """What the hook sees of a word; of a pointer that leads nowhere, the address."""
        if self.is_real:
            return ctypes.c_double.from_buffer_copy(word.to_bytes(8, "little")).value
        leads = self.depth > 0 or self.is_struct
        if not leads or self.kind is None or (self.base == "char" and self.depth == 1):
            return word
        if not word:
            return None
        if not is_there(word, ctypes.sizeof(self.kind)):
            return word
        return checked(self.kind).from_address(word)

    def word(self, value: Any) -> int:
        """What is passed for a value that a hook gives."""
        if value is None:
            return 0
        if self.is_real:
            return int.from_bytes(bytes(ctypes.c_double(value)), "little")
        if isinstance(value, int):
            check_size(f"'{self.name}'", None if self.depth else self.kind, value)
            return value & 0xFFFFFFFFFFFFFFFF
        if isinstance(value, ctypes.c_char_p | ctypes.c_void_p) and not self.depth:
            return value.value if isinstance(value.value, int) else 0
        if not isinstance(value, _IN_MEMORY):
            wanted = "an address, or an object of ctypes" if self.depth else "a number"
            raise TypeError(f"'{self.name}' must be {wanted}, not {type(value).__name__}")
        return ctypes.addressof(value)


@cache
def parameters_of(function: str) -> tuple[Parameter, ...]:
    """The parameters of a function, in order."""
    return tuple(map(Parameter, declared(function)[0]))


class Arguments(MutableMapping[str, Any]):
    """The arguments of a call by name, as items and as attributes.

    Numbers, handles and addresses are integers. A pointer to a struct or a number is that struct
    or number as ctypes has it, in its place: what is changed there, the driver sees. Null is None.
    """

    _words: Any
    _parameters: tuple[Parameter, ...]
    _kept: list[Any]
    _before: list[tuple[int, bytes]]
    _is_there: Readable

    def __init__(self, parameters: tuple[Parameter, ...], words: Any, is_there: Readable) -> None:
        vars(self).update(_words=words, _parameters=parameters, _kept=[], _before=[])
        vars(self).update(_is_there=is_there)

    def _place(self, name: str) -> int:
        for place, parameter in enumerate(self._parameters):
            if parameter.name == name:
                return place
        names = ", ".join(self)
        raise KeyError(f"there is no argument '{name}'; there are {names}")

    def __getitem__(self, name: str) -> Any:
        place = self._place(name)
        value = self._parameters[place].value(self._words[place], self._is_there)
        return self._remembered(value)

    def _remembered(self, value: Any) -> Any:
        """A view of the program's memory, which a hook that fails must leave as it was."""
        if isinstance(value, _IN_MEMORY):
            address = ctypes.addressof(value)
            self._before.append((address, ctypes.string_at(address, ctypes.sizeof(value))))
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        place = self._place(name)
        self._kept.append(value)  # as long as the call goes on
        self._words[place] = self._parameters[place].word(value)

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"an argument cannot be left out; set '{name}' to None for null")

    def __iter__(self) -> Iterator[str]:
        return (parameter.name for parameter in self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as problem:
            raise AttributeError(problem.args[0]) from None

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            self[name] = value
        except KeyError as problem:
            raise AttributeError(problem.args[0]) from None


class Call:
    """A call that the program makes."""

    def __init__(
        self, name: str, address: int, call_on: Callable[[Any], int], is_there: Readable
    ) -> None:
        self.name = name
        self._call_on = call_on
        self._parameters = parameters_of(name)
        count = max(len(self._parameters), 1)
        self._words = (ctypes.c_uint64 * count)()
        ctypes.memmove(self._words, address, 8 * len(self._parameters))
        self.arguments = Arguments(self._parameters, self._words, is_there)

    def proceed(self) -> int:
        """Calls on with the arguments as they are now, and returns what was answered."""
        self.arguments._before.clear()  # the driver has seen what the hook wrote
        return self._call_on(self._words)

    def undo(self) -> None:
        """Puts back what the hook has changed in the program's memory since it called on last."""
        while self.arguments._before:
            address, before = self.arguments._before.pop()
            ctypes.memmove(address, before, len(before))

    def array(self, name: str, count: int) -> Any:
        """The elements that a pointer leads to, in their place: `call.array("phDevices", 2)`."""
        place = self.arguments._place(name)
        parameter, address = self._parameters[place], self._words[place]
        if not parameter.depth or parameter.kind is None:
            raise TypeError(f"'{name}' does not lead to elements of a known type")
        elements = (checked(parameter.kind) * count).from_address(address) if address else None
        return self.arguments._remembered(elements)

    def text(self, name: str) -> str | None:
        """The text that a `char *` leads to."""
        address = self._words[self.arguments._place(name)]
        return ctypes.string_at(address).decode("utf-8", "replace") if address else None

    def chain(self, name: str) -> Iterator[Any]:
        """The structs of the pNext chain of an argument, the argument itself first."""
        value = self.arguments[name]
        base = self._parameters[self.arguments._place(name)].base
        while value is not None:
            yield self.arguments._remembered(value)
            address = getattr(value, "pNext", None)
            stype = ctypes.c_uint32.from_address(address).value if address else -1
            kind = struct_of_stype(base, stype)
            value = checked(kind).from_address(address) if kind is not None else None

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"<call of {self.name}({shown})>"
