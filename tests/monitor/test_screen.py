"""The screen of `groundstate top`, driven by keys as a user does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from rich.text import Text
from textual.pilot import Pilot
from textual.widgets import Static

from groundstate.monitor import draw, words
from groundstate.monitor.app import TopApp
from groundstate.monitor.gauges import Gauge
from groundstate.monitor.processes import COLUMNS
from groundstate.monitor.readings import Process, Reading
from groundstate.monitor.table import ProcessTable, column_at, widths_for
from groundstate.monitor.widgets import DeviceList, DevicePanel, Drawing, Page
from tests.monitor import samples

Play = Callable[[TopApp, Pilot[None]], Awaitable[None]]

NEVER = 3600.0
"""Tests take their readings themselves."""


class Machine:
    """Gives a later reading each time."""

    def __init__(self, make: Callable[[int], Reading] = samples.server) -> None:
        self.make = make
        self.count = 0

    def __call__(self) -> Reading:
        self.count += 1
        return self.make(self.count)


def play(
    what: Play, size: tuple[int, int] = (80, 24), make: Callable[[int], Reading] = samples.server
) -> None:
    """Runs the screen in a terminal of a size."""

    async def session() -> None:
        app = TopApp(Machine(make), NEVER)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await what(app, pilot)

    asyncio.run(session())


def pids(app: TopApp) -> list[int]:
    """The processes as the table has them, from top to bottom."""
    table = app.screen_stack[0].query_one(ProcessTable)
    if not table.processes:
        return []
    return [int(row.plain.split()[0]) for row in table.rows[1:]]


def summary(app: TopApp) -> str:
    return app.screen_stack[0].query_one("#summary", Drawing).rows[0].plain


def one_device(step: int) -> Reading:
    reading = samples.server(step)
    return replace(reading, devices=reading.devices[:1])


def test_keys_sort_and_reverse() -> None:
    async def session(app: TopApp, pilot: Pilot[None]) -> None:
        assert pids(app) == [4711, 815, 20319, 99]
        await pilot.press("s")
        assert app.order.column == "memory"
        assert pids(app) == [4711, 20319, 815, 99]
        await pilot.press("r")
        assert pids(app) == [815, 20319, 4711, 99]
        await pilot.press("S", "S", "S")
        assert app.order.column == "pid"
        assert pids(app) == [99, 815, 4711, 20319]

    play(session, make=one_device)


def test_a_click_on_a_column_sorts_by_it() -> None:
    async def session(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.click(ProcessTable, offset=(6, 1))
        assert app.order.column == "pid"
        assert pids(app) == [99, 815, 4711, 20319]
        await pilot.click(ProcessTable, offset=(6, 1))
        assert pids(app) == [20319, 4711, 815, 99]
        await pilot.click(ProcessTable, offset=(70, 1))
        assert app.order.column == "command"
        await pilot.click(ProcessTable, offset=(20, 3))
        assert app.query_one(ProcessTable).cursor == 1
        await pilot.click(ProcessTable, offset=(20, 3), times=2)
        assert isinstance(app.screen, Page)

    play(session, make=one_device)


def test_filter_narrows_and_escape_clears_it() -> None:
    async def session(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("slash", *"man")
        assert pids(app) == [815]
        await pilot.press("enter")
        assert app.focused is app.query_one(ProcessTable)
        app.refresh_reading()
        assert pids(app) == [815]
        await pilot.press("escape")
        assert len(pids(app)) == 4

    play(session, make=one_device)


def test_the_cursor_stays_on_its_process() -> None:
    async def session(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("down", "down")
        table = app.query_one(ProcessTable)
        chosen = table.selected()
        assert chosen is not None
        await pilot.press("r")
        app.refresh_reading()
        assert table.selected() is not None
        assert table.selected().key == chosen.key  # type: ignore[union-attr]

    play(session, make=one_device)


def test_more_processes_than_lines() -> None:
    def crowd(step: int) -> Reading:
        reading = one_device(step)
        many = tuple(Process(1000 + each, f"p{each}", each) for each in range(50))
        return replace(reading, devices=(replace(reading.devices[0], processes=many),))

    async def session(app: TopApp, pilot: Pilot[None]) -> None:
        table = app.query_one(ProcessTable)
        await pilot.press("s", "r")
        room = table.room
        assert pids(app) == [1000 + each for each in range(room)]
        assert f"1 to {room} of 50" in str(table.border_title)
        await pilot.press("end")
        assert pids(app) == [1000 + each for each in range(50 - room, 50)]
        await pilot.press("pageup", "up")
        chosen = table.selected()
        assert chosen is not None
        assert chosen.process.pid == 1049 - (room - 1) - 1
        assert chosen.process.pid in pids(app)
        await pilot.press("r")
        assert table.selected() == chosen
        assert chosen.process.pid in pids(app)
        await pilot.resize_terminal(80, 18)
        assert chosen.process.pid in pids(app)
        await pilot.press("home")
        assert pids(app)[0] == 1049

    play(session, make=crowd)


@pytest.mark.parametrize("width", [20, 50, 65, 66, 80, 200])
def test_every_column_can_be_clicked(width: int) -> None:
    widths = widths_for(width)
    assert tuple(widths) == COLUMNS
    found = [column_at(x, width) for x in range(width)]
    wide_enough = [each for each in COLUMNS if each in found]
    assert wide_enough == list(COLUMNS[: len(wide_enough)])
    assert width < 50 or len(wide_enough) == len(COLUMNS)


def test_processes_come_and_go() -> None:
    def churn(step: int) -> Reading:
        reading = one_device(step)
        kept = samples.PROCESSES[: 1 + step % 4]
        return replace(reading, devices=(replace(reading.devices[0], processes=kept),))

    async def session(app: TopApp, pilot: Pilot[None]) -> None:
        for step in range(2, 12):
            app.refresh_reading()
            await pilot.pause()
            assert len(pids(app)) == 1 + step % 4

    play(session, make=churn)


def test_help_and_details_overlay_a_live_screen() -> None:
    async def session(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        assert isinstance(app.screen, Page)
        app.refresh_reading()
        await pilot.press("escape")
        assert not isinstance(app.screen, Page)
        await pilot.press("enter")
        assert isinstance(app.screen, Page)
        assert "train.py --batch 64" in str(app.screen.query_one(Static).content)
        await pilot.press("escape")

    play(session)


def test_one_device_after_the_other() -> None:
    async def session(app: TopApp, pilot: Pilot[None]) -> None:
        seen = []
        for _ in range(4):
            await pilot.press("d")
            await pilot.pause()
            seen.append(app.device)
        assert seen == [0, 1, None, 0]
        await pilot.press("d")
        assert "device 1 of 2" in summary(app)
        assert pids(app) == [815]

    play(session)


def test_pause_and_interval() -> None:
    async def session(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("p")
        before = app.reading
        app.refresh_reading()
        assert app.reading is before
        assert "paused" in summary(app)
        await pilot.press("p")
        app.refresh_reading()
        assert app.reading is not before
        await pilot.press("minus")
        assert app.interval == 30.0
        await pilot.press("plus", "plus")
        assert app.interval == 5.0

    play(session)


@pytest.mark.parametrize(
    ("size", "panels"), [((80, 24), 0), ((80, 40), 2), ((160, 24), 2), ((40, 10), 0)]
)
def test_the_arrangement_follows_the_size(size: tuple[int, int], panels: int) -> None:
    async def session(app: TopApp, pilot: Pilot[None]) -> None:
        shown = [each for each in app.query(DevicePanel) if each.parent.display]  # type: ignore[union-attr]
        assert len(shown) == panels
        assert app.query_one(DeviceList).display == (panels == 0)
        assert app.query_one(ProcessTable).size.height >= 2

    play(session, size)


def test_the_screen_can_be_resized_while_it_runs() -> None:
    async def session(app: TopApp, pilot: Pilot[None]) -> None:
        for size in ((160, 50), (40, 12), (20, 5), (100, 30)):
            await pilot.resize_terminal(*size)
            app.refresh_reading()
            await pilot.pause()
            for panel in app.query(DevicePanel):
                widest = max(row.cell_len for row in panel.rows)
                assert widest <= max(panel.size.width, draw.LABEL_WIDTH + draw.VALUE_WIDTH)
        await pilot.press("c")
        await pilot.press("c")
        assert pids(app) == [4711, 815, 815, 20319, 99]

    play(session)


def test_a_bare_machine_has_dashes() -> None:
    async def session(app: TopApp, pilot: Pilot[None]) -> None:
        rows = [row.plain for row in app.query_one(DevicePanel).rows]
        for name in ("compute", "clock", "heat", "power"):
            row = next(row for row in rows if row.startswith(name))
            assert row.rstrip().endswith(" -")
        assert "no process uses a device" in app.query_one(ProcessTable).rows[1].plain

    play(session, make=lambda _: samples.bare())


def test_failed_reading_is_shown_and_retried() -> None:
    def sometimes(step: int) -> Reading:
        if step == 2:
            raise RuntimeError("the device is lost")
        return samples.server(step)

    async def session(app: TopApp, pilot: Pilot[None]) -> None:
        app.refresh_reading()
        assert "the device is lost" in summary(app)
        assert len(pids(app)) == 5
        app.refresh_reading()
        assert "lost" not in summary(app)

    play(session, (120, 30), sometimes)


def test_device_names_and_commands_are_not_markup() -> None:
    def odd(step: int) -> Reading:
        reading = one_device(step)
        process = replace(samples.PROCESSES[0], command="[bold]x[/] [/nothing]")
        device = replace(reading.devices[0], name="[red]odd[/]", processes=(process,))
        return replace(reading, devices=(device,))

    async def session(app: TopApp, pilot: Pilot[None]) -> None:
        table = app.query_one(ProcessTable)
        assert "[bold]x[/] [/nothing]" in table.rows[1].plain
        assert "odd" in str(app.query_one(DevicePanel).border_title)

    play(session, make=odd)


@pytest.mark.parametrize(
    ("share", "drawn"),
    [
        (None, " " * 10),
        (0.0, "·" * 10),
        (0.001, "╸" + "·" * 9),
        (0.5, "━" * 5 + "·" * 5),
        (0.55, "━" * 5 + "╸" + "·" * 4),
        (1.0, "━" * 10),
        (7.0, "━" * 10),
    ],
)
def test_bars_can_be_read_without_colour(share: float | None, drawn: str) -> None:
    assert draw.bar(share, 10, draw.COLOURS["compute"]).plain == drawn


def test_unknown_gauge_has_no_bar() -> None:
    row = draw.gauge_row(Gauge("heat", words.DASH, None), [], 100).plain
    assert row.split() == ["heat", words.DASH]


@pytest.mark.parametrize("width", [0, 1, 7, 40])
@pytest.mark.parametrize("share", [None, 0.0, 0.001, 0.5, 1.0, 7.0])
def test_bars_and_sparklines_are_as_wide_as_asked(width: int, share: float | None) -> None:
    style = draw.colour("compute", share)
    assert draw.bar(share, width, style).cell_len == width
    assert draw.sparkline([share] * 5, width, "compute").cell_len == width


def test_many_workers_share_a_strip() -> None:
    workers = samples.socket(0, 0, workers=256).workers()
    assert draw.strip(workers, 60).cell_len <= 60
    assert draw.strip(workers[:3], 60).cell_len == 3


def test_sparkline_ends_at_newest_and_has_gaps() -> None:
    text = draw.sparkline([0.0, None, 0.5, 1.0], 6, "compute")
    assert isinstance(text, Text)
    assert text.plain == "  ▁ ▄▇"
