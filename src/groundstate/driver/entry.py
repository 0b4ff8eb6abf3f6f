"""Where the native library enters Python: it calls `start` once, when a program initialises it."""

from __future__ import annotations

import importlib

from groundstate import knobs
from groundstate.checkers import check_bits
from groundstate.driver import native, platform, sysman
from groundstate.driver.api import HANDLERS, REQUESTS, Handler
from groundstate.driver.devices import nvidia
from groundstate.driver.devices.cpu import Machine

NOUNS = (
    "driver",
    "context",
    "device",
    "device_memory",
    "capabilities",
    "image",
    "fabric",
    "runtime",
    "memory",
    "external_memory",
    "virtual_memory",
    "event",
    "build_log",
    "module",
    "debug_info",
    "linking",
    "kernel",
    "variants",
    "metrics.groups",
    "metrics.values",
    "metrics.export",
)
"""The modules that hold handlers. Importing one registers what it answers."""

CHECKING = ("checking.kernel_findings", "checking.command_races")
"""The same, in checked mode."""


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
    for noun in (*NOUNS, *(CHECKING if checkers else ())):
        importlib.import_module(f"groundstate.driver.{noun}")
    if "host" in knobs.CHECK.get():
        importlib.import_module("groundstate.driver.checking.host_findings").start()
    return HANDLERS | sysman.stand_ins() | REQUESTS
