"""What `groundstate dask-worker` does: workers for the parts of this machine, until they end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from typing import Any

from distributed import Nanny

from groundstate.dask.parts import Part
from groundstate.dask.worker import nanny_options


async def host_workers(
    scheduler: str,
    parts: Sequence[Part],
    name: str,
    options: dict[str, Any],
    announce: Callable[[str], None],
) -> None:
    """Starts a nanny with a worker for each part, and returns when all of them have ended.

    They end with the scheduler, or with SIGINT or SIGTERM. `announce` is told of each worker.
    """
    nannies = [
        Nanny(scheduler, name=f"{name}-{part.mask}", **nanny_options(part, options))
        for part in parts
    ]
    asked = asyncio.Event()
    for which in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(which, asked.set)
    work = asyncio.create_task(_until_finished(nannies, announce))
    stop = asyncio.create_task(asked.wait())
    try:
        await asyncio.wait([work, stop], return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            work.result()
    finally:
        stop.cancel()
        await asyncio.gather(*(each.close() for each in nannies), return_exceptions=True)
        work.cancel()
        await asyncio.gather(work, stop, return_exceptions=True)


async def _until_finished(nannies: Sequence[Nanny], announce: Callable[[str], None]) -> None:
    await asyncio.gather(*nannies)
    for each in nannies:
        announce(f"{each.name} at {each.worker_address}")
    await asyncio.gather(*(each.finished() for each in nannies))
