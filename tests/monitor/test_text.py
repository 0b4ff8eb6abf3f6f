"""What readings become in words: rows, tables, text, and the memory of earlier readings."""

from __future__ import annotations

import doctest
import importlib
import json
from dataclasses import replace

import pytest

from groundstate.monitor import gauges, plain, words
from groundstate.monitor.processes import COLUMNS, Order, Row, in_order, rows
from groundstate.monitor.readings import Clock, Device, Power, Process, Temperature
from tests.monitor import samples

MODULES = ("words", "plain", "source", "table")


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_the_documentation_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"groundstate.monitor.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_text_has_each_value_no_trailing_blanks() -> None:
    text = plain.text(samples.server())
    assert "2 devices, 4 processes" in text.splitlines()[0]
    for value in ("compute   55 %", "350 W", "64.0 GiB", "fan-0     4200 rpm", "train.py"):
        assert value in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_what_is_unknown_is_a_dash_and_never_zero() -> None:
    lines = plain.text(samples.bare()).splitlines()
    shown = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines if line.startswith("  ")}
    assert shown == {
        "compute": "-",
        "copy": "-",
        "memory": "0.0 / 2.0 GiB",
        "clock": "-",
        "heat": "-",
        "power": "-",
    }
    nothing = gauges.gauges(Device(0, "nothing", "uuid", processes=None))
    assert {each.text for each in nothing} == {"-"}
    assert {each.share for each in nothing} == {None}


def test_subdevices_have_lines_of_their_own() -> None:
    text = plain.text(samples.divided())
    assert "part 0.3  compute 60 %, memory 6.0 / 16.0 GiB" in text


def test_a_name_cannot_move_the_cursor() -> None:
    reading = samples.server()
    evil = Process(7, "a\x1b[2Jb\u202ec\n")
    device = replace(reading.devices[0], name="x\x1b]0;y\x07", processes=(evil,))
    text = plain.text(replace(reading, devices=(device,)))
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "a?[2Jb?c" in text


def test_json_of_a_reading() -> None:
    facts = json.loads(json.dumps(samples.server().as_dict()))
    assert [device["number"] for device in facts["devices"]] == [0, 1]
    assert facts["devices"][0]["processes"][3] == {
        "pid": 99,
        "command": "",
        "memory_bytes": None,
        "shared_bytes": None,
        "busy_seconds": None,
        "utilisation": None,
    }


@pytest.mark.parametrize(
    ("order", "pids"),
    [
        (Order(), [4711, 815, 20319, 99]),
        (Order("engine", reversed=True), [20319, 815, 4711, 99]),
        (Order("memory"), [4711, 20319, 815, 99]),
        (Order("pid"), [99, 815, 4711, 20319]),
        (Order("pid", reversed=True), [20319, 4711, 815, 99]),
        (Order("command"), [99, 815, 4711, 20319]),
    ],
)
def test_the_order_of_processes(order: Order, pids: list[int]) -> None:
    found = [Row(0, process) for process in samples.PROCESSES]
    assert [row.process.pid for row in in_order(found, order)] == pids


def test_columns_come_round() -> None:
    order = Order(COLUMNS[0])
    for column in (*COLUMNS[1:], COLUMNS[0]):
        order = order.next()
        assert order.column == column
    assert order.next(-1).column == COLUMNS[-1]
    assert order.chosen("memory") == Order("memory")
    assert order.chosen("memory").chosen("memory") == Order("memory", reversed=True)


@pytest.mark.parametrize(
    ("wanted", "pids"),
    [
        ("", {4711, 815, 20319, 99}),
        ("PYTHON", {4711}),
        ("train batch", {4711}),
        ("train mandelbrot", set()),
        ("815", {815}),
        ("[all]", {20319}),
    ],
)
def test_a_filter(wanted: str, pids: set[int]) -> None:
    assert {row.process.pid for row in rows(samples.server(), Order(), wanted)} == pids


def test_packages_sum_and_card_is_not_added_twice() -> None:
    package = Power("package-0", "package", None, 10.0, 50.0, 100.0)
    device = Device(0, "d", "u", powers=(package, replace(package, name="package-1", watts=25.0)))
    power = device.power()
    assert power is not None
    assert (power.watts, power.limit_watts) == (75.0, 200.0)
    card = Power("card", "card", None, 1.0, 90.0)
    assert replace(device, powers=(*device.powers, card)).power() == card
    unknown = replace(package, watts=None)
    power = replace(device, powers=(package, unknown)).power()
    assert power is not None
    assert power.watts is None


def test_the_hottest_thermometer_is_shown() -> None:
    sensors = (
        Temperature("a", None, None),
        Temperature("b", None, 40.0),
        Temperature("c", None, 70.0),
    )
    assert Device(0, "d", "u", temperatures=sensors).temperature() == sensors[2]


def test_history_is_per_device_and_goes_with_it() -> None:
    history = gauges.History(length=3)
    readings = [samples.server(step) for step in range(5)]
    for reading in readings:
        history.add(reading)
    device = readings[-1].devices[1]
    compute = [reading.devices[1].engines[1].utilisation for reading in readings[2:]]
    assert list(history.of(device, "compute")) == compute
    history.add(replace(readings[0], devices=readings[0].devices[:1]))
    assert list(history.of(device, "compute")) == []


def test_unlimited_power_scales_to_highest_seen() -> None:
    history = gauges.History()
    for watts in (None, 5.0, 20.0, 10.0):
        device = Device(0, "d", "u", powers=(Power("package", "package", None, None, watts),))
        history.add(replace(samples.bare(), devices=(device,)))
    assert list(history.of(device, "power")) == [None, 0.25, 1.0, 0.5]
    assert gauges.gauges(device)[-1] == gauges.Gauge("power", "10.0 W", None)


def test_clock_without_maximum_scales_to_highest() -> None:
    history = gauges.History()
    for mhz in (1000.0, 4000.0):
        device = Device(0, "d", "u", clocks=(Clock("cpu", None, mhz),))
        history.add(replace(samples.bare(), devices=(device,)))
    assert list(history.of(device, "clock")) == [0.25, 1.0]


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1048575, 1 << 20, 5 << 40, 5 << 50])
def test_sizes_are_short(size: int) -> None:
    assert len(words.bytes_text(size)) <= 8
