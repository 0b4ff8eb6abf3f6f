"""The screen of `groundstate top`: devices above, processes below, everything on a key."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable

from rich.style import Style
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.events import Resize
from textual.theme import Theme
from textual.timer import Timer
from textual.widgets import Footer, Input

from groundstate.monitor import draw, words
from groundstate.monitor.gauges import History
from groundstate.monitor.plain import counted, process_count
from groundstate.monitor.processes import Order, rows
from groundstate.monitor.readings import Device, Reading
from groundstate.monitor.screen_text import STYLE, help_text, process_text
from groundstate.monitor.table import ProcessTable
from groundstate.monitor.widgets import NARROW, DeviceList, DevicePanel, Drawing, Page

INTERVALS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds between two readings that the keys choose from."""

ROOM_FOR_PROCESSES = 9
"""Lines that the header, the processes and the footer have at least."""

TWO_COLUMNS = 150
"""From this width on, devices are beside each other."""

THEME = Theme(
    name="groundstate",
    primary="#4fd6be",
    secondary="#65b1ff",
    accent="#b99cf5",
    foreground="#d7dfe8",
    background="#0d1117",
    surface="#0d1117",
    panel="#161c24",
    success="#9ddb7a",
    warning="#f2a94f",
    error="#f4716b",
    dark=True,
)


