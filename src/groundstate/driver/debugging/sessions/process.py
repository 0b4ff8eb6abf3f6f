"""What debuggers may know of this process: its queues, its modules, and who is attached."""

from __future__ import annotations

import os
from threading import Condition
from weakref import WeakKeyDictionary

from groundstate import ze
from groundstate.driver import module as modules
from groundstate.driver import native, platform
from groundstate.driver.api import Failure, request
from groundstate.driver.debugging import launches
from groundstate.driver.debugging.launches import launch_of
from groundstate.driver.debugging.sessions.loaded_module import LoadedModule
from groundstate.driver.debugging.sessions.session import Session
from groundstate.driver.debugging.sessions.stepped_launch import SteppedLaunch
from groundstate.driver.module import EntryPoint, Module
from groundstate.driver.platform import Device
from groundstate.native_layouts import DebuggedGroups, Dispatch


class DebuggedProcess:
    """This process, as sessions see it."""

    def __init__(self) -> None:
        self.changed = Condition()
        self.sessions: list[Session] = []
        self._pid = os.getpid()
        self._queues: dict[int, int] = {}
        """How many are open, by the handle of their device."""
        self._modules: WeakKeyDictionary[Module, LoadedModule] = WeakKeyDictionary()

    @property
    def is_debugged(self) -> bool:
        """Whether somebody is attached to this process. A child that was forked is another one."""
        return bool(self.sessions) and self._pid == os.getpid()

    def session_for(self, device: Device) -> Session | None:
        """The session that is told of a device: its own, or its parent's."""
        return next((each for each in self.sessions if _belongs(device, each.device)), None)

    # --- Sessions -------------------------------------------------------------------------------

    def attach(self, uuid: bytes) -> Session:
        """Begins a session on a device, with the events of all that is there already."""
        device = _device(uuid)
        with self.changed:
            for each in self.sessions:
                if _belongs(device, each.device) or _belongs(each.device, device):
                    raise Failure(
                        ze.ZE_RESULT_ERROR_NOT_AVAILABLE,
                        "a debugger is attached to this device already",
                    )
            session = Session(device, self.changed)
            self.sessions.append(session)
            if self._queue_count(device):
                session.tell("PROCESS_ENTRY")
        for module in modules.live_modules():
            if not module.is_of_gpu and _belongs(platform.device(module.device), device):
                session.load(self._loaded(module), waits=False)
        native.debug_launches(True)
        return session

    def detach(self, session: Session) -> None:
        """Ends a session."""
        session.end()
        with self.changed:
            if session in self.sessions:
                self.sessions.remove(session)
            native.debug_launches(bool(self.sessions))

    # --- Queues ---------------------------------------------------------------------------------

    def _queue_count(self, device: Device) -> int:
        """How many queues are open on a device and its parts."""
        return sum(
            count
            for handle, count in self._queues.items()
            if _belongs(platform.device(handle), device)
        )

    def change_queues(self, handle: int, difference: int) -> None:
        """A queue was opened or closed: the first and the last of a device are events."""
        device = platform.device(handle)
        if self._pid != os.getpid():
            return
        with self.changed:
            session = self.session_for(device)
            before = self._queue_count(session.device) if session is not None else 0
            self._queues[handle] = self._queues.get(handle, 0) + difference
            if session is None:
                return
            after = self._queue_count(session.device)
            if before == 0 and after > 0:
                session.tell("PROCESS_ENTRY")
            elif before > 0 and after == 0:
                session.tell_last("PROCESS_EXIT")

    # --- Modules --------------------------------------------------------------------------------

    def _loaded(self, module: Module) -> LoadedModule:
        found = self._modules.get(module)
        if found is None:
            found = self._modules.setdefault(module, LoadedModule(module))
        return found

    def _watching(self, module: Module) -> Session | None:
        if module.is_of_gpu or not self.is_debugged:
            return None
        return self.session_for(platform.device(module.device))

    def loaded(self, module: Module) -> None:
        """A program has made a module. It waits until the debugger has seen that."""
        session = self._watching(module)
        if session is not None:
            session.load(self._loaded(module), waits=True)

    def unloading(self, module: Module) -> None:
        """A program destroys a module."""
        session = self._watching(module)
        if session is not None:
            session.unload(self._loaded(module))

    def image_at(self, address: int, size: int) -> bool:
        """Whether this is a part of the ELF file of a module."""
        images = [each.image for each in list(self._modules.values())]
        return any(begin <= address and address + size <= end for begin, end in images)

    # --- Launches -------------------------------------------------------------------------------

    def debug(self, entry_point: EntryPoint, groups: DebuggedGroups) -> bool:
        """Steps a launch for whoever is attached; the rest runs compiled if they go."""
        module = entry_point.module
        session = self._watching(module)
        if session is None:
            return False
        loaded = self._loaded(module)
        kernel = loaded.kernels.get(entry_point.signature.name)
        if kernel is None or loaded.program is not module.program:  # it was linked since
            return False
        launch = launch_of(entry_point, kernel.code, Dispatch.from_address(groups.dispatch))
        groups.stepped = SteppedLaunch(session, loaded, launch).run(groups.next)
        groups.next = launch.group_count
        return True


def _belongs(device: Device, whole: Device) -> bool:
    return device is whole or device.parent is whole


def _device(uuid: bytes) -> Device:
    for device in list(platform.current().by_handle.values()):
        if device.uuid == uuid and device.gpu is None:
            return device
    raise Failure(
        ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
        "the process does not have this device: it divides the machine otherwise",
    )


process = DebuggedProcess()


def watch() -> None:
    """Keeps account of what a debugger will want to know."""
    launches.debugger = process
    modules.watcher = process
    native.watch_queues(True)


@request
def queue_changed(device: int, opened: int) -> None:
    """The C half has opened a queue, or is about to close one."""
    process.change_queues(device, 1 if opened else -1)
