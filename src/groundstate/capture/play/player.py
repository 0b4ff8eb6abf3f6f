"""Plays a stream: makes the recorded calls again, with present handles and addresses."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any, Protocol

from groundstate import _raw
from groundstate.capture.describe import NamedCall
from groundstate.capture.play.arena import Arena
from groundstate.capture.play.comparing import Comparison
from groundstate.capture.play.contents import Contents
from groundstate.capture.play.device_copies import DeviceCopies
from groundstate.capture.play.effects import ADJUSTMENTS, EFFECTS, FREES
from groundstate.capture.play.errors import PlayError, UnplayableError
from groundstate.capture.play.extensions import extension_function, is_our_driver
from groundstate.capture.play.memory import Memory
from groundstate.capture.play.modules import check_module, is_native
from groundstate.capture.play.names import Names
from groundstate.capture.play.options import Options
from groundstate.capture.play.passing import Passing
from groundstate.capture.play.plan import Plan, plan_of
from groundstate.capture.play.pointers_inside import PointersInside
from groundstate.capture.play.report import Report, result_name
from groundstate.capture.play.threads import Threads
from groundstate.capture.play.timing import HEAD_SIZE, RESULT, RESULT_AT, TIME, Clock, call_head
from groundstate.capture.play.together import Member
from groundstate.capture.play.topology import Topology
from groundstate.capture.play.turns import Turns
from groundstate.capture.play.work import NOT_READY, SUCCESS, WAITS, Work
from groundstate.capture.pointers import ENDS
from groundstate.capture.scripting.events import Events
from groundstate.capture.stream import Call, Kind, Record, StreamError, StreamReader
from groundstate.capture.stream.writes import Writes

CALL = int(Kind.CALL)
REPEATED_LIMIT = 4096
SUCCEEDED = bytes(8)
"""The result of a call that succeeded, as it is in its record."""
PROGRESS = 512
LAST_WAIT_S = 2.0
"""A program may end while its device works, and so may a player."""
NEVER = frozenset({"zeGraphDumpContentsExt"})
"""Functions that are not called for a recording: they write files where they are told to."""


class Observer(Protocol):
    """Somebody who wants to see the calls; reading memory waits for nobody, see `Player.idle`."""

    def before(self, player: Player, call: NamedCall) -> None:
        """A call is about to be made."""

    def after(self, player: Player, call: NamedCall, result: int) -> None:
        """A call has been made; `result` is what it answered now."""


class Repeated:
    """A call that may come again: its function and arguments, ready to be used."""

    __slots__ = ("arguments", "function", "gives_work_to", "is_plain", "plan")

    def __init__(
        self, plan: Plan, function: Any, arguments: list[Any], gives_work_to: int | None
    ) -> None:
        self.plan = plan
        self.function = function
        self.arguments = arguments
        self.gives_work_to = gives_work_to
        self.is_plain = plan.name not in WAITS and plan.name not in ENDS


class Worker:
    """What one thread of the player needs for itself."""

    def __init__(self) -> None:
        self.arena = Arena()
        self.kept = Arena()
        self.calls = 0
        self.left_out = 0
        self.repeated: dict[bytes, Repeated] = {}
        self.state = (-1, -1)


class Player:
    """Plays one stream on one library: our driver, a loader, or the capture library before them."""

    def __init__(
        self,
        reader: StreamReader,
        library_path: str,
        options: Options | None = None,
        member: Member | None = None,
    ) -> None:
        self.options = options or Options()
        self.reader = reader
        self.report = Report(stream=reader.path.name, library=library_path)
        try:
            self.library = _raw.Library(library_path)
        except UnicodeDecodeError:  # the sentence has the path, which is no text
            raise PlayError(f"cannot open {library_path}") from None
        except OSError as problem:
            raise PlayError(f"cannot open {library_path}: {problem}") from None
        self.events = Events.of(library_path)
        self.copies = DeviceCopies(self.library)
        self.memory = Memory(self.options.memory_limit, self.copies.transfer)
        self.names = Names(self.memory, self.report.note)
        self.names.scan_arguments = self.options.scan_pointers
        self.names.unknown_handles = is_our_driver(self.library)
        self.topology: Topology = Topology(self.library, self.names)
        self.work = Work(self.library, self.options.patience)
        self.contents = Contents(reader.path)
        self.comparison = Comparison(self)
        self.pointers = PointersInside(
            self.names, scan=self.options.scan_pointers, places=self.options.pointers_at
        )
        self.turns = None if member is None else Turns(member, reader.header.start, self)
        if member is not None:
            self.names.find_elsewhere = member.find
        self.modules: dict[int, tuple[int, int]] = {}
        self._functions: dict[int, str] = {}
        self._plans: dict[int, tuple[Plan, Any] | None] = {}
        self._observer: Observer | None = None
        self._is_quick = False
        self._workers: list[Worker] = []
        self.worker = self.new_worker()
        self._clock = Clock() if self.options.real_speed else None

    # --- What others may ask ---

    def handle(self, recorded: int) -> int:
        """The present handle of a recorded one."""
        return self.names.handle(recorded)

    def idle(self) -> bool:
        """Waits until the device has done all its work; False if it does not end."""
        return self.work.wait_until_idle(self.options.patience)

    def run(
        self, observer: Observer | None = None, progress: Callable[[int], None] | None = None
    ) -> Report:
        """Plays the whole stream and says what was not as recorded.

        `progress` is told now and then how many records have been read.
        """
        self._observer = observer
        others = (observer, self.events, self.turns, self._clock)
        self._is_quick = all(other is None for other in others)
        begin = time.monotonic()
        try:
            threads = Threads(self) if self.options.threads else None
            for record in self.reader.records():
                if threads is not None:
                    threads.play(record)
                else:
                    self.play(record, self.worker)
                if progress is not None and not record.number % PROGRESS:
                    progress(record.number)
                self.report.records = record.number + 1
            if threads is not None:
                threads.end()
            if self.turns is not None:
                self.turns.end()
            if not self.work.wait_until_idle(min(LAST_WAIT_S, self.options.patience)):
                self.report.note("the device had not ended its work when the recording ended")
        finally:
            self._add_up(time.monotonic() - begin)
            if self.events is not None:
                self.events.end()
        if self.reader.damage is not None:
            self.report.damage = str(self.reader.damage)
        return self.report

    def new_worker(self) -> Worker:
        """What another thread needs for itself."""
        worker = Worker()
        self._workers.append(worker)
        return worker

    def _add_up(self, seconds: float) -> None:
        self.report.seconds = seconds
        self.report.calls = sum(worker.calls for worker in self._workers)
        self.report.left_out = sum(worker.left_out for worker in self._workers)

    def close(self) -> None:
        """Gives back what the player itself had from the driver, which has nothing to do then."""
        if self.work.let_go():
            self.memory.program.close()
        self.copies.close()
        self.contents.close()
        self.names.descriptors.close()

    # --- One record ---

    def play(self, record: Record, worker: Worker) -> None:
        """Does what a record says."""
        if record.kind == CALL:
            if not self._is_quick or not self._repeat(record, worker):
                self._see(record)
                self._call(record, worker)
            return
        self._see(record)
        if record.kind == Kind.CONTENT:
            self.contents.remember(record.body)
        elif record.kind == Kind.FUNCTION:
            self._functions[int.from_bytes(record.body[:4], "little")] = record.body[4:].decode(
                "ascii", "replace"
            )
        elif record.kind == Kind.WRITES:
            if self.turns is None:
                self.write(record)
            else:
                self.turns.hold(record)
        elif record.kind == Kind.RESULTS:
            self._compare_memory(record)

    def _see(self, record: Record) -> None:
        if self.events is not None:
            self.events.see(record)

    def _repeat(self, record: Record, worker: Worker) -> bool:
        """Makes a call that came before with the same arguments; False if it did not.

        Programs make most of their calls in loops, so this is where playing them takes its time.
        """
        if worker.state != (self.names.changes, self.memory.changes):
            return False
        body = record.body
        repeated = worker.repeated.get(body[:4] + body[HEAD_SIZE:])
        if repeated is None or not repeated.is_plain or body[RESULT_AT:HEAD_SIZE] != SUCCEEDED:
            return False
        worker.calls += 1
        result = repeated.function(*repeated.arguments)
        if repeated.gives_work_to is not None:
            self.work.submitted(repeated.plan.name, repeated.gives_work_to)
        if result == NOT_READY:
            result = self.work.poll(repeated.function, repeated.arguments)
        if result != SUCCESS:
            self._compare(record.number, repeated.plan.name, SUCCESS, result)
        return True

    def _call(self, record: Record, worker: Worker) -> None:
        body = record.body
        head = call_head(body)
        if head is None:
            self.report.differ(record.number, "?", "unplayable", "a call ends inside itself")
            return
        if self._clock is not None:
            self._clock.wait_for(head[TIME])
        if self.turns is not None:
            self.turns.wait(head)
        result = head[RESULT]
        state = (self.names.changes, self.memory.changes)
        if state != worker.state:
            worker.repeated.clear()
            worker.kept.reset()
            worker.state = state
        key = body[:4] + body[HEAD_SIZE:]
        repeated = worker.repeated.get(key)
        if repeated is None or self._observer is not None:
            self._first(record, worker, key)
            return
        worker.calls += 1
        present = self._make(repeated.plan, repeated.function, repeated.arguments, result)
        self._compare(record.number, repeated.plan.name, result, present)

    def _first(self, record: Record, worker: Worker, key: bytes) -> None:
        """Makes a call that has not been prepared before."""
        name = "?"
        try:
            call = Call.unpack(record.body)
            name = self._functions.get(call.function, f"function {call.function}")
            known = self._known(call.function, name)
            if known is None:
                worker.left_out += 1
                return
            self._prepare(record.number, call, known, worker, key)
        except (UnplayableError, StreamError) as problem:
            worker.left_out += 1
            if name == "?" or call.result & 0xFFFFFFFF in (SUCCESS, NOT_READY):
                self.report.differ(record.number, name, "unplayable", f"was not made: {problem}")
            else:
                self.report.note(f"a call of {name} that had failed was not made: {problem}")

    def _prepare(
        self, number: int, call: Call, known: tuple[Plan, Any], worker: Worker, key: bytes
    ) -> None:
        plan, function = known
        if call.incomplete:
            raise UnplayableError("parts of it were too large to be recorded")
        may_repeat = plan.repeatable and len(worker.repeated) < REPEATED_LIMIT
        arena = worker.kept if may_repeat else worker.arena
        worker.arena.reset()
        passing = Passing(plan.name, call, self.names, arena, self.contents.get)
        passing.number = number
        arguments = plan.encode(passing)
        if plan.name in FREES:
            self._choose_freed(passing, arguments)
        if plan.name == "zeModuleCreate":
            check_module(passing, arguments[2], trust_native=self.options.trust_native)
        if plan.name in ADJUSTMENTS:
            ADJUSTMENTS[plan.name](self, passing)
        named = None
        if self._observer is not None:
            named = NamedCall(number, plan.name, call)
            self._observer.before(self, named)
        worker.calls += 1
        result = self._make(plan, function, arguments, call.result)
        self._learn(plan, passing, call.result, result)
        self._compare(number, plan.name, call.result, result)
        if plan.name == "zeModuleCreate" and result != call.result:
            self._explain_module(arguments[2])
        if named is not None and self._observer is not None:
            self._observer.after(self, named, result)
        if may_repeat and worker.state == (self.names.changes, self.memory.changes):
            target = self.work.target(plan.name, arguments)
            worker.repeated[key] = Repeated(plan, function, arguments, target)

    def _known(self, function: int, name: str) -> tuple[Plan, Any] | None:
        """The plan and the function of a name; None, with a note, for what is not called."""
        if function not in self._plans:
            self._plans[function] = self._found(name)
        return self._plans[function]

    def _found(self, name: str) -> tuple[Plan, Any] | None:
        if name not in _raw.namespace_of(name).functions:
            self.report.note(f"calls of {name!r}, which the API does not have, were left out")
            return None
        if name in NEVER or name.endswith("ProcAddrTable"):
            self.report.note(f"calls of {name} were left out")
            return None
        if name.startswith(("zes", "zet")) and not self.options.tools:
            self.report.note("calls of zes and zet functions were left out; see --tools")
            return None
        try:
            return plan_of(name), getattr(self.library, name)
        except _raw.MissingFunctionError as problem:
            found = extension_function(self.library, name)
            if found is None:
                self.report.differ(0, name, "missing", str(problem))
                return None
            return plan_of(name), found

    def _choose_freed(self, passing: Passing, arguments: list[Any]) -> None:
        """Lets a call free what it did, also if its address has been given out again since."""
        place = FREES[passing.what]
        leaving = self.memory.leaving(passing.words[place], passing.call.began)
        if leaving is not None:
            arguments[place] = leaving
        passing.freed = arguments[place]

    def _make(self, plan: Plan, function: Any, arguments: list[Any], recorded: int) -> int:
        name = plan.name
        if name in WAITS:
            return self.work.wait_for(name, function, arguments, recorded & 0xFFFFFFFF)
        if name in ENDS:
            self._ending(name, arguments[0])
        result = function(*arguments)
        target = self.work.target(name, arguments)
        if target is not None:
            self.work.submitted(name, target)
        if result == NOT_READY and recorded & 0xFFFFFFFF == SUCCESS and not plan.returns_handle:
            result = self.work.poll(function, arguments)
        return int(result or 0)

    def _ending(self, name: str, handle: int) -> None:
        self.work.ended(handle)
        if name == "zeContextDestroy":
            self.copies.forget(handle)

    def _learn(self, plan: Plan, passing: Passing, recorded: int, result: int) -> None:
        if plan.returns_handle:
            self.names.learn(recorded, result)
            return
        plan.learn(passing)  # a call that failed may answer handles, too: of a log, for example
        if result == SUCCESS and recorded & 0xFFFFFFFF == SUCCESS and plan.name in EFFECTS:
            EFFECTS[plan.name](self, passing)

    def _compare(self, number: int, name: str, recorded: int, present: int) -> None:
        recorded &= 0xFFFFFFFF
        if recorded == present or (recorded == NOT_READY and present == SUCCESS):
            return
        if plan_of(name).returns_handle:
            return
        was, now = result_name(recorded), result_name(present)
        self.report.differ(number, name, "result", f"was {was} and is {now}")

    def _explain_module(self, description: int) -> None:
        """Says so if a module was not made because only another driver understands it."""
        if is_native(description):
            self.report.note(
                "a module is native code of the driver that it was recorded with, and this one "
                "does not take it; record the program where it builds its modules from SPIR-V"
            )

    # --- Memory ---

    def _compare_memory(self, record: Record) -> None:
        try:
            self.comparison.compare(record)
        except StreamError as problem:
            self.report.differ(record.number, "results", "unplayable", str(problem))

    def write(self, record: Record) -> None:
        """Puts what the host had written into memory."""
        try:
            writes = Writes.unpack(record.body)
        except StreamError as problem:
            self.report.differ(record.number, "writes", "unplayable", str(problem))
            return
        if not writes.in_flight and not self.work.wait_until_idle(self.options.patience):
            self.report.note("memory was written although the device had not ended its work")
        self.report.writes += 1
        for run in writes.runs:
            for address, size, digest in run.pieces():
                try:
                    data = self.contents.get(digest)[:size]
                    self.memory.write(address, self.pointers.as_present(address, data))
                except (StreamError, UnplayableError) as problem:
                    self.report.differ(record.number, "writes", "unplayable", str(problem))

    def size_of(self, context: int, present: int) -> int:
        """How large the allocation is that a present address is in."""
        size = ctypes.c_size_t()
        ask = self.library.zeMemGetAddressRange
        return size.value if ask(context, present, None, ctypes.byref(size)) == SUCCESS else 0

    def global_size(self, module: int, name: bytes | None) -> int:
        """How large a global variable of a module is."""
        size = ctypes.c_size_t()
        text = ctypes.create_string_buffer(name or b"")
        ask = self.library.zeModuleGetGlobalPointer
        return size.value if ask(module, text, ctypes.byref(size), None) == SUCCESS else 0

    def share(self, recorded: bytes, present: bytes) -> None:
        """Takes note of a handle for other processes."""
        self.names.shared[recorded] = present
        if self.turns is not None:
            self.turns.member.give(recorded, present)
