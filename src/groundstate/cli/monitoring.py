"""What `groundstate top` and `groundstate metrics` share: options, and a way to the devices."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from groundstate import standin
from groundstate.cli.errors import complain, describe

if TYPE_CHECKING:
    from groundstate.monitor.readings import Reading

INSTALL = "pip install 'groundstate[monitor]'"
LONGEST_INTERVAL = 86400.0


def seconds(text: str) -> float:
    """A time in seconds of at most a day, as argparse wants a type."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= LONGEST_INTERVAL:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds from 0 to 86400")
    return value


def add_device_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--device`."""
    parser.add_argument(
        "--device", type=int, metavar="NUMBER", help="show only this device, counted from 0"
    )


def open_source(command: str, device: int | None) -> Callable[[], Reading] | None:
    """What takes readings, or None after saying why there are none."""
    from groundstate import core

    try:
        standin.library()
        devices = core.sysman_devices()
    except (OSError, RuntimeError, core.LevelZeroError) as problem:
        complain(command, describe(problem))
        return None
    if not devices:
        complain(command, "there is no device that can be watched")
        return None
    if device is not None and not 0 <= device < len(devices):
        there_is = "only device 0" if len(devices) == 1 else f"devices 0 to {len(devices) - 1}"
        complain(command, f"there is no device {device}, {there_is}")
        return None
    from groundstate.monitor.source import Source

    return Source(devices)


def say_what_to_install(command: str, problem: ImportError) -> int:
    """Says which package is missing and how to get it."""
    name = (problem.name or "a package").partition(".")[0]
    return complain(command, f"{name} is not installed; this installs it:", f"  {INSTALL}")
