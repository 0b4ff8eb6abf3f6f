"""Questions to NVIDIA's management library about one GPU.

A question that the library does not answer raises what the nouns of system management expect of a
part that cannot tell.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from groundstate import ze
from groundstate.driver.api import Failure, Unsupported


class Error(IntEnum):
    """What a function of the library answers that does not succeed."""

    INVALID_ARGUMENT = 2
    NOT_SUPPORTED = 3
    NO_PERMISSION = 4
    NOT_FOUND = 6
    FUNCTION_NOT_FOUND = 13
    GPU_IS_LOST = 15
    RESET_REQUIRED = 16
    IN_USE = 19
    NO_DATA = 21
    FREQ_NOT_SUPPORTED = 24
    ARGUMENT_VERSION_MISMATCH = 25
    DEPRECATED = 26


class NothingToldError(Unsupported):
    """The GPU can tell, but has nothing to tell now."""


_MISSING = {
    Error.NOT_SUPPORTED,
    Error.FUNCTION_NOT_FOUND,
    Error.ARGUMENT_VERSION_MISMATCH,
    Error.DEPRECATED,
}
_EMPTY = {Error.NOT_FOUND, Error.NO_DATA}
_NONSENSE = {Error.INVALID_ARGUMENT, Error.FREQ_NOT_SUPPORTED}
_LOST = {Error.GPU_IS_LOST, Error.RESET_REQUIRED}

_MEMBERS = {0: "dVal", 1: "uiVal", 5: "siVal"}
"""Where the value of a field is, by its type; that of all others is 64 bits wide."""


class Gpu:
    """One GPU of the library."""

    def __init__(self, library: Any, handle: Any) -> None:
        self.library = library
        self.handle = handle

    def ask(self, question: str, *arguments: Any) -> Any:
        """What `nvmlDeviceGet` + question answers.

        Raises Unsupported, PermissionError or a Failure.
        """
        return self.call(f"nvmlDeviceGet{question}", *arguments)

    def call(self, name: str, *arguments: Any) -> Any:
        """The same for any function that takes the GPU first."""
        function = getattr(self.library, name, None)
        if function is None:
            raise Unsupported(f"{name} is not in this nvidia-ml-py: install a newer one")
        try:
            return function(self.handle, *arguments)
        except self.library.NVMLError as error:
            raise self._refusal(name, error) from error

    def maybe(self, question: str, *arguments: Any) -> Any:
        """The answer, or None if this GPU has none or may not be asked."""
        try:
            return self.ask(question, *arguments)
        except (Unsupported, PermissionError):
            return None

    def answers(self, question: str, *arguments: Any) -> bool:
        """Whether the GPU has what is asked for, even if this user may not know it."""
        try:
            self.ask(question, *arguments)
        except (PermissionError, NothingToldError):
            return True
        except Unsupported:
            return False
        return True

    def field(self, number: int) -> int:
        """The value of one of the library's numbered fields."""
        found = self.fields([number])[0]
        if found is None:
            raise Unsupported(f"this GPU has no field {number}")
        return found

    def fields(self, numbers: list[int]) -> list[int | None]:
        """The values of several fields, read at once; None for one that the GPU has not got."""
        try:
            return [_value(each) for each in self.ask("FieldValues", numbers)]
        except Unsupported:
            return [None] * len(numbers)

    def has_field(self, number: int) -> bool:
        """Whether the GPU has a field, even if this user may not know its value."""
        try:
            return self.fields([number]) != [None]
        except PermissionError:
            return True

    def _refusal(self, name: str, error: Any) -> Exception:
        code, sentence = error.value, f"{name}: {error}"
        if code in _MISSING:
            return Unsupported(f"{sentence}; this GPU or its driver does not do it")
        if code in _EMPTY:
            return NothingToldError(sentence)
        if code == Error.NO_PERMISSION:
            return PermissionError(f"{sentence}; run as root, or ask for the right")
        if code in _NONSENSE:
            return ValueError(sentence)
        if code in _LOST:
            sentence = f"{sentence}; reset the GPU, or restart the machine"
            return Failure(ze.ZE_RESULT_ERROR_DEVICE_LOST, sentence)
        if code == Error.IN_USE:
            return Failure(ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, sentence)
        return Failure(ze.ZE_RESULT_ERROR_UNKNOWN, sentence)


def _value(field: Any) -> int | None:
    if field.nvmlReturn != 0:
        return None
    return int(getattr(field.value, _MEMBERS.get(field.valueType, "ullVal")))
