"""The context that is used where none is given: one for the whole process, of the first device."""

from __future__ import annotations

import atexit
import os
from threading import Lock
from typing import Any

from groundstate.core.context import Context
from groundstate.core.driver import devices
from groundstate.core.memory import Memory


class _Default:
    """The default context of this process, once there is one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._context: Context | None = None
        self._inherited: list[Context] = []

    def get(self) -> Context:
        """The context, which is made if there is none."""
        with self._lock:
            if self._context is None or self._context.closed:
                self._context = Context(devices(include_system=False)[0])
            return self._context

    def close(self) -> None:
        """Closes the context, if there is one."""
        if self._context is not None:
            self._context.close()

    def start_again(self) -> None:
        """Leaves the context to the parent process, from which this one was just forked.

        What the parent runs in it never ends here, so it is kept instead of destroyed.
        """
        self._lock = Lock()
        if self._context is not None:
            self._inherited.append(self._context)
            self._context = None


_default = _Default()
atexit.register(_default.close)
os.register_at_fork(after_in_child=_default.start_again)


def default_context() -> Context:
    """The context that is used where none is given, for the first device of `gs.devices()`.

    It is made when it is first needed, and closed when Python ends. A process that was forked has
    one of its own.

    >>> import groundstate as gs
    >>> gs.default_context() is gs.default_context()
    True
    >>> [device.label for device in gs.default_context().devices]
    ['0']
    """
    return _default.get()


def context_or_default(context: Context | None) -> Context:
    """The context that was given, or the default one."""
    if context is None:
        return default_context()
    if not isinstance(context, Context):
        raise TypeError(f"a context is needed, such as gs.default_context(), not {context!r:.60}")
    return context


def array(data: Any, dtype: Any = None) -> Memory:
    """Shared memory of the default context with a copy of an array, numbers in lists, or bytes.

    It is `Context.array` of `default_context()`.

    >>> import groundstate as gs
    >>> gs.array([0.5, 1.5], "float32").tolist()
    [0.5, 1.5]
    """
    return default_context().array(data, dtype)
