"""The style sheet of the screen, and the texts of its pages."""

from __future__ import annotations

from rich.text import Text

from groundstate.monitor import draw, words
from groundstate.monitor.processes import Row

STYLE = """
Screen { background: $background; }
#summary { height: 1; background: $panel; }
#devices {
    height: auto;
    max-height: 75%;
    overflow-y: auto;
    scrollbar-size-vertical: 1;
    scrollbar-color: #3a4654;
    scrollbar-background: $background;
}
#devices.wide { layout: grid; grid-size: 2; grid-rows: auto; }
.panel {
    border: round #3a4654;
    border-title-color: $primary;
    border-title-style: bold;
    border-subtitle-color: #8b98a8;
    padding: 0 1;
    height: auto;
}
#processes {
    height: 1fr;
    min-height: 4;
    border: round #3a4654;
    border-title-color: $primary;
    border-title-style: bold;
    border-subtitle-color: $warning;
}
#processes:focus { border: round #51606f; }
#filter {
    height: 3;
    border: round $warning;
    border-title-color: $warning;
    border-subtitle-color: #8b98a8;
    background: $background;
    background-tint: $foreground 0%;
    padding: 0 1;
}
Footer { background: $panel; }
Page { align: center middle; background: $background 60%; }
#page {
    width: 64;
    max-width: 96%;
    height: auto;
    max-height: 90%;
    border: round $primary;
    border-title-color: $primary;
    border-title-style: bold;
    border-subtitle-color: #8b98a8;
    background: $panel;
    padding: 1 2;
}
"""

KEYS = (
    ("up, down", "choose a process"),
    ("enter", "all that is known of it"),
    ("/", "filter by words of the command, or a pid"),
    ("esc", "take the filter away"),
    ("s, S", "sort by the next column, or by the one before"),
    ("r", "turn the order round"),
    ("d", "the next device alone; after the last, all"),
    ("c", "one row for each device, or everything"),
    ("+, -", "read more often, less often"),
    ("p", "pause"),
    ("q", "quit"),
)


def help_text() -> Text:
    """What the keys do, and what the rows mean."""
    text = Text()
    for key, meaning in KEYS:
        text.append(f"{key:<10}", draw.BRIGHT)
        text.append(f"{meaning}\n")
    text.append(
        "\nA click on the head of a column sorts by it. A dash is what this machine does not tell."
        " Engines show the share of the time since the last reading.",
        draw.LABEL,
    )
    return text


def process_text(row: Row) -> Text:
    """Everything about a process."""
    process = row.process
    busy = words.DASH if process.busy_seconds is None else f"{process.busy_seconds:.1f} s so far"
    facts = (
        ("device", str(row.device)),
        ("engine", f"{words.percent_text(process.utilisation)}, {busy}"),
        ("memory", words.bytes_text(process.memory_bytes)),
        ("shared", words.bytes_text(process.shared_bytes)),
        ("command", process.command or words.DASH),
    )
    text = Text()
    for name, value in facts:
        text.append(f"{name:<10}", draw.LABEL).append(f"{value}\n", draw.VALUE)
    return text
