"""The work that a device still has, and how to wait for it without waiting for ever."""

from __future__ import annotations

import time
from typing import Any

from groundstate import _raw, ze
from groundstate.capture.play.extensions import extension_function

SUCCESS = int(ze.ZE_RESULT_SUCCESS)
NOT_READY = int(ze.ZE_RESULT_NOT_READY)
SLICE_NS = 200_000_000
"""How long a call may wait before somebody looks at the clock, or at Ctrl-C."""
NAP_S = 0.0001
QUEUE_WAIT = "zeCommandQueueSynchronize"
LIST_WAIT = "zeCommandListHostSynchronize"
WAITS = {
    QUEUE_WAIT: 1,
    LIST_WAIT: 1,
    "zeEventHostSynchronize": 1,
    "zeFenceHostSynchronize": 1,
}
"""Functions that wait, and which of their arguments says for how long."""


class Work:
    """What was given to the device and not yet seen to be done."""

    def __init__(self, library: _raw.Library, patience: float) -> None:
        self._library = library
        self._patience = patience
        self.immediate: set[int] = set()
        """The immediate command lists, by their present handles."""
        self.events: set[int] = set()
        """The events that the host can signal, by their present handles."""
        self._busy: dict[int, str] = {}
        self._found: dict[str, Any] = {}

    def submitted(self, name: str, handle: int) -> None:
        """Takes note of a call that may have given work to its `target`."""
        executes = name == "zeCommandQueueExecuteCommandLists"
        self._busy[handle] = QUEUE_WAIT if executes else LIST_WAIT

    def target(self, name: str, arguments: list[Any]) -> int | None:
        """The queue or immediate list that a call may give work to."""
        if not name.startswith("zeCommand") or not arguments:
            return None
        handle: int = arguments[0]
        executes = name == "zeCommandQueueExecuteCommandLists"
        return handle if executes or handle in self.immediate else None

    def ended(self, handle: int) -> None:
        """Takes note of a queue, list or event that is no more."""
        self._busy.pop(handle, None)
        self.immediate.discard(handle)
        self.events.discard(handle)

    def wait_until_idle(self, seconds: float) -> bool:
        """Waits until all work is done; False if it still is not after that many seconds."""
        deadline = time.monotonic() + seconds
        for handle, name in list(self._busy.items()):
            result = NOT_READY
            while result == NOT_READY:
                left = int((deadline - time.monotonic()) * 1e9)
                result = self._waiting(name)(handle, max(0, min(SLICE_NS, left)))
                if result == NOT_READY and left <= 0:
                    return False
            self._busy.pop(handle, None)
        return True

    def let_go(self) -> bool:
        """Signals what work still waits for, as nobody else will; False if it does not end."""
        if self.wait_until_idle(0):
            return True
        for event in self.events:
            self._library.zeEventHostSignal(event)
        return self.wait_until_idle(self._patience)

    def _waiting(self, name: str) -> Any:
        """A function that waits; old loaders have none for immediate lists, but drivers do."""
        if name not in self._found:
            try:
                self._found[name] = getattr(self._library, name)
            except _raw.MissingFunctionError:
                found = extension_function(self._library, name)
                self._found[name] = found or (lambda handle, timeout: SUCCESS)
        return self._found[name]

    def wait_for(self, name: str, function: Any, arguments: list[Any], recorded: int) -> int:
        """Makes a call that waits: as long as it takes, if it succeeded in the recording."""
        place = WAITS[name]
        arguments = list(arguments)
        deadline = time.monotonic() + self._patience
        arguments[place] = SLICE_NS if recorded != NOT_READY else 0
        result: int = function(*arguments)
        while result == NOT_READY and recorded != NOT_READY and time.monotonic() < deadline:
            result = function(*arguments)
        return result

    def poll(self, function: Any, arguments: list[Any]) -> int:
        """Repeats a call that is not ready now but was in the recording."""
        deadline = time.monotonic() + self._patience
        result: int = NOT_READY
        while result == NOT_READY and time.monotonic() < deadline:
            time.sleep(NAP_S)
            result = function(*arguments)
        return result