class TopApp(App[None]):
    """Shows readings as they come."""

    CSS = STYLE
    TITLE = "groundstate top"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [
        Binding("q,ctrl+c", "quit", "quit", key_display="q"),
        Binding("slash", "filter", "filter", key_display="/"),
        Binding("s", "sort(1)", "sort"),
        Binding("S", "sort(-1)", "sort back", show=False),
        Binding("r", "reverse", "reverse"),
        Binding("d", "device", "device"),
        Binding("c", "compact", "compact"),
        Binding("p", "pause", "pause"),
        Binding("plus,equals_sign", "interval(-1)", "faster", show=False),
        Binding("minus", "interval(1)", "slower", show=False),
        Binding("question_mark,f1", "help", "help", key_display="?"),
        Binding("escape", "clear", "no filter", show=False),
    ]

    def __init__(
        self, read: Callable[[], Reading], interval: float = 1.0, device: int | None = None
    ) -> None:
        super().__init__()
        self._read = read
        self.interval = interval
        self.device = device
        """The number of the only device that is shown; None for all."""
        self.reading = Reading(time.time())
        self.history = History()
        self.order = Order()
        self.wanted = ""
        self.paused = False
        self.compact: bool | None = None
        """Whether devices are one row each; None: if there is no room for more."""
        self.problem = ""
        self._timer: Timer | None = None
        # Held here, because a query would look at the page that may lie over them.
        self._summary = Drawing(id="summary")
        self._devices = Container(id="devices")
        self._list = DeviceList(self.history)
        self._table = ProcessTable()
        self._filter = Input(placeholder="words of a command, or a pid", id="filter")
        self._filter.border_title = "filter"
        self._filter.border_subtitle = "enter keeps it, esc takes it away"
        self._panels: dict[str, DevicePanel] = {}

    # --- Building the screen ----------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """A line about everything, the devices, the processes, the filter, the keys."""
        yield self._summary
        yield self._devices
        yield self._list
        yield self._table
        yield self._filter
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Starts reading."""
        # The terminal is given back as it was, also when somebody else ends the program.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.exit)
        self.register_theme(THEME)
        self.theme = THEME.name
        self._filter.display = False
        self._table.focus()
        self.refresh_reading()
        self._timer = self.set_interval(self.interval, self.refresh_reading)

    def on_resize(self, event: Resize) -> None:
        """Another size may mean another arrangement."""
        self.show_reading()

    # --- Readings ---------------------------------------------------------------------------------

    def refresh_reading(self) -> None:
        """Takes a reading and shows it. One that fails leaves the last on the screen."""
        if self.paused:
            return
        try:
            self.reading = self._read()
        except Exception as problem:
            # Whatever a driver of another maker does wrong, the screen says so and tries again.
            self.problem = words.printable(str(problem) or type(problem).__name__)
        else:
            self.problem = ""
            self.history.add(self.reading)
        self.show_reading()

    def shown_devices(self) -> list[Device]:
        """The devices on the screen."""
        return [each for each in self.reading.devices if self.device in (None, each.number)]

    def show_reading(self) -> None:
        """Puts the last reading on the screen."""
        if not self._table.is_mounted:
            return
        devices = self.shown_devices()
        short = self._is_compact(devices)
        self._devices.display = not short
        self._list.display = short
        if short:
            self._list.show(devices)
        else:
            self._show_panels(devices)
        self._show_processes(devices)
        self._summary.draw([self._summary_text(devices)])

    def _is_compact(self, devices: list[Device]) -> bool:
        if self.compact is not None:
            return self.compact
        columns = self._columns(devices)
        heights = [draw.row_count(each) + 2 for each in devices]
        needed = sum(max(heights[at : at + columns]) for at in range(0, len(heights), columns))
        return needed > self.size.height - ROOM_FOR_PROCESSES

    def _columns(self, devices: list[Device]) -> int:
        return 2 if self.size.width >= TWO_COLUMNS and len(devices) > 1 else 1

    def _show_panels(self, devices: list[Device]) -> None:
        self._devices.set_class(self._columns(devices) == 2, "wide")
        if [each.uuid for each in devices] != list(self._panels):
            for panel in self._panels.values():
                panel.remove()
            self._panels = {each.uuid: DevicePanel(each, self.history) for each in devices}
            self._devices.mount_all(self._panels.values())
            return
        for each in devices:
            self._panels[each.uuid].show(each)

    def _show_processes(self, devices: list[Device]) -> None:
        chosen = Reading(self.reading.time, self.reading.seconds, tuple(devices))
        found = rows(chosen, self.order, self.wanted)
        note = f"filter: {words.printable(self.wanted)}" if self.wanted else ""
        self._table.show(found, self.order, note, self._why_no_processes(devices))

    def _why_no_processes(self, devices: list[Device]) -> str:
        if all(each.processes is None for each in devices):
            return "these devices do not tell which processes use them"
        return "no process has these words" if self.wanted else "no process uses a device"

    def _summary_text(self, devices: list[Device]) -> Text:
        reading = self.reading
        left = Text(" groundstate", draw.BRIGHT)
        left.append(" top  ", draw.VALUE).append(reading.host, draw.LABEL)
        if self.problem:
            left.append(f"  no reading: {self.problem}", draw.HOT)
        notes = [
            counted(len(reading.devices), "device", "devices"),
            process_count(reading),
            f"every {self.interval:g} s",
        ]
        if self.device is not None:
            notes[0] = f"device {self.device} of {len(reading.devices)}"
        right = Text(" · ".join(notes if self.size.width >= NARROW else notes[:1]), draw.LABEL)
        right.append("  ")
        if self.paused:
            right = (
                Text(" paused ", draw.WARM + Style(reverse=True, bold=True)) + Text("  ") + right
            )
        right.append(time.strftime("%H:%M:%S ", time.localtime(reading.time)), draw.VALUE)
        room = max(self.size.width - right.cell_len - 1, 0)
        left.truncate(room, overflow="ellipsis", pad=True)
        return left + Text(" ") + right

    # --- Keys -------------------------------------------------------------------------------------

    def action_sort(self, step: int) -> None:
        """Sorts by the next column, or by the one before."""
        self._sort_by(self.order.next(step))

    def action_reverse(self) -> None:
        """Turns the order round."""
        self._sort_by(self.order.chosen(self.order.column))

    def on_process_table_heading(self, event: ProcessTable.Heading) -> None:
        """Sorts by the column that was clicked; a second click turns it round."""
        self._sort_by(self.order.chosen(event.column))

    def _sort_by(self, order: Order) -> None:
        self.order = order
        self.show_reading()

    def action_filter(self) -> None:
        """Asks for words."""
        self._filter.display = True
        self._filter.focus()

    def action_clear(self) -> None:
        """Takes the filter away."""
        self._filter.value = ""
        self._leave_filter()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filters with every letter."""
        self.wanted = event.value
        self.show_reading()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Back to the table, with the filter in place."""
        self._leave_filter()

    def _leave_filter(self) -> None:
        self._filter.display = False
        self._table.focus()

    def action_device(self) -> None:
        """Shows the next device alone, and after the last all of them."""
        numbers: list[int | None] = [None, *(each.number for each in self.reading.devices)]
        at = numbers.index(self.device) if self.device in numbers else 0
        self.device = numbers[(at + 1) % len(numbers)]
        self.show_reading()

    def action_compact(self) -> None:
        """One row for each device, or all that is known of it."""
        self.compact = not self._is_compact(self.shown_devices())
        self.show_reading()

    def action_pause(self) -> None:
        """Stops reading, or goes on."""
        self.paused = not self.paused
        self.show_reading()

    def action_interval(self, step: int) -> None:
        """Reads more often or less often."""
        nearest = min(range(len(INTERVALS)), key=lambda at: abs(INTERVALS[at] - self.interval))
        self.interval = INTERVALS[min(max(nearest + step, 0), len(INTERVALS) - 1)]
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(self.interval, self.refresh_reading)
        self.show_reading()

    def action_help(self) -> None:
        """Shows what the keys do."""
        self.push_screen(Page("keys", help_text()))

    def on_process_table_chosen(self, event: ProcessTable.Chosen) -> None:
        """Shows everything that is known of a process."""
        title = f"process {event.row.process.pid}"
        self.push_screen(Page(title, process_text(event.row)))
