"""The table of processes on the screen: a heading, rows, a cursor that stays on its process.

Most of what a monitor costs is painting. A row is made once for what it says, and painted again
only when that changes; a table of textual's own paints all of its rows when one cell changes.
"""

from __future__ import annotations

from functools import lru_cache

from rich.style import Style
from rich.text import Text
from textual.binding import Binding
from textual.events import Click, MouseScrollDown, MouseScrollUp, Resize
from textual.message import Message

from groundstate.monitor import draw, words
from groundstate.monitor.processes import COLUMNS, Order, Row
from groundstate.monitor.widgets import NARROW, Drawing

WIDTHS = {"pid": 8, "device": 8, "engine": 17, "memory": 9}
"""Columns; the command gets what is left."""

NARROW_WIDTHS = {"pid": 7, "device": 8, "engine": 8, "memory": 8}
"""The same where the command would get too little: without bars."""

GAP = 2
PERCENT_WIDTH = 8

HEADING = Style(color="#8b98a8", bold=True)
STRIPE = Style(bgcolor="#11161e")
CURSOR = Style(bgcolor="#1f3a3a")
NO_STYLE = Style()


class ProcessTable(Drawing, can_focus=True):
    """The processes, sorted, with the cursor on the same one from one reading to the next."""

    BINDINGS = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home", "move(-1000000)", "first", show=False),
        Binding("end", "move(1000000)", "last", show=False),
        Binding("enter", "choose", "details", show=False),
    ]

    class Chosen(Message):
        """Somebody wants to know more of a process."""

        def __init__(self, row: Row) -> None:
            super().__init__()
            self.row = row

    class Heading(Message):
        """Somebody clicked at the head of a column."""

        def __init__(self, column: str) -> None:
            super().__init__()
            self.column = column

    def __init__(self) -> None:
        super().__init__(id="processes")
        self.processes: list[Row] = []
        self.cursor = 0
        self.first = 0
        """The process in the first row."""
        self._order = Order()
        self._empty = ""
        self._titles = "", ""

    # --- What is shown ----------------------------------------------------------------------------

    def show(self, processes: list[Row], order: Order, note: str = "", empty: str = "") -> None:
        """Shows processes as they come, and a note at the foot; if there are none, says why."""
        chosen = self.selected()
        self.processes, self._order, self._empty = processes, order, empty
        keys = [each.key for each in processes]
        if chosen is not None and chosen.key in keys:
            self.cursor = keys.index(chosen.key)
        self._redraw(note)

    def selected(self) -> Row | None:
        """The process under the cursor."""
        return self.processes[self.cursor] if self.cursor < len(self.processes) else None

    @property
    def room(self) -> int:
        """How many processes can be seen at once."""
        return max(self.size.height - 1, 0)

    def on_resize(self, event: Resize) -> None:
        """The command gets what the other columns leave."""
        self._redraw(self._titles[1])

    def _redraw(self, note: str) -> None:
        self.cursor = min(max(self.cursor, 0), max(len(self.processes) - 1, 0))
        lowest = max(self.cursor - self.room + 1, 0)
        highest = min(self.cursor, max(len(self.processes) - self.room, 0))
        self.first = max(min(self.first, highest), lowest)
        shown = self.processes[self.first : self.first + self.room]
        width = self.size.width
        rows = [
            process_row(each, width, at == self.cursor, at % 2 == 1)
            for at, each in enumerate(shown, self.first)
        ]
        if not rows and self.room and self._empty:
            rows = [Text.assemble((f" {self._empty}", draw.LABEL))]
        self.draw([heading_row(self._order, width), *rows])
        self._show_titles(len(shown), note)

    def _show_titles(self, shown: int, note: str) -> None:
        title = "processes"
        if shown < len(self.processes):
            title += f" {self.first + 1} to {self.first + shown} of {len(self.processes)}"
        if (title, note) != self._titles:  # a new title paints the whole frame
            self._titles = title, note
            self.border_title, self.border_subtitle = title, note.replace("[", r"\[")

    # --- Keys and mouse ---------------------------------------------------------------------------

    def action_move(self, step: int) -> None:
        """Moves the cursor."""
        self.cursor = max(self.cursor + step, 0)
        self._redraw(self._titles[1])

    def action_page(self, step: int) -> None:
        """Moves the cursor by as many processes as can be seen."""
        self.action_move(step * max(self.room - 1, 1))

    def action_choose(self) -> None:
        """Asks for more about the process under the cursor."""
        row = self.selected()
        if row is not None:
            self.post_message(self.Chosen(row))

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """Three rows at once, as most programs do."""
        self.action_move(3)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """The same upwards."""
        self.action_move(-3)

    def on_click(self, event: Click) -> None:
        """A click at a column's head sorts, one at a process chooses it, a second one opens it."""
        at = event.get_content_offset(self)
        if at is None:
            return
        if at.y == 0:
            self.post_message(self.Heading(column_at(at.x, self.size.width)))
        elif self.first + at.y - 1 < len(self.processes):
            self.action_move(self.first + at.y - 1 - self.cursor)
            if event.chain > 1:
                self.action_choose()


