"""What all objects of the API have in common: a handle, an owner, and an end.

The driver's object lives as long as somebody needs it. A public object, such as a `Context`, holds
a `Resource`; what was made from it (its memory, its queues) holds that same resource. `close()`
lets go of the public object's share, and the driver is told to destroy the thing when the last
share is gone. So a parent outlives its children whatever the order in which they are closed, and a
queue that still runs is destroyed, with the memory that it uses, when it has finished.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable
from types import TracebackType
from typing import NamedTuple, NoReturn, Self, SupportsIndex

from groundstate import ze
from groundstate.core.api import Api, address
from groundstate.core.errors import ClosedError

_NOT_READY = int(ze.ZE_RESULT_NOT_READY)

_unfinished: deque[tuple[Ending, object]] = deque()
"""Queues nobody holds any more, but which still ran when they were to be destroyed."""


class Ending(NamedTuple):
    """How an object of the driver is destroyed."""

    api: Api
    function: str
    arguments: tuple[object, ...]
    wait: str | None
    """The function that waits for it, of a queue: what runs uses what the queue keeps."""


class Resource:
    """One object of the driver, destroyed when nothing refers to this any more.

    `keeps` is whatever must live at least as long: the parent's resource, memory in flight.
    `wait` is the function that waits for a queue.
    """

    __slots__ = ("__weakref__", "_ending", "api", "argument", "keeps", "value")

    def __init__(
        self,
        api: Api,
        value: int,
        destroy: tuple[str, tuple[object, ...]] | None,
        keeps: object,
        *,
        wait: str | None = None,
    ) -> None:
        self.api = api
        self.value = value
        self.argument = address(value)
        """The handle as a prepared argument: see `Direct`."""
        self.keeps = keeps
        self._ending = Ending(api, *destroy, wait) if destroy is not None else None
        if _unfinished:
            settle()

    def __del__(self) -> None:
        # When the interpreter ends the driver cleans up by itself, and its Python half may be gone.
        if self._ending is not None and not sys.is_finalizing():
            _end(self._ending, self.keeps)


def _end(ending: Ending, keeps: object) -> None:
    """Destroys an object, or puts it aside if it is a queue that still runs."""
    api, function, arguments, wait = ending
    if wait is not None and getattr(api.library, wait)(*arguments, 0) == _NOT_READY:
        _unfinished.append((ending, keeps))
    else:
        getattr(api.library, function)(*arguments)


def settle() -> int:
    """Destroys the queues that have finished; returns how many still run."""
    for _ in range(len(_unfinished)):
        try:
            ending, keeps = _unfinished.popleft()
        except IndexError:
            break  # another thread took it
        _end(ending, keeps)
    return len(_unfinished)


class Handle:
    """An object of a Level Zero driver."""

    _resource: Resource | None

    @property
    def resource(self) -> Resource:
        """The driver's object; raises `ClosedError` once this was closed."""
        resource = self._resource
        if resource is None:
            raise ClosedError(f"this {type(self).__name__} was closed")
        return resource

    @property
    def handle(self) -> int:
        """The handle as the C API knows it."""
        return self.resource.value

    @property
    def api(self) -> Api:
        """The functions of the library that made this object."""
        return self.resource.api

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """A copy would be the same object of the driver, and a pickle would be none."""
        name = type(self).__name__
        raise TypeError(f"a {name} cannot be copied or pickled: it is an object of this process")

    def __repr__(self) -> str:
        if self._resource is None:
            return f"<{type(self).__name__} closed>"
        details = self._describe()
        return f"<{type(self).__name__} {self._resource.value:#x}{details and ' ' + details}>"

    def _describe(self) -> str:
        """What a reader wants to know beside the handle."""
        return ""


class OwnedHandle(Handle):
    """An object that was created and can be closed.

    Closing never waits and may be done twice. Use after closing raises `ClosedError`. What the
    device still needs is destroyed as soon as it does not.
    """

    @property
    def closed(self) -> bool:
        """True after `close()`."""
        return self._resource is None

    def close(self) -> None:
        """Lets go of the driver's object."""
        self._resource = None
        if _unfinished:
            settle()

    def __enter__(self) -> Self:
        self.resource  # noqa: B018  a closed object cannot be entered
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if problem is None and self._resource is not None:
            self._finish()
        self.close()

    def _finish(self) -> None:
        """What a `with` block does at its end, before closing, if nothing went wrong in it."""


class InFlight:
    """What submitted work still uses: kept until a queue is found idle.

    Looking whether it is idle costs a call, so it is done only when much has piled up. What is
    added while somebody looks belongs to later work and stays.
    """

    _FIRST_LOOK = 256

    __slots__ = ("next_look", "objects")

    def __init__(self) -> None:
        self.objects: dict[int, object] = {}
        """By their ids."""
        self.next_look = self._FIRST_LOOK
        """With how many of them it is time to look whether they are still needed."""

    def add(self, things: Iterable[object]) -> None:
        """Keeps objects, each once however often it is used."""
        objects = self.objects
        for thing in things:
            objects[id(thing)] = thing

    def is_large(self) -> bool:
        """True when it is time to look."""
        return len(self.objects) >= self.next_look

    def take(self) -> dict[int, object]:
        """Everything so far, to be dropped if a look finds the queue idle, else put back."""
        taken, self.objects = self.objects, {}
        self.next_look = self._FIRST_LOOK
        return taken

    def put_back(self, taken: dict[int, object]) -> None:
        """The work was not done: keep on, and look again when there is twice as much."""
        self.objects.update(taken)
        self.next_look = max(self._FIRST_LOOK, 2 * len(self.objects))
