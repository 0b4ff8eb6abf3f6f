"""The arguments of a kernel's last launch, recognised when they are given again."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from groundstate.core.built_in import BuiltIn

_MANY = 64


class LastArguments:
    """What a kernel was launched with last time, by the ids of the objects.

    Most launches repeat the one before. An id says what an object is only as long as it lives, so
    numbers are kept. Memory is not: it tells when it is closed or collected (`tell_watchers`), and
    then nothing is known and nothing kept any more.
    """

    __slots__ = ("__weakref__", "_built_in", "_constants", "kept", "place", "repeat")

    def __init__(
        self, built_in: BuiltIn, place: int, constants: Sequence[object], kept: dict[int, object]
    ) -> None:
        self._built_in = built_in
        self._constants = constants
        self.place = place
        """Where the library has them."""
        self.repeat = built_in.repeat
        self.kept = kept
        """The resources that the launch uses, by their ids."""

    def __del__(self) -> None:
        self._built_in.release(self.place)

    def forget(self) -> None:
        """Recognises nothing any more."""
        self._built_in.forget(self.place)
        self._constants, self.kept = (), {}

    def end(self) -> None:
        """Forgets, and waits until no other thread is about to launch it."""
        self.forget()
        while self._built_in.forget(self.place):
            time.sleep(0)


def remember(
    built_in: BuiltIn,
    launch: tuple[int, int, object, object, tuple[Any, ...]],
    constants: Iterable[type],
    resource: object,
) -> LastArguments | None:
    """What to remember of a launch; None if an argument may change and stay the same object.

    A launch is the kernel's handle, where its number of groups is, the grid and the group as they
    were given, and the arguments. `constants` are types whose objects never change; NumPy's scalars
    are of such types, too.
    """
    arguments = launch[4]
    memory = [value for value in arguments if hasattr(value, "watchers")]
    others = [value for value in arguments if not hasattr(value, "watchers")]
    if not all(type(value) in constants or _is_scalar(type(value)) for value in others):
        return None
    place = built_in.remember(*launch)
    if place == 0:
        return None
    kept = {id(each): each for each in (resource, *(value.resource for value in memory))}
    made = LastArguments(built_in, place, (*launch[2:4], *others), kept)
    reference = weakref.ref(made)
    for each in memory:
        if len(each.watchers) >= _MANY:
            each.watchers = {ref for ref in each.watchers if ref() is not None}
        each.watchers.add(reference)
    return made


def _is_scalar(kind: type) -> bool:
    return kind.__module__ == "numpy" and not hasattr(kind, "__setitem__")


def tell_watchers(watchers: Iterable[Callable[[], LastArguments | None]]) -> None:
    """Memory is closed or collected: its id may soon be another's."""
    for reference in tuple(watchers):
        found = reference()
        if found is not None:
            found.forget()
