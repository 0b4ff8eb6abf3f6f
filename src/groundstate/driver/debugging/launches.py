"""Launches that are stepped: which ones, which of their groups, and what is done at a stop."""

from __future__ import annotations

import ctypes
import os
import sys
from _thread import allocate_lock
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from groundstate.compiler.errors import BuildError
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.step.code import StepCode
from groundstate.compiler.step.group import Group, Launch
from groundstate.driver import native, native_kernel
from groundstate.driver.api import request
from groundstate.driver.debugging.answers import Answers, Message
from groundstate.driver.debugging.breakpoints import Active, Breakpoint, Places, Watch
from groundstate.driver.debugging.connection import Connection, Gone
from groundstate.driver.debugging.expressions import evaluate
from groundstate.driver.debugging.inspection import Names
from groundstate.driver.debugging.stepper import Stepper, Stop
from groundstate.driver.debugging.values import EvaluationError
from groundstate.driver.module import EntryPoint, entry_point_at
from groundstate.native_layouts import DebuggedGroups, Dispatch

ALL = (1 << 64) - 1
MARGIN = 1 << 16
"""So far from an argument's memory an address is taken to be meant for that."""


class Kernel:
    """What is known of a kernel that may be stepped."""

    def __init__(self, entry_point: EntryPoint) -> None:
        self.code = StepCode(entry_point.module.program, entry_point.signature.name)
        self.names = Names(self.code)
        self.places = Places(self.code)


