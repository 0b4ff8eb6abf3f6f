"""The table of processes: what its columns are, in which order rows come, and which are shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from groundstate.monitor.readings import Process, Reading
from groundstate.monitor.words import printable


@dataclass(frozen=True, slots=True)
class Row:
    """A process on one device."""

    device: int
    process: Process

    @property
    def key(self) -> str:
        """What tells the row from all others, now and in later readings."""
        return f"{self.device}:{self.process.pid}"


COLUMNS = ("pid", "device", "engine", "memory", "command")
"""The columns by which rows can be sorted, in the order in which they are shown."""

LARGEST_FIRST = {"engine", "memory"}
"""Columns of which people look for the largest value; of the others, the first."""


@dataclass(frozen=True, slots=True)
class Order:
    """A column, and whether its usual direction is turned round."""

    column: str = "engine"
    reversed: bool = False

    def next(self, step: int = 1) -> Order:
        """The column beside it, in its usual direction."""
        return Order(COLUMNS[(COLUMNS.index(self.column) + step) % len(COLUMNS)])

    def chosen(self, column: str) -> Order:
        """What follows when somebody points at a column: a second time turns it round."""
        return replace(self, reversed=not self.reversed) if column == self.column else Order(column)

    @property
    def descending(self) -> bool:
        """Whether the largest value comes first."""
        return (self.column in LARGEST_FIRST) != self.reversed


def rows(reading: Reading, order: Order, wanted: str = "") -> list[Row]:
    """The processes of a reading whose text is wanted, in order."""
    found = (
        Row(device.number, replace(process, command=printable(process.command)))
        for device, process in reading.processes()
    )
    return in_order(matching(found, wanted), order)


def matching(found: Iterable[Row], wanted: str) -> list[Row]:
    """The rows that have every word in their command or are of that number; all for no words."""
    wanted_words = wanted.lower().split()
    return [row for row in found if all(_has(row, word) for word in wanted_words)]


def _has(row: Row, word: str) -> bool:
    return word in row.process.command.lower() or word == str(row.process.pid)


def in_order(found: Sequence[Row], order: Order) -> list[Row]:
    """Rows sorted by a column. What is not known comes last in either direction."""
    known = [row for row in found if _value(row, order.column) is not None]
    unknown = [row for row in found if _value(row, order.column) is None]
    known.sort(key=lambda row: (row.process.pid, row.device))
    known.sort(key=lambda row: _value(row, order.column), reverse=order.descending)  # type: ignore[arg-type,return-value]
    return known + sorted(unknown, key=lambda row: (row.process.pid, row.device))


def _value(row: Row, column: str) -> float | str | None:
    process = row.process
    values: dict[str, float | str | None] = {
        "pid": process.pid,
        "device": row.device,
        "engine": process.utilisation,
        "memory": process.memory_bytes,
        "command": process.command.lower(),
    }
    return values[column]
