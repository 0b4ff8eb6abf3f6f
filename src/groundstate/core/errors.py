"""The exceptions of the object layer: one for each error that Level Zero names.

A class is tied to its result code by its name: `OutOfDeviceMemory` is
`ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY`. A test holds that none is missing.
"""
# ruff: noqa: N818  an exception is named for what happened

from __future__ import annotations

import re
from typing import ClassVar

from groundstate import ze

__all__ = [
    "ActionRequired",
    "AddressNotFound",
    "ClosedError",
    "CommandListNotCapturing",
    "DependencyUnavailable",
    "DeviceInLowPowerState",
    "DeviceIsNotVertex",
    "DeviceLost",
    "DeviceRequiresReset",
    "DroppedData",
    "GraphCaptureInvalidated",
    "GraphCaptureMergeAttempt",
    "GraphCaptureUnsupported",
    "GraphInternalEvent",
    "GraphUnjoinedForks",
    "HandleObjectInUse",
    "InsufficientPermissions",
    "InvalidArgument",
    "InvalidCommandListType",
    "InvalidEnumeration",
    "InvalidFunctionName",
    "InvalidGlobalName",
    "InvalidGlobalWidthDimension",
    "InvalidGraph",
    "InvalidGroupSizeDimension",
    "InvalidKernelArgumentIndex",
    "InvalidKernelArgumentSize",
    "InvalidKernelAttributeValue",
    "InvalidKernelHandle",
    "InvalidKernelName",
    "InvalidModuleUnlinked",
    "InvalidNativeBinary",
    "InvalidNullHandle",
    "InvalidNullPointer",
    "InvalidSize",
    "InvalidSynchronizationObject",
    "LevelZeroError",
    "ModuleBuildFailure",
    "ModuleLinkFailure",
    "NotAvailable",
    "NotReady",
    "OperandsIncompatible",
    "OutOfDeviceMemory",
    "OutOfHostMemory",
    "OverlappingRegions",
    "RemoteDevice",
    "RtasBuildDeferred",
    "RtasBuildRetry",
    "SurvivabilityModeDetected",
    "Uninitialized",
    "Unknown",
    "UnsupportedAlignment",
    "UnsupportedEnumeration",
    "UnsupportedFeature",
    "UnsupportedImageFormat",
    "UnsupportedSize",
    "UnsupportedVersion",
    "VertexIsNotDevice",
]

_PREFIX = re.compile(r"ZE_RESULT_(?:EX[PT]_)?(?:ERROR_|WARNING_)?")

_BY_NAME: dict[str, type[LevelZeroError]] = {}

NOT_FAILURES = ("ZE_RESULT_SUCCESS", "ZE_RESULT_QUERY_TRUE", "ZE_RESULT_QUERY_FALSE")
"""Results that are answers."""


class ClosedError(ValueError):
    """An object was used after it was closed."""


class LevelZeroError(Exception):
    """A call of the Level Zero API failed.

    `result` is what the call returned, `function` the name of the call, and `description` the
    driver's own sentence about it, empty if the driver has none; the message has it in the words of
    Python. `code` is the bare number, which says more than `result` if the API does not know it.

    >>> import groundstate as gs
    >>> with gs.Context(gs.drivers()[0]) as context:
    ...     try:
    ...         context.alloc_host(1 << 60)
    ...     except gs.LevelZeroError as problem:
    ...         print(type(problem).__name__, problem.result.name)
    UnsupportedSize ZE_RESULT_ERROR_UNSUPPORTED_SIZE
    """

    next_step: ClassVar[str] = ""
    """What a caller can do about it, where that is known."""

    def __init__(self, result: int, function: str = "", description: str = "") -> None:
        self.code = result
        self.result = result_of(result)
        self.function = function
        self.description = description
        super().__init__(self._sentence())

    def __init_subclass__(cls) -> None:
        _BY_NAME[cls.__name__] = cls

    def _sentence(self) -> str:
        name = self.result.name if self.result == self.code else hex(self.code)
        told = self._told() if self.description else f"{self.function or 'the call'} failed"
        parts = [told.rstrip(". ") + f" ({name})", self.next_step if self._can_advise() else ""]
        return ". ".join(part for part in parts if part)

    def _can_advise(self) -> bool:
        """Whether `next_step` is about what failed here."""
        return True

    def _told(self) -> str:
        """The driver's sentence, in the words of Python."""
        from groundstate.core.spelling import in_python

        return in_python(self.description)


def result_of(code: int) -> ze.ze_result_t:
    """The result that a code stands for; an unknown error for one that the API does not know."""
    try:
        return ze.ze_result_t(code)
    except ValueError:
        return ze.ZE_RESULT_ERROR_UNKNOWN


def class_name(result_name: str) -> str:
    """The exception of a result code: "ZE_RESULT_ERROR_DEVICE_LOST" is "DeviceLost"."""
    return "".join(word.capitalize() for word in _PREFIX.sub("", result_name).split("_"))


def failure(result: int, function: str, description: str = "") -> LevelZeroError:
    """The exception for a result, ready to be raised."""
    kind = _BY_NAME.get(class_name(result_of(result).name), Unknown)
    return kind(result, function, description)


class NotReady(LevelZeroError):
    """What was asked for is not there yet."""

    next_step = "Wait for the event, fence or queue first"


class DeviceLost(LevelZeroError):
    """A kernel went wrong, or the device hung or was reset: the context is of no more use."""

    next_step = "Close everything that belongs to the context and make another"


class OutOfHostMemory(LevelZeroError, MemoryError):
    """The machine has no memory left for this."""

    next_step = "Close memory that is no longer needed"


