"""Workers that have a device for themselves, and the nannies that start and restart them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import dask
from distributed import Worker
from distributed.proctitle import setproctitle

from groundstate.dask.parts import Part

HOST = "groundstate-host"
"""What workers tell each other about their machine is under this name in Dask's handshake."""


def host_identity() -> str:
    """Where IPC handles of this process can be opened: by processes that say the same.

    The machine since it was started, the processes that see each other, and the user; empty if
    `groundstate.ipc` in Dask's configuration is false.
    """
    if not dask.config.get("groundstate.ipc", True):
        return ""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {os.readlink('/proc/self/ns/pid')} {os.getuid()}"


class DeviceWorker(Worker):
    """A worker in a process that sees one device.

    To those from whom it fetches data it says which machine it is on, so that they hand over device
    memory by an IPC handle where that can be opened. Nobody else is given handles: a scheduler or a
    client may pass on what it gets to anybody, at any time.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.connection_args["handshake_overrides"] = {HOST: host_identity()}

    async def start_unsafe(self) -> DeviceWorker:
        """Starts the worker, and lets monitors know the process by its name and address."""
        await super().start_unsafe()
        setproctitle(f"dask worker {self.name} [{self.address}]")
        return self


def nanny_options(part: Part, options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of Dask's `Nanny` for a worker that gets a part of the machine.

    The memory of a CPU's part is memory of the process, so what Dask does as a process comes near
    its limit is right for device memory, too: it spills, pauses the worker, and restarts it.
    """
    limit = options.get("memory_limit", "auto")
    return {
        "nthreads": 1,
        **options,
        "memory_limit": part.memory_bytes if limit == "auto" else limit,
        "worker_class": DeviceWorker,
        "env": {**(options.get("env") or {}), **dict(part.environment)},
    }
