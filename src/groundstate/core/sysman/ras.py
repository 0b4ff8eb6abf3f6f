"""Errors of the hardware, counted by where they happened."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Annotated

from groundstate import zes
from groundstate.core.sysman.enums import ErrorCategory, ErrorType
from groundstate.core.sysman.part import Look, Part, PartProperties, records
from groundstate.core.sysman.records import Record


@dataclass(frozen=True, slots=True)
class ErrorCounterProperties(PartProperties):
    """Which errors are counted."""

    STRUCT = "zes_ras_properties_t"

    type: ErrorType


@dataclass(frozen=True, slots=True)
class ErrorCount(Record):
    """How many errors of a category there were."""

    STRUCT = "zes_ras_state_exp_t"

    category: ErrorCategory
    errors: Annotated[int, "errorCounter"]


@dataclass(frozen=True, slots=True)
class ErrorReading(Record):
    """The errors of one type in a snapshot."""

    type: ErrorType
    subdevice: int | None
    counts: dict[ErrorCategory, int] | None

    @property
    def total(self) -> int | None:
        """All of them together."""
        return None if self.counts is None else sum(self.counts.values())


class ErrorCounters(Part[ErrorCounterProperties]):
    """The counters of errors that were put right, or of those that were not."""

    ENUMERATE = "zesDeviceEnumRasErrorSets"
    DESCRIBE = "zesRasGetProperties"
    FACTS = ErrorCounterProperties

    def _describe(self) -> str:
        return self.type.name

    @property
    def type(self) -> ErrorType:
        """Which errors are counted."""
        return self.properties.type

    @property
    def counts(self) -> dict[ErrorCategory, int] | None:
        """How many there were so far, for each category that is counted."""
        found = records(ErrorCount, self.api, "zesRasGetStateExp", self.handle, room=16)
        if found is not None:
            return {each.category: each.errors for each in found}
        state = self._struct(zes.zes_ras_state_t, "zesRasGetState", 0)
        if state is None:
            return None
        return {ErrorCategory(number): count for number, count in enumerate(state.category)}

    def clear(self, category: ErrorCategory | None = None) -> None:
        """Sets the counters, or one of them, back to 0."""
        if category is not None:
            self.api.call("zesRasClearStateExp", self.handle, category)
            return
        state = zes.zes_ras_state_t()
        self.api.call("zesRasGetState", self.handle, 1, ctypes.byref(state))

    def reading(self, look: Look) -> ErrorReading:
        """All of it, for a snapshot."""
        counts = look.at(f"ras[{self.index}].counts", lambda: self.counts)
        return ErrorReading(self.type, self.subdevice, counts)
