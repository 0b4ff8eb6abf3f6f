"""Where the native library enters Python: it calls `start` once, when a program initialises it."""

from __future__ import annotations

import importlib

from groundstate import knobs
from groundstate.checkers import check_bits
from groundstate.driver import functions, native, platform, sysman
from groundstate.driver.api import HANDLERS, REQUESTS, Handler, stand_in
from groundstate.driver.devices import nvidia
from groundstate.driver.devices.cpu import Machine

CHECKING = ("checking.kernel_findings", "checking.command_races")
"""The modules that are asked for nothing by name, in checked mode."""


def start(library_path: str) -> dict[str, Handler]:
    """Builds the drivers and devices of this process and returns the handlers, by name."""
    native.load(library_path)
    if checkers := knobs.CHECK.get():
        importlib.import_module("groundstate.driver.checking.session").start(checkers)
        native.set_checks(check_bits(checkers))
    if "portability" in checkers or knobs.CHECK_VARY.get():
        importlib.import_module("groundstate.driver.checking.portability").start()
    native.set_shared_in_device(knobs.SHARED_FORCE_DEVICE_ALLOC.get())
    native.crash_on_faults(knobs.FAULTS.get() == "crash")
    native.limit_kernels(knobs.KERNEL_LIMIT.get() or 0)
    native.check_waits(knobs.CHECK_WAITS.get())
    native.report_same_values(knobs.CHECK_SAME_VALUES.get())
    native.say_errors(knobs.ERRORS.choices.index(knobs.ERRORS.get()))
    root = knobs.SYSFS_ROOT.get()
    platform.install(platform.Platform(native, Machine(root), nvidia.find(root)))
    for noun in CHECKING if checkers else ():
        importlib.import_module(f"groundstate.driver.{noun}")
    if debugger := knobs.DEBUG.get():
        importlib.import_module("groundstate.driver.debugging.launches").start(debugger)
    elif knobs.ENABLE_PROGRAM_DEBUGGING.get():
        importlib.import_module("groundstate.driver.debugging.sessions.listener").start()
    if folder := knobs.PROFILE.get():
        importlib.import_module("groundstate.driver.profiling").start(folder)
    if "host" in knobs.CHECK.get():
        importlib.import_module("groundstate.driver.checking.host_findings").start()
    return answers() | sysman.stand_ins()


def answers() -> dict[str, Handler]:
    """What answers the functions of `ze`, `zet` and `zer`, and the requests of the C half."""
    return {**_stand_ins(functions.NOUNS, HANDLERS), **_stand_ins(functions.REQUESTS, REQUESTS)}


def _stand_ins(nouns: dict[str, str], found: dict[str, Handler]) -> dict[str, Handler]:
    """Those that are imported, and stand-ins for those that are not yet."""
    package = f"{__package__}."
    return {name: stand_in(name, package + noun, found) for name, noun in nouns.items()} | found
