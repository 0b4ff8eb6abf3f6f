"""A reading as lines of text, for `groundstate top --once`, with and without a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator

from groundstate.monitor import words
from groundstate.monitor.gauges import gauges, subdevice_gauges
from groundstate.monitor.processes import Order, Row, rows
from groundstate.monitor.readings import Device, Reading

NAME_WIDTH = 10


def counted(number: int, one: str, several: str) -> str:
    """A number of things.

    >>> counted(1, "process", "processes"), counted(0, "process", "processes")
    ('1 process', '0 processes')
    """
    return f"{number} {one if number == 1 else several}"


def process_count(reading: Reading) -> str:
    """How many processes use the devices, if that is known."""
    if all(device.processes is None for device in reading.devices):
        return f"{words.DASH} processes"
    return counted(len({process.pid for _, process in reading.processes()}), "process", "processes")


def text(reading: Reading, wanted: str = "", order: Order | None = None) -> str:
    """The whole reading."""
    found = rows(reading, order or Order(), wanted)
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(reading.time))
    lines = [
        f"groundstate top  {when}  {counted(len(reading.devices), 'device', 'devices')}, "
        f"{process_count(reading)}"
    ]
    for device in reading.devices:
        lines += ["", *device_lines(device)]
    if any(device.processes is not None for device in reading.devices):
        lines += ["", *process_lines(found)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def device_lines(device: Device) -> Iterator[str]:
    """A device, one value in a line."""
    yield f"device {device.number}  {words.printable(device.name)}  {device.uuid}"
    for gauge in gauges(device):
        yield f"  {gauge.name:{NAME_WIDTH}}{gauge.text}"
    workers = device.workers()
    if len(workers) > 1:
        shares = " ".join(words.percent_text(each.utilisation).replace(" ", "") for each in workers)
        yield f"  {'workers':{NAME_WIDTH}}{shares}"
    for fan in device.fans:
        speed = words.DASH if fan.rpm is None else f"{fan.rpm} rpm"
        share = "" if fan.percent is None else f"{fan.percent} %"
        yield f"  {fan.name:{NAME_WIDTH}}{share if fan.rpm is None and share else speed}"
    for subdevice in range(device.subdevices):
        busy, memory = subdevice_gauges(device, subdevice)
        name = f"part {device.number}.{subdevice}"
        yield f"  {name:{NAME_WIDTH}}{busy.name} {busy.text}, memory {memory.text}"
    if device.processes is None:
        yield f"  {'processes':{NAME_WIDTH}}{words.DASH}"
    for name, why in device.refused.items():
        yield f"  {name}: {words.printable(why)}"


def process_lines(found: list[Row]) -> Iterator[str]:
    """The table of processes."""
    if not found:
        yield "no processes use a device"
        return
    yield f"{'pid':>8}  {'device':>6}  {'engine':>7}  {'memory':>9}  command"
    for row in found:
        process = row.process
        command = words.cut(process.command) or words.DASH
        yield (
            f"{process.pid:>8}  {row.device:>6}  {words.percent_text(process.utilisation):>7}  "
            f"{words.bytes_text(process.memory_bytes):>9}  {command}"
        )
