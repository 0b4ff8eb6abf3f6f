"""External semaphores: what other programs and the system signal and wait for, too."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from groundstate import ze
from groundstate.core.api import handle_array, number
from groundstate.core.appending import Appending
from groundstate.core.handle import OwnedHandle, Resource

if TYPE_CHECKING:
    from groundstate.core.commands import Events
    from groundstate.core.device import Device
    from groundstate.core.event import Event


class ExternalSemaphore(OwnedHandle):
    """A semaphore that came from outside as a file descriptor, for immediate lists.

    The driver of this package takes an eventfd: a signal adds one to its count, a wait takes one
    from it (or all, without `EFD_SEMAPHORE`). The descriptor stays the caller's.

    >>> import groundstate as gs, os
    >>> with gs.Context(gs.devices()[0]) as context:
    ...     fd = os.eventfd(0)
    ...     done = gs.ExternalSemaphore(context.devices[0], fd)
    ...     with gs.CommandList.immediate(context) as commands:
    ...         commands.signal_semaphores(done)
    ...     os.eventfd_read(fd)
    ...     os.close(fd)
    1
    """

    def __init__(self, device: Device, fd: int) -> None:
        self.device = device
        file = ze.ze_external_semaphore_fd_ext_desc_t(fd=fd)
        description = ze.ze_external_semaphore_ext_desc_t(
            flags=ze.ZE_EXTERNAL_SEMAPHORE_EXT_FLAG_OPAQUE_FD, pNext=ctypes.addressof(file)
        )
        api = device.api
        handle = api.create(
            "zeDeviceImportExternalSemaphoreExt", device.handle, ctypes.byref(description)
        )
        release = ("zeDeviceReleaseExternalSemaphoreExt", (handle,))
        self._resource = Resource(api, handle, release, device.resource)


class SemaphoreCommands(Appending):
    """What an immediate command list can do with external semaphores."""

    def signal_semaphores(
        self, *semaphores: ExternalSemaphore, signal: Event | None = None, wait: Events = ()
    ) -> None:
        """Signals external semaphores when what came before is done."""
        parameters = ze.ze_external_semaphore_signal_params_ext_t.array(len(semaphores) or 1)
        function = "zeCommandListAppendSignalExternalSemaphoreExt"
        self._append_semaphores(function, semaphores, parameters, signal, wait)

    def wait_semaphores(
        self, *semaphores: ExternalSemaphore, signal: Event | None = None, wait: Events = ()
    ) -> None:
        """Waits for external semaphores before what comes after, and takes their signals."""
        parameters = ze.ze_external_semaphore_wait_params_ext_t.array(len(semaphores) or 1)
        function = "zeCommandListAppendWaitExternalSemaphoreExt"
        self._append_semaphores(function, semaphores, parameters, signal, wait)

    def _append_semaphores(
        self,
        function: str,
        semaphores: tuple[ExternalSemaphore, ...],
        parameters: Any,
        signal: Event | None,
        wait: Events,
    ) -> None:
        handles = handle_array([each.handle for each in semaphores])
        prepared = (number(len(semaphores)), handles, parameters)
        self._append(function, prepared, signal, wait, [each.resource for each in semaphores])