class OutOfDeviceMemory(LevelZeroError, MemoryError):
    """The device has no memory left for this."""

    next_step = "Close memory that is no longer needed, or see Device.memory_bytes"

    def _can_advise(self) -> bool:
        return "Launch" not in self.function  # which needs too much local memory


class ModuleBuildFailure(LevelZeroError):
    """A module could not be built. The description is the build log."""

    def _told(self) -> str:
        return self.description


class ModuleLinkFailure(LevelZeroError):
    """Modules could not be linked. The description is the link log."""

    def _told(self) -> str:
        return self.description


class DeviceRequiresReset(LevelZeroError):
    """The device does not work until it is reset."""


class DeviceInLowPowerState(LevelZeroError):
    """The device sleeps and cannot answer."""


class DeviceIsNotVertex(LevelZeroError):
    """The device is no part of a fabric."""


class VertexIsNotDevice(LevelZeroError):
    """The fabric vertex is not a device."""


class RemoteDevice(LevelZeroError):
    """The fabric vertex is a device of another machine or another user."""


class OperandsIncompatible(LevelZeroError):
    """The operands do not fit each other."""


class RtasBuildRetry(LevelZeroError):
    """Building an acceleration structure needs a larger buffer."""


class RtasBuildDeferred(LevelZeroError):
    """Building an acceleration structure goes on in a parallel operation."""


class InsufficientPermissions(LevelZeroError):
    """The user may not do this."""


class NotAvailable(LevelZeroError):
    """Something else uses it, or it is switched off."""


class DependencyUnavailable(LevelZeroError):
    """A library or a tool that the driver needs is missing."""


class DroppedData(LevelZeroError):
    """Some of the data was lost, for instance because a buffer was too small."""


class Uninitialized(LevelZeroError):
    """The driver was not initialised, or no driver was found."""


class UnsupportedVersion(LevelZeroError):
    """The driver does not know this version of an interface."""


class UnsupportedFeature(LevelZeroError):
    """The driver cannot do this."""

    next_step = "Driver.extensions and the properties of the device say what there is"


class InvalidArgument(LevelZeroError):
    """An argument makes no sense here."""


class InvalidNullHandle(LevelZeroError):
    """A handle is null, was destroyed, or is of another kind."""


class HandleObjectInUse(LevelZeroError):
    """The device still uses the object."""

    next_step = "Wait for the work that uses it"


class InvalidNullPointer(LevelZeroError):
    """A pointer is null where memory is needed."""


class InvalidSize(LevelZeroError):
    """A size is zero, or reaches beyond the memory."""


class UnsupportedSize(LevelZeroError):
    """A size is larger than the device can do."""

    next_step = "Sizes are at least 1; Device.max_allocation_bytes is the limit for one allocation"

    def _can_advise(self) -> bool:
        return self.function.startswith("zeMemAlloc")


class UnsupportedAlignment(LevelZeroError):
    """An alignment is not a power of two, or larger than the device can do."""


class InvalidSynchronizationObject(LevelZeroError):
    """An event or fence does not fit the call."""


class InvalidEnumeration(LevelZeroError):
    """A value is not one of those that the API knows."""


class UnsupportedEnumeration(LevelZeroError):
    """The driver does not support this value."""


class UnsupportedImageFormat(LevelZeroError):
    """The device has no images of this format."""


class InvalidNativeBinary(LevelZeroError):
    """The binary is not one of this device, or made by somebody whose code is not to be run."""


class InvalidGlobalName(LevelZeroError):
    """The module has no global variable of this name."""


class InvalidKernelName(LevelZeroError):
    """The module has no kernel of this name."""


class InvalidFunctionName(LevelZeroError):
    """The module has no function of this name."""


class InvalidGroupSizeDimension(LevelZeroError):
    """The group size is zero or too large for the kernel or the device."""


class InvalidGlobalWidthDimension(LevelZeroError):
    """The global width is zero or not a multiple of the group size."""


class InvalidKernelArgumentIndex(LevelZeroError):
    """The kernel has no argument of this number."""


class InvalidKernelArgumentSize(LevelZeroError):
    """The argument of the kernel has another size."""


class InvalidKernelAttributeValue(LevelZeroError):
    """The kernel has no such attribute, or not with this value."""


class InvalidModuleUnlinked(LevelZeroError):
    """The module imports something and was not linked with what has it."""


class InvalidCommandListType(LevelZeroError):
    """The command list is of the wrong kind or of another queue group."""

    next_step = "A list runs on queues of its own queue group; an immediate list runs by itself"


class OverlappingRegions(LevelZeroError):
    """Source and destination of a copy overlap."""


class ActionRequired(LevelZeroError):
    """Something has to be done before this takes effect."""


class InvalidKernelHandle(LevelZeroError):
    """The kernel does not fit the call."""


class SurvivabilityModeDetected(LevelZeroError):
    """The device runs in an emergency mode in which its firmware can be repaired."""


class AddressNotFound(LevelZeroError):
    """The address belongs to nothing that the driver knows."""


class InvalidGraph(LevelZeroError):
    """The graph is not in a state in which this can be done."""


class GraphCaptureUnsupported(LevelZeroError):
    """This call cannot be part of a graph."""


class GraphCaptureInvalidated(LevelZeroError):
    """The graph that is being recorded was spoilt by an earlier call."""


class GraphCaptureMergeAttempt(LevelZeroError):
    """Two graphs that are being recorded may not be joined."""


class CommandListNotCapturing(LevelZeroError):
    """The command list records no graph."""


class GraphUnjoinedForks(LevelZeroError):
    """A branch of the graph was not joined before its end."""


class GraphInternalEvent(LevelZeroError):
    """An event that belongs to a graph was used outside it."""


class Unknown(LevelZeroError):
    """The driver failed in a way that it did not expect."""
