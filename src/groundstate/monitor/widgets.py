"""The parts of the screen of `groundstate top`: drawings of devices, and a page over them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from groundstate.monitor import draw, words
from groundstate.monitor.gauges import History
from groundstate.monitor.readings import Device

NARROW = 66
"""Below this width, things are left out."""


class Drawing(Widget):
    """Rows of text as they are, of which only those that changed are painted again."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.rows: list[Text] = []

    def draw(self, rows: list[Text]) -> None:
        """Shows other rows."""
        old, self.rows = self.rows, rows
        if len(old) != len(rows):
            self.refresh()
            return
        width = self.size.width
        changed = [Region(0, at, width, 1) for at in range(len(rows)) if rows[at] != old[at]]
        if changed:
            self.refresh(*changed)

    def render_line(self, y: int) -> Strip:
        """A row of the widget, its text cut or filled up to the width."""
        if y >= len(self.rows):
            return Strip.blank(self.size.width, self.rich_style)
        strip = Strip(self.rows[y].render(self.app.console)).apply_style(self.rich_style)
        return strip.adjust_cell_length(self.size.width, self.rich_style)


class DeviceDrawing(Drawing):
    """Something drawn of devices: as high as it needs to be, and drawn anew in a new width."""

    def __init__(self, history: History, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="panel")
        self._history = history

    @abstractmethod
    def make_rows(self, width: int) -> list[Text]:
        """The rows for a width."""

    def on_resize(self, event: Resize) -> None:
        """The width is known only now."""
        self.redraw()

    def redraw(self) -> None:
        """Draws what is known, and takes as many lines as that needs."""
        rows = self.make_rows(self.size.width or 76)
        if len(rows) != len(self.rows):
            self.styles.height = len(rows) + 2
        self.draw(rows)


class DevicePanel(DeviceDrawing):
    """One device with everything that is known of it, in a frame."""

    def __init__(self, device: Device, history: History) -> None:
        super().__init__(history)
        self._device = device
        self._note = ""
        self.border_title = f"{device.number} [dim]·[/dim] {_escaped(device.name)}"
        self.show(device)

    def show(self, device: Device) -> None:
        """Draws a new reading of the device."""
        self._device = device
        note = _footnote(device)
        if note != self._note:  # a new title paints the whole frame
            self._note = self.border_subtitle = note
        self.redraw()

    def make_rows(self, width: int) -> list[Text]:
        """Everything that is known."""
        return draw.device_rows(self._device, self._history, width)


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


class DeviceList(DeviceDrawing):
    """All devices, one row each, in one frame: for many devices or few lines."""

    def __init__(self, history: History) -> None:
        super().__init__(history, id="list")
        self._devices: Sequence[Device] = ()
        self.border_title = "devices"

    def show(self, devices: Sequence[Device]) -> None:
        """Draws a new reading."""
        self._devices = devices
        self.redraw()

    def make_rows(self, width: int) -> list[Text]:
        """A row for each device."""
        return [draw.short_row(device, self._history, width) for device in self._devices]


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
