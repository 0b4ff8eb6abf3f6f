"""A cluster on this machine, with one worker for each device or sub-device."""

from __future__ import annotations

from typing import Any

from distributed import LocalCluster

from groundstate.dask.parts import find_parts
from groundstate.dask.worker import nanny_options


class LocalDeviceCluster(LocalCluster):
    """Dask's `LocalCluster` with a worker for each device, or for each sub-device of divided ones.

    A worker sees its own part of the machine as the first and only device, with the cores and the
    memory of that part. Workers are named by their part as `ZE_AFFINITY_MASK` calls it: `1`, `0.2`.

    `devices`, `topology` and `memory` are those of `find_parts`; `n_workers` takes the first few
    parts. Everything else is LocalCluster's. Each worker has one thread unless
    `threads_per_worker` says otherwise, and its `memory_limit` is the memory of its part.
    """

    def __init__(
        self,
        *,
        devices: str | None = None,
        topology: str | None = None,
        memory: str | None = None,
        n_workers: int | None = None,
        threads_per_worker: int = 1,
        memory_limit: str | float | None = "auto",
        **options: Any,
    ) -> None:
        self.parts = find_parts(devices, topology, memory)
        self._count = len(self.parts) if n_workers is None else n_workers
        if not 0 <= self._count <= len(self.parts):
            raise ValueError(
                f"{n_workers} workers need a device each, and there are {len(self.parts)} here; "
                "divide the machine further with topology="
            )
        super().__init__(
            n_workers=0,
            threads_per_worker=threads_per_worker,
            memory_limit=memory_limit,
            processes=True,
            **options,
        )

    async def _start(self) -> None:
        """Names the first workers, which LocalCluster would all make alike."""
        while len(self.worker_spec) < self._count:
            self.worker_spec.update(self.new_worker_spec())
        await super()._start()

    def new_worker_spec(self) -> dict[str, dict[str, Any]]:
        """The name and the nanny of one more worker: for the first part that has none."""
        for part in self.parts:
            if part.mask not in self.worker_spec:
                options = nanny_options(part, self.new_spec["options"])
                return {part.mask: {**self.new_spec, "options": options}}
        raise ValueError(f"each of the {len(self.parts)} devices of this machine has its worker")