class Debugger:
    """What the other side wants, and the launch that is under way."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.lock = allocate_lock()
        self.breakpoints: list[Breakpoint] = []
        self.watches: list[Watch] = []
        self.stops_at_findings = True
        self.stops_at_entry = False
        self.wants_pause = False
        self.is_detached = False
        self._kernels: WeakKeyDictionary[EntryPoint, Kernel | None] = WeakKeyDictionary()

    # --- What is wanted -------------------------------------------------------------------------

    def take(self, message: Message) -> bool:
        """Takes a wish that holds from now on; False if it is something else."""
        command = message.get("command")
        if command == "set_breakpoints":
            hits = {each.id: each.hits for each in self.breakpoints}
            self.breakpoints = [Breakpoint.of(each) for each in message["breakpoints"]]
            for each in self.breakpoints:
                each.hits = hits.get(each.id, 0)
        elif command == "set_watches":
            known = {each.id: each for each in self.watches}
            self.watches = [
                known.get(int(each["id"])) or Watch(int(each["id"]), str(each["expression"]))
                for each in message["watches"]
            ]
        elif command == "options":
            self.stops_at_findings = bool(message.get("findings", self.stops_at_findings))
            self.stops_at_entry = bool(message.get("entry", self.stops_at_entry))
        elif command == "pause":
            self.wants_pause = True
        elif command == "detach":
            self.is_detached = True
        else:
            return False
        return True

    def poll(self) -> bool:
        """Takes what has been said; whether somebody wants to stop."""
        for message in self.connection.poll():
            self.take(message)
        wanted, self.wants_pause = self.wants_pause, False
        return wanted or self.is_detached

    # --- Launches -------------------------------------------------------------------------------

    def debug(self, entry_point: EntryPoint, groups: DebuggedGroups) -> bool:
        """Steps groups of a launch; False if the rest of it is to run as ever."""
        if not self.connection.is_ours:
            return False
        with self.lock:
            try:
                self.launch(entry_point, groups)
            except Gone:
                self.is_detached = True
                native.debug_launches(False)
                self.connection.close()
                return False
        return True

    def kernel(self, entry_point: EntryPoint) -> Kernel | None:
        """What can be stepped of a kernel; None if it cannot."""
        if entry_point not in self._kernels:
            try:
                self._kernels[entry_point] = Kernel(entry_point)
            except BuildError:
                self._kernels[entry_point] = None
        return self._kernels[entry_point]

    def launch(self, entry_point: EntryPoint, groups: DebuggedGroups) -> None:
        """Steps the groups that somebody wants to look into."""
        wants_pause = self.poll() or self.stops_at_entry
        dispatch = Dispatch.from_address(groups.dispatch)
        count = dispatch.group_counts[0] * dispatch.group_counts[1] * dispatch.group_counts[2]
        first, groups.next = groups.next, count
        if self.is_detached:
            return
        is_wanted = self.breakpoints or self.watches or wants_pause
        kernel = self.kernel(entry_point) if is_wanted else None
        if kernel is None:
            return
        active = Active(self.breakpoints, kernel.places, entry_point.signature.name)
        if not (active or self.watches or wants_pause):
            return
        numbers = self._groups_of(active, dispatch) if not (self.watches or wants_pause) else None
        if numbers is not None:
            later = sorted(each for each in numbers if each >= first)
            if not later or later[0] > first:
                groups.next = later[0] if later else count
                return
        launch = launch_of(entry_point, kernel.code, dispatch)
        session = Session(self, kernel, launch, groups.context, wants_pause)
        groups.stepped = session.run(first, 1 if numbers is not None else count - first)
        groups.next = groups.stepped if session.goes_on else count

    def _groups_of(self, active: Active, dispatch: Dispatch) -> set[int] | None:
        """The groups in which something may stop; None if that may be any."""
        items = active.items
        if items is None:
            return None
        found = set()
        for place in items:
            at = [
                (each - offset) // size
                for each, offset, size in zip(
                    place, dispatch.global_offset, dispatch.group_size, strict=True
                )
            ]
            counts = list(dispatch.group_counts)
            if all(0 <= each < most for each, most in zip(at, counts, strict=True)):
                found.add((at[2] * counts[1] + at[1]) * counts[0] + at[0])
        return found


def launch_of(entry_point: EntryPoint, code: StepCode, dispatch: Dispatch) -> Launch:
    """A launch as the stepper wants it."""
    signature = entry_point.signature
    variables = entry_point.module.variables
    return Launch(
        code,
        ctypes.string_at(dispatch.arguments, signature.block_bytes),
        tuple(dispatch.group_counts),
        tuple(dispatch.group_size),
        tuple(dispatch.global_offset),
        dispatch.work_dimensions,
        native_kernel.globals_base(variables) if variables else 0,
        dispatch.local_bytes,
        0,
        _print,
    )


def _print(text: str) -> None:
    """Prints as compiled code does: with the C library, whose buffer the program shares."""
    library = ctypes.CDLL(None)
    library.printf(b"%s", text.encode("utf-8", "replace"))
    library.fflush(None)


class Session:
    """One launch, group after group, and the stops in it."""

    def __init__(
        self,
        debugger: Debugger,
        kernel: Kernel,
        launch: Launch,
        context: int,
        wants_pause: bool,
    ) -> None:
        self.debugger = debugger
        self.kernel = kernel
        self.code = launch.code
        self.all = launch
        self.context = context
        self.is_paused = wants_pause
        self.goes_on = True
        """Whether more of the launch may have to be stepped."""

    def run(self, first: int, count: int) -> int:
        """Steps so many groups; returns the first that was not."""
        for number in range(first, first + count):
            if not self._is_wanted():
                return number
            self._group(number)
        return first + count

    def _active(self) -> Active:
        name = self.all.code.name
        return Active(self.debugger.breakpoints, self.kernel.places, name)

    def _is_wanted(self) -> bool:
        """Whether there is something left to stop at."""
        self.is_paused = self.debugger.poll() or self.is_paused
        self.goes_on = not self.debugger.is_detached and bool(
            self.is_paused or self.debugger.watches or self._active()
        )
        return self.goes_on

    # --- A group --------------------------------------------------------------------------------

    def _group(self, number: int) -> None:
        group = Group(self.all, number)
        if self.debugger.stops_at_findings:
            group.memory.guard = _Guard(group, self.context)
        self.stepper = Stepper(group, self.kernel.names, self._active())
        self.stepper.stops_at_findings = self.debugger.stops_at_findings
        self.stepper.wants_pause = self.debugger.poll
        self._watch()
        texts = self.all.code.program.source_texts
        self.answers = Answers(self.stepper, self.context, texts.line)
        stop = self._first_stop() if self.is_paused else self.stepper.go(is_fresh=True)
        self.is_paused = False
        while stop is not None:
            if self.debugger.is_detached:
                self.stepper.active = Active([], self.kernel.places, "")
                self.stepper.watches, self.stepper.stops_at_findings = [], False
                stop = self.stepper.go()
                continue
            stop = self._look(stop)

    def _first_stop(self) -> Stop | None:
        """At the first line of the kernel."""
        focus = self.stepper.focus
        group = self.stepper.group
        while not focus.is_over and not focus.begins_line(focus.instruction):
            item = group.next_ready(focus)
            if item is None:
                break
            group.step(item)
        return Stop("entry", focus)

    def _watch(self) -> None:
        """Finds the memory of watches that may be there now."""
        for watch in self.debugger.watches:
            if watch.size:
                continue
            try:
                value = evaluate(watch.expression, self.stepper.focus, self.kernel.names)
            except EvaluationError:
                continue
            if value.address:
                watch.address, watch.size = value.address, value.type.size
        self.stepper.watches = [each for each in self.debugger.watches if each.size]

    def _look(self, stop: Stop) -> Stop | None:
        """Tells of a stop, answers questions, and goes on as told to the next one."""
        self.debugger.connection.send({"event": "stopped", **self._told(stop)})
        if stop.breakpoint is not None and stop.breakpoint.is_temporary:
            self.debugger.breakpoints.remove(stop.breakpoint)
            self.stepper.active = self._active()
        while True:
            message = self.debugger.connection.next()
            if self.debugger.take(message):
                self.stepper.active = self._active()
                self._watch()
                self.stepper.stops_at_findings = self.debugger.stops_at_findings
                self.debugger.wants_pause = False
                self._reply(message, {})
                if self.debugger.is_detached:
                    return stop
                continue
            if message.get("command") in GOING:
                self._reply(message, {})
                return self._go(message)
            self._reply(message, self.answers.answer(message))

    def _reply(self, message: Message, answer: Message) -> None:
        if "seq" in message:
            self.debugger.connection.send({"reply": message["seq"], **answer})

    def _told(self, stop: Stop) -> Message:
        text, _, rest = stop.text.partition("\0")
        told: dict[str, Any] = {"reason": stop.reason, "text": text}
        if rest:
            old, _, new = rest.partition("\0")
            watch = next(e for e in self.debugger.watches if text.startswith(f"watchpoint {e.id}:"))
            told |= {"old": old, "new": new, "watch": watch.id}
        if stop.breakpoint is not None:
            told |= {"breakpoint": stop.breakpoint.id, "hits": stop.breakpoint.hits}
            told["problem"] = stop.breakpoint.problem
        return told | self.answers.describe(stop.item)

    def _go(self, message: Message) -> Stop | None:
        stepper, command = self.stepper, message["command"]
        if command == "continue":
            return stepper.go()
        if command == "reverse_continue":
            return stepper.go_back()
        item = stepper.focus
        number = message.get("item")
        if number is not None and 0 <= int(number) < len(stepper.group.items):
            item = stepper.focus = stepper.group.items[int(number)]
        kind = str(message.get("kind", "over"))
        if command == "step_back":
            return stepper.step_back(item, kind)
        scope = message.get("scope", "item")
        items = [item]
        if scope == "sub-group":
            items = [e for e in stepper.group.items if e.subgroup == item.subgroup]
        elif scope == "group":
            items = list(stepper.group.items)
        return stepper.step(items, kind)


GOING = frozenset(("continue", "step", "step_back", "reverse_continue"))
"""Commands after which the group goes on."""


class _Guard:
    """Knows which memory the arguments of a kernel lead to."""

    def __init__(self, group: Group, context: int) -> None:
        self.group = group
        self.context = context
        self.known: list[tuple[int, int, str]] = []
        for index, argument in enumerate(group.code.signature.arguments):
            value = group.argument(index) if argument.kind == "pointer" else 0
            found = native.allocation(context, value) if isinstance(value, int) and value else None
            if found is not None:
                self.known.append((found.base, found.base + found.size, argument.name))

    def __call__(self, address: int, size: int) -> str:
        """What is wrong with an access; nothing if it is right, or nobody knows."""
        if any(start <= address and address + size <= end for start, end, _ in self.known):
            return ""
        found = native.allocation(self.context, address)
        if found is not None:
            start, end = found.base, found.base + found.size
            if start <= address and address + size <= end:
                return ""
            return self._where(address, start, end)
        near = [
            (max(start - address, address - end), start, end)
            for start, end, _ in self.known
            if start - MARGIN <= address < end + MARGIN
        ]
        if near and not self._is_own(address):
            _, start, end = min(near)
            return self._where(address, start, end)
        return ""

    def _is_own(self, address: int) -> bool:
        """Whether it is memory of the stepped group itself."""
        group = self.group
        if group.local <= address < group.local + group.local_bytes:
            return True
        return any(each.storage_of(address) == StorageClass.Function for each in group.items)

    def _where(self, address: int, start: int, end: int) -> str:
        names = [name for first, _, name in self.known if first == start]
        whole = f"argument '{names[0]}'" if names else "its allocation"
        if address < start:
            return f"{start - address} bytes before the {end - start} bytes of {whole}"
        if address >= end:
            far = f"{address - end} bytes " if address > end else ""
            return f"{far}behind the end of the {end - start} bytes of {whole}"
        return f"over the end of the {end - start} bytes of {whole}"


# --- The program ----------------------------------------------------------------------------------


class SeesLaunches(Protocol):
    """Who sees launches before they run."""

    def debug(self, entry_point: EntryPoint, groups: DebuggedGroups) -> bool: ...


debugger: SeesLaunches | None = None


def start(path: str) -> None:
    """Connects with the debugger, and waits until it lets the program go on."""
    global debugger
    try:
        connection = Connection.to(path)
    except OSError as problem:
        sys.stderr.write(f"groundstate: no debugger at {path}: {problem.strerror}\n")
        return
    started = Debugger(connection)
    try:
        connection.send({"event": "hello", "pid": os.getpid(), "program": _program()})
        while (message := connection.next()).get("command") != "go":
            started.take(message)
    except Gone:
        return
    debugger = started
    native.debug_launches(True)


def _program() -> str:
    try:
        return os.readlink("/proc/self/exe")
    except OSError:
        return ""


@request
def debug_launch(entry_point: int, x: int, y: int, z: int, groups: int) -> int:
    """Steps groups of a launch; 0 if the rest of it is to run as ever."""
    found, told = entry_point_at(entry_point), DebuggedGroups.from_address(groups)
    if debugger is None or found.module.is_of_gpu:
        return 0
    return int(debugger.debug(found, told))