def widths_for(width: int) -> dict[str, int]:
    """How wide each column is in a table of some width.

    >>> widths_for(76)["command"]
    24
    """
    widths = dict(NARROW_WIDTHS if width < NARROW else WIDTHS)
    widths["command"] = max(width - sum(widths.values()) - GAP * len(widths) - 2, 0)
    return widths


def column_at(x: int, width: int) -> str:
    """The column at a place of a row.

    >>> column_at(0, 76), column_at(70, 76)
    ('pid', 'command')
    """
    end = 1
    for column, size in widths_for(width).items():
        end += size + GAP
        if x < end:
            return column
    return COLUMNS[-1]


def heading_row(order: Order, width: int) -> Text:
    """The names of the columns, with an arrow at the one that they are sorted by."""
    arrow = "▼" if order.descending else "▲"
    cells = []
    for column, size in widths_for(width).items():
        sign = arrow if column == order.column else " "
        name = f"{column} {sign}" if column == "command" else f"{sign} {column}"
        cells.append(f"{name:<{size}}" if column == "command" else f"{name:>{size}}")
    text = _fitted(Text(" " + (" " * GAP).join(cells)), width)
    text.stylize(HEADING)
    return text


@lru_cache(maxsize=1024)
def process_row(row: Row, width: int, selected: bool, striped: bool) -> Text:
    """A process as a row of the table."""
    process, widths = row.process, widths_for(width)
    memory = process.memory_bytes
    in_memory = draw.UNKNOWN if memory is None else draw.colour("memory", None)
    gap = Text(" " * GAP)
    cells = (
        Text(f"{process.pid:>{widths['pid']}}", draw.VALUE if selected else draw.PLAIN),
        Text(f"{row.device:>{widths['device']}}", draw.LABEL),
        _share(process.utilisation, widths["engine"]),
        Text(f"{words.bytes_text(memory):>{widths['memory']}}", in_memory),
        _command(process.command),
    )
    text = _fitted(Text(" ") + gap.join(cells), width)
    # Below what the cells say of themselves, so that they keep their colours.
    text.style = CURSOR if selected else STRIPE if striped else NO_STYLE
    return text


def _fitted(text: Text, width: int) -> Text:
    text.truncate(max(width - 1, 0), overflow="ellipsis", pad=True)
    return text.append(" ")


def _share(share: float | None, width: int) -> Text:
    """A share of the device, with a bar where there is room."""
    style = draw.UNKNOWN if share is None else draw.VALUE
    text = Text(f"{words.percent_text(share):>{PERCENT_WIDTH}}", style)
    room = width - PERCENT_WIDTH
    if share is None:
        return Text(" " * room) + text
    return draw.bar(share, room, draw.colour("compute", None)) + text


def _command(command: str) -> Text:
    """A command line: its program bright, the way to it and its arguments less so."""
    if not command:
        return Text(words.DASH, draw.UNKNOWN)
    program, _, arguments = command.partition(" ")
    folder, slash, name = program.rpartition("/")
    text = Text(folder + slash, draw.LABEL)
    return text.append(name, draw.VALUE).append(f" {arguments}" if arguments else "", draw.LABEL)
