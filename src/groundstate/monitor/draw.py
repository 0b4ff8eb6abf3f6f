"""Bars, sparklines and rows of a device, as coloured text of a given width."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from operator import itemgetter

from rich.style import Style
from rich.text import Text

from groundstate.monitor import words
from groundstate.monitor.gauges import Gauge, History, gauges, subdevice_gauges
from groundstate.monitor.readings import Device, Engine

TRACK = Style(color="#4a5666")
LABEL = Style(color="#8b98a8")
VALUE = Style(color="#e6edf3", bold=True)
PLAIN = Style(color="#d7dfe8")
BRIGHT = Style(color="#4fd6be", bold=True)
UNKNOWN = Style(color="#5a6675")

COLOURS = {
    "compute": Style(color="#4fd6be"),
    "busy": Style(color="#4fd6be"),
    "copy": Style(color="#65b1ff"),
    "media": Style(color="#ff9fd6"),
    "decode": Style(color="#ff9fd6"),
    "encode": Style(color="#ff9fd6"),
    "render": Style(color="#65d6ff"),
    "3d": Style(color="#65d6ff"),
    "memory": Style(color="#b99cf5"),
    "clock": Style(color="#9ddb7a"),
    "heat": Style(color="#9ddb7a"),
    "power": Style(color="#f2c063"),
}
WARM = Style(color="#f2a94f")
HOT = Style(color="#f4716b")

REST = "·"
"""What a bar lacks to the whole."""
LEVELS = "▁▂▃▄▅▆▇"
"""The columns of a sparkline. Without the highest, so that rows do not touch each other."""

LABEL_WIDTH = 9
VALUE_WIDTH = 17
SHORTEST_BAR = 6


def colour(name: str, share: float | None) -> Style:
    """The colour of a gauge. Only heat and memory turn red: a busy engine is nothing bad."""
    if share is not None and name in ("heat", "memory"):
        if share >= 0.9:
            return HOT
        if share >= 0.75:
            return WARM
    return COLOURS.get(name, COLOURS["compute"])


def bar(share: float | None, width: int, style: Style) -> Text:
    """A thick line as long as the share, and dots up to the whole, so that it can be read without
    colour. What is unknown has no bar."""
    if share is None:
        return Text(" " * width)
    halves = round(min(max(share, 0.0), 1.0) * width * 2)
    if share > 0 and halves == 0 and width:
        halves = 1  # little is not nothing
    full, half = divmod(halves, 2)
    text = Text("━" * full, style)
    if half:
        text.append("╸", style)
    return text.append(REST * (width - full - half), TRACK)


def sparkline(shares: Sequence[float | None], width: int, name: str) -> Text:
    """The last readings, the newest at the right end; a gap is where nothing was known."""
    recent = list(shares)[-width:] if width > 0 else []
    text = Text(" " * (width - len(recent)))
    styles = ((colour(name, share) if share else TRACK, _column(share)) for share in recent)
    for style, columns in itertools.groupby(styles, key=itemgetter(0)):
        text.append("".join(column for _, column in columns), style)
    return text


def _column(share: float | None) -> str:
    if share is None:
        return " "
    return LEVELS[round(min(max(share, 0.0), 1.0) * (len(LEVELS) - 1))]


def strip(engines: Sequence[Engine], width: int) -> Text:
    """One column for each engine, or for some beside each other where there are too many."""
    together = -(-len(engines) // width) if width > 0 else 1
    groups = [engines[at : at + together] for at in range(0, len(engines), together)]
    return sparkline([_mean(group) for group in groups], len(groups), "compute")


def _mean(engines: Sequence[Engine]) -> float | None:
    known = [each.utilisation for each in engines if each.utilisation is not None]
    return sum(known) / len(known) if known else None


def gauge_row(gauge: Gauge, history: Sequence[float | None], width: int) -> Text:
    """A label, a bar, a value and a sparkline; in a narrow place, less of these."""
    room = width - LABEL_WIDTH - VALUE_WIDTH - 2
    label = Text(f"{gauge.name:<{LABEL_WIDTH}}", LABEL)
    value = Text(f"{gauge.text:>{VALUE_WIDTH}}", UNKNOWN if gauge.text == words.DASH else VALUE)
    if room < SHORTEST_BAR:
        return label + value
    bar_width = room if room < 3 * SHORTEST_BAR else room * 2 // 5
    row = label + bar(gauge.share, bar_width, colour(gauge.name, gauge.share)) + value
    if bar_width < room:
        row += Text("  ") + sparkline(history, room - bar_width, gauge.name)
    return row


def device_rows(device: Device, history: History, width: int) -> list[Text]:
    """Everything of a device, one row under the other."""
    found = [gauge_row(each, history.of(device, each.name), width) for each in gauges(device)]
    workers = device.workers()
    if len(workers) > 1:
        found.insert(
            1, Text(f"{'workers':<{LABEL_WIDTH}}", LABEL) + strip(workers, width - LABEL_WIDTH)
        )
    return found + [subdevice_row(device, each, width) for each in range(device.subdevices)]


def row_count(device: Device) -> int:
    """How many rows that are."""
    return len(gauges(device)) + (len(device.workers()) > 1) + device.subdevices


def subdevice_row(device: Device, subdevice: int, width: int) -> Text:
    """A sub-device: how busy it is and its memory, in one row."""
    busy, memory = subdevice_gauges(device, subdevice)
    label = Text(f"{f'part {device.number}.{subdevice}':<{LABEL_WIDTH}}", LABEL)
    room = (width - LABEL_WIDTH - 6 - VALUE_WIDTH - 3) // 2
    if room < SHORTEST_BAR:
        return label + Text(f"{busy.text:>6} {memory.text:>{VALUE_WIDTH}}", VALUE)
    left = bar(busy.share, room, colour(busy.name, busy.share)) + Text(f"{busy.text:>6}", VALUE)
    right = bar(memory.share, room, colour("memory", memory.share))
    return label + left + Text("   ") + right + Text(f"{memory.text:>{VALUE_WIDTH}}", VALUE)


def short_row(device: Device, history: History, width: int) -> Text:
    """A device in one row, for a terminal that has not got the room for more."""
    found = {each.name: each for each in gauges(device)}
    busy, memory = gauges(device)[0], found["memory"]
    ends = [(found["clock"], 9), (found["heat"], 7), (found["power"], 8)]
    room = width - 4 - 6 - VALUE_WIDTH - 2 - sum(size for _, size in ends)
    name_width = max(room * 3 // 5, 0)
    history_width = max(room - name_width - 2, 0)
    name = words.short_name(device.name)
    row = Text(f"{device.number:>2}  ", VALUE) + Text(f"{name[:name_width]:<{name_width}}  ", LABEL)
    row += sparkline(history.of(device, busy.name), history_width, busy.name)
    row += _value(busy, 6) + Text("  ") + _value(memory, VALUE_WIDTH)
    for gauge, size in ends:
        short = gauge.text.split(" / ")[0].removesuffix(" held")
        unit = " W" if " / " in gauge.text else ""
        row += _value(Gauge(gauge.name, short + unit, gauge.share), size)
    return row


def _value(gauge: Gauge, width: int) -> Text:
    style = UNKNOWN if gauge.text == words.DASH else colour(gauge.name, gauge.share)
    return Text(f"{gauge.text:>{width}}", style)
