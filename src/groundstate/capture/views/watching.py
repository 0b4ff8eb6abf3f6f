"""Looks into command lists while they are played: puts commands of its own around those of a run.

What the added commands find is in memory of their own when the submission has ended, and is handed
out then, run by run. A submission that waits for something that the host does later is looked at
as soon as it has ended.
"""

from __future__ import annotations

import ctypes
import re
from abc import ABC, abstractmethod

from groundstate import ze
from groundstate.capture.describe import NamedCall
from groundstate.capture.play import Player
from groundstate.capture.structure.kernels import argument
from groundstate.capture.views.runs import Run, Runs

SHORT_WAIT_S = 0.5
"""After a submission; if it still runs then, it may wait for the host."""
_ALIGNMENT = 64
_MAY_END = re.compile(r"Synchronize|HostSignal")
_TAKES_AWAY = re.compile(r"Free|ImageDestroy|MemUnmap|CloseIpcHandle")


class LookError(RuntimeError):
    """Something that could not be looked at, in words for people."""


class Watcher(ABC):
    """An observer of a player; subclasses say what to add around commands, and what for."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.notes: dict[str, int] = {}
        self._waiting: list[int] = []  # submissions whose end nobody has seen
        self._memory: dict[int, list[int]] = {}  # by present context, what was allocated there

    # --- What subclasses do ---

    @abstractmethod
    def begin(self, player: Player, call: NamedCall, run: Run, where: int) -> None:
        """The command of a run is about to be appended to the present list `where`."""

    @abstractmethod
    def end(self, player: Player, call: NamedCall, run: Run, where: int) -> None:
        """It has been appended."""

    @abstractmethod
    def done(self, player: Player, runs: list[Run]) -> None:
        """The runs of a submission have ended: what the added commands wrote can be read."""

    @abstractmethod
    def see(self, player: Player, call: NamedCall) -> None:
        """A call has been made."""

    # --- What the player calls ---

    def before(self, player: Player, call: NamedCall) -> None:
        """Adds what comes before a command; nothing is overwritten that was not read yet."""
        if self._waiting and self._runs_again(call.number):
            self._finish(player, player.options.patience)
        elif self._waiting and _TAKES_AWAY.search(call.name):
            self._finish(player, SHORT_WAIT_S)
        if call.name == "zeContextDestroy" and call.call.arguments:
            self._release(player, player.handle(call.call.arguments[0]))
        run = self.runs.by_append.get(call.number)
        if run is not None:
            where = player.handle(argument(call, "hCommandList"))
            self._try(self.begin, player, call, run, where)

    def after(self, player: Player, call: NamedCall, result: int) -> None:
        """Adds what comes behind a command, and reads what ended."""
        run = self.runs.by_append.get(call.number)
        if run is not None and result == ze.ZE_RESULT_SUCCESS:
            where = player.handle(argument(call, "hCommandList"))
            self._try(self.end, player, call, run, where)
        self.see(player, call)
        if call.number in self.runs.by_submission and result == ze.ZE_RESULT_SUCCESS:
            self._waiting.append(call.number)
            self._finish(player, SHORT_WAIT_S)
        elif self._waiting and result == ze.ZE_RESULT_SUCCESS and _MAY_END.search(call.name):
            self._finish(player, SHORT_WAIT_S)

    def close(self, player: Player) -> None:
        """Reads what is left, and gives back all memory; to be called when the play has ended."""
        self._finish(player, player.options.patience)
        for context in list(self._memory):
            self._release(player, context)

    # --- Tools ---

    def note(self, sentence: str) -> None:
        """Takes note of something that people should know."""
        self.notes[sentence] = self.notes.get(sentence, 0) + 1

    def allocate(self, player: Player, context: int, size: int) -> int:
        """Memory that both the device and this process reach."""
        made = ctypes.c_void_p()
        description = ze.ze_host_mem_alloc_desc_t()
        result = player.library.zeMemAllocHost(
            context, ctypes.byref(description), size, _ALIGNMENT, ctypes.byref(made)
        )
        if result != ze.ZE_RESULT_SUCCESS or made.value is None:
            raise LookError(f"there is no memory for {size} bytes")
        self._memory.setdefault(context, []).append(made.value)
        return made.value

    def barrier(self, player: Player, where: int) -> None:
        """All commands before it end before those behind it begin."""
        self.appended(player, where, "zeCommandListAppendBarrier", None, 0, None)

    def appended(self, player: Player, where: int, name: str, *arguments: object) -> None:
        """Appends a command to a present list."""
        result = getattr(player.library, name)(where, *arguments)
        if result != ze.ZE_RESULT_SUCCESS:
            raise LookError(f"{name} answered {ze.ze_result_t(result).name}")
        player.work.submitted(name, where)

    def _runs_again(self, submission: int) -> bool:
        """Whether a submission runs commands that one before it may still be running."""
        appends = {run.append for run in self.runs.by_submission.get(submission, ())}
        return any(
            run.append in appends
            for waiting in self._waiting
            for run in self.runs.by_submission[waiting]
        )

    def _try(self, what: object, *arguments: object) -> None:
        assert callable(what)
        try:
            what(*arguments)
        except LookError as problem:
            self.note(str(problem))

    def _finish(self, player: Player, seconds: float) -> None:
        if not self._waiting:
            return
        if not player.work.wait_until_idle(seconds):
            if seconds >= player.options.patience:
                self.note("work did not end, and what it did could not be looked at")
                self._waiting.clear()
            return
        waiting, self._waiting = self._waiting, []
        for submission in waiting:
            self._try(self.done, player, self.runs.by_submission[submission])

    def _release(self, player: Player, context: int) -> None:
        self._finish(player, player.options.patience)
        for address in self._memory.pop(context, []):
            player.library.zeMemFree(context, address)
