"""The parts of the screen of `groundstate top`: devices, processes, and a page over them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import DataTable, Static

from groundstate.monitor import draw, words
from groundstate.monitor.gauges import History
from groundstate.monitor.processes import COLUMNS, Order, Row
from groundstate.monitor.readings import Device

WIDTHS = {"pid": 8, "device": 8, "engine": 17, "memory": 9}
"""Columns of the table of processes; the command gets what is left."""

NARROW_WIDTHS = {"pid": 7, "device": 8, "engine": 8, "memory": 8}
"""The same where the command would get too little: without bars."""

NARROW = 66
NARROWEST_COMMAND = 8


class DevicePanel(Static):
    """One device with everything that is known of it, in a frame."""

    def __init__(self, device: Device, history: History) -> None:
        super().__init__(classes="panel")
        self._history = history
        self._device = device
        self._shown = ""
        self.show(device)

    def show(self, device: Device) -> None:
        """Draws a new reading of the device."""
        self._device = device
        self.border_title = f"{device.number} [dim]·[/dim] {_escaped(device.name)}"
        self.border_subtitle = _footnote(device)
        self._draw()

    def on_resize(self, event: Resize) -> None:
        """The width is known only now."""
        self._draw()

    def _draw(self) -> None:
        rows = draw.device_rows(self._device, self._history, self.content_size.width or 76)
        # A new height moves everything else, which costs more than drawing this widget again.
        moved = self.styles.height is None or self.styles.height.value != len(rows) + 2
        if moved:
            self.styles.height = len(rows) + 2
        self.update(Text("\n").join(rows), layout=moved)


def _escaped(text: str) -> str:
    return words.printable(text).replace("[", r"\[")


def _footnote(device: Device) -> str:
    """What is worth a word at the foot of a device: fans, errors, why a clock is held down."""
    notes = [f"{fan.rpm} rpm" for fan in device.fans if fan.rpm is not None]
    clock = device.clock()
    if clock is not None and clock.throttled_by:
        notes.append(f"held by {', '.join(clock.throttled_by)}")
    uncorrectable = sum(each.count for each in device.errors if each.kind == "uncorrectable")
    if uncorrectable:
        notes.append(f"[bold red]{uncorrectable} uncorrectable errors[/]")
    return "  ".join(notes)


class DeviceList(Static):
    """All devices, one row each, in one frame: for many devices or few lines."""

    def __init__(self, history: History) -> None:
        super().__init__(classes="panel", id="list")
        self._history = history
        self._devices: Sequence[Device] = ()
        self.border_title = "devices"

    def show(self, devices: Sequence[Device]) -> None:
        """Draws a new reading."""
        self._devices = devices
        self._draw()

    def on_resize(self, event: Resize) -> None:
        """The width is known only now."""
        self._draw()

    def _draw(self) -> None:
        width = self.content_size.width or 76
        rows = [draw.short_row(device, self._history, width) for device in self._devices]
        self.styles.height = len(rows) + 2
        self.update(Text("\n").join(rows), layout=False)


class ProcessTable(DataTable[Text]):
    """The processes, sorted, with the cursor on the same process from one reading to the next."""

    def __init__(self) -> None:
        super().__init__(
            id="processes",
            cursor_type="row",
            zebra_stripes=True,
            cursor_foreground_priority="renderable",
        )
        self.rows_shown: list[Row] = []
        self._order = Order()
        self._width_used = 0
        self.border_title = "processes"

    def show(self, rows: list[Row], order: Order) -> None:
        """Shows rows in the order in which they come."""
        width = self.size.width
        same_places = [row.key for row in rows] == [row.key for row in self.rows_shown]
        if not same_places or order != self._order or width != self._width_used:
            self._fill(rows, order, width)
        else:
            self._change(rows)
        self.rows_shown = rows

    def on_resize(self, event: Resize) -> None:
        """The command gets what the other columns leave."""
        if event.size.width != self._width_used:
            self._fill(self.rows_shown, self._order, event.size.width)

    def selected(self) -> Row | None:
        """The row under the cursor."""
        at = self.cursor_row
        return self.rows_shown[at] if 0 <= at < len(self.rows_shown) else None

    def _fill(self, rows: list[Row], order: Order, width: int) -> None:
        under_cursor = self.selected()
        self._order, self._width_used = order, width
        self.clear(columns=True)
        for column in COLUMNS:
            width = self._column_width(column)
            self.add_column(_heading(column, order, width), key=column, width=width)
        for row in rows:
            self.add_row(*self._cells(row), key=row.key)
        self.rows_shown = rows
        keys = [row.key for row in rows]
        if under_cursor is not None and under_cursor.key in keys:
            self.move_cursor(row=keys.index(under_cursor.key), animate=False)

    def _change(self, rows: list[Row]) -> None:
        for old, new in zip(self.rows_shown, rows, strict=True):
            if old == new:
                continue
            for column, cell in zip(COLUMNS, self._cells(new), strict=True):
                self.update_cell(new.key, column, cell)

    def _widths(self) -> dict[str, int]:
        return NARROW_WIDTHS if self._width_used < NARROW else WIDTHS

    def _column_width(self, column: str) -> int:
        widths = self._widths()
        if column in widths:
            return widths[column]
        # Each column has a blank at either side, and a scroll bar may need two more.
        others = sum(widths.values()) + 2 * len(COLUMNS) + 2
        return max(self._width_used - others, NARROWEST_COMMAND)

    def _cells(self, row: Row) -> list[Text]:
        process, widths = row.process, self._widths()
        memory = process.memory_bytes
        in_memory = draw.UNKNOWN if memory is None else draw.colour("memory", None)
        return [
            Text(f"{process.pid:>{widths['pid']}}"),
            Text(f"{row.device:>{widths['device']}}", draw.LABEL),
            _share(process.utilisation, widths["engine"]),
            Text(f"{words.bytes_text(memory):>{widths['memory']}}", in_memory),
            _command(process.command),
        ]


def _share(share: float | None, width: int) -> Text:
    """A share of the device, with a bar where there is room."""
    text = Text(f"{words.percent_text(share):>8}", draw.UNKNOWN if share is None else draw.VALUE)
    if share is None:
        text.pad_left(width - 8)
        return text
    return draw.bar(share, width - 8, draw.colour("compute", None)) + text


def _heading(column: str, order: Order, width: int) -> Text:
    arrow = ("▼" if order.descending else "▲") if column == order.column else " "
    if column not in WIDTHS:
        return Text(f"{column} {arrow}", "bold")
    return Text(f"{f'{arrow} {column}':>{width}}", "bold")


def _command(command: str) -> Text:
    """A command line: its program bright, the way to it and its arguments less so."""
    if not command:
        return Text(words.DASH, draw.UNKNOWN)
    program, _, arguments = command.partition(" ")
    folder, slash, name = program.rpartition("/")
    text = Text(folder + slash, draw.LABEL, no_wrap=True, overflow="ellipsis")
    return text.append(name, draw.VALUE).append(f" {arguments}" if arguments else "", draw.LABEL)


class Page(ModalScreen[None]):
    """A page of text over everything else; any of the usual keys closes it."""

    BINDINGS = [Binding("escape,q,enter,question_mark,space", "dismiss", "close")]

    def __init__(self, title: str, text: Text) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        """The text in a frame that scrolls where it must."""
        with VerticalScroll(id="page") as frame:
            frame.border_title = self._title
            frame.border_subtitle = "esc closes"
            yield Static(self._text)
