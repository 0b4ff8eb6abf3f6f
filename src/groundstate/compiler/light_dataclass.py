"""Dataclasses that cost next to nothing to make.

The standard dataclasses write source code for each class and compile it, and import half of the
library to do so. A program that finds its kernels in the cache would spend most of its time there.
Type checkers take one of these for a dataclass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")
MISSING = object()


class Field:
    """What is said about a field beside its type."""

    def __init__(
        self,
        default: Any = MISSING,
        factory: Callable[[], Any] | None = None,
        init: bool = True,
        repr: bool = True,
    ) -> None:
        self.default = default
        self.factory = factory
        self.init = init
        self.repr = repr and init


def field(
    *,
    default: Any = MISSING,
    default_factory: Callable[[], Any] | None = None,
    init: bool = True,
    repr: bool = True,
) -> Any:
    """A field with a default that is made anew each time, or one that `__init__` does not take.

    A field that `__init__` does not take is left out of comparisons and of the text.
    """
    return Field(default, default_factory, init, repr)


@dataclass_transform(eq_default=True, frozen_default=True, field_specifiers=(field,))
def light_dataclass(*, frozen: bool = True, eq: bool = True) -> Callable[[type[T]], type[T]]:
    """Gives a class `__init__`, `__repr__`, and comparison by value.

    What the class defines itself stays. The fields that it inherits come first.
    """

    def make(cls: type[T]) -> type[T]:
        fields: dict[str, Field] = dict(getattr(cls, "_light_fields", {}))
        for name in cls.__annotations__:
            given = cls.__dict__.get(name, MISSING)
            fields[name] = given if isinstance(given, Field) else Field(given)
            if isinstance(given, Field):
                _leave_default(cls, name, given)
        methods: dict[str, Any] = {"__init__": _init(fields), "__repr__": _repr}
        if eq:
            methods |= {"__eq__": _equal, "__hash__": _hash if frozen else None}
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
        for name, method in methods.items():
            if name not in cls.__dict__:
                setattr(cls, name, method)
        setattr(cls, "_light_fields", fields)  # noqa: B010
        return cls

    return make


def replace(instance: T, **changes: Any) -> T:
    """Another instance with the same values, but for those given."""
    made = object.__new__(type(instance))
    values = instance.__dict__
    for name in _fields(instance):
        made.__dict__[name] = changes.pop(name) if name in changes else values[name]
    if changes:
        raise TypeError(f"{type(instance).__name__} has no field {next(iter(changes))!r}")
    return made


def _leave_default(cls: type, name: str, given: Field) -> None:
    """Puts a default into the class, where `__init__` may leave it, in the place of the field."""
    if given.default is MISSING:
        delattr(cls, name)
    else:
        setattr(cls, name, given.default)


def _init(fields: dict[str, Field]) -> Callable[..., None]:
    names = [name for name, each in fields.items() if each.init]
    factories = {name: each.factory for name, each in fields.items() if each.factory}
    defaults = {name: each.default for name, each in fields.items() if each.default is not MISSING}

    def __init__(self: Any, *given: Any, **named: Any) -> None:  # noqa: N807
        values = self.__dict__
        values.update(defaults)
        for name, factory in factories.items():
            if name not in named:
                values[name] = factory()
        values.update(zip(names, given, strict=False))
        values.update(named)
        if len(given) > len(names) or not _complete(values, names, given, named):
            raise TypeError(f"{type(self).__name__} takes {', '.join(names)}")
        if hasattr(self, "__post_init__"):
            self.__post_init__()

    return __init__


def _complete(
    values: dict[str, Any], names: list[str], given: tuple[Any, ...], named: dict[str, Any]
) -> bool:
    """Whether each field has one value, and nothing else was given."""
    if any(name not in values for name in names):
        return False
    return not named or set(named) <= set(names[len(given) :])


def _fields(instance: Any) -> dict[str, Field]:
    fields: dict[str, Field] = type(instance)._light_fields
    return fields


def _values(instance: Any) -> tuple[Any, ...]:
    return tuple(instance.__dict__[name] for name, each in _fields(instance).items() if each.init)


def _repr(self: Any) -> str:
    shown = (f"{n}={self.__dict__[n]!r}" for n, each in _fields(self).items() if each.repr)
    return f"{type(self).__name__}({', '.join(shown)})"


def _equal(self: Any, other: object) -> Any:
    if type(self) is not type(other):
        return NotImplemented
    return _values(self) == _values(other)


def _hash(self: Any) -> int:
    return hash(_values(self))


def _refuse(self: Any, name: str, value: object = None) -> None:
    raise AttributeError(f"{type(self).__name__}.{name} cannot be changed")
