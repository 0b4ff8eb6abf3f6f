"""Dask on Level Zero devices: a worker for each device, and device memory that travels.

`LocalDeviceCluster` starts a scheduler and a worker for each device or sub-device of this machine;
`groundstate dask-worker` adds those of other machines. A worker sees its own device alone, so
programs take the first one. Importing this package lets Dask move and spill `gs.Memory`.

It needs `pip install 'groundstate[dask]'`. docs/howto/clusters.md has examples.
"""

from __future__ import annotations

try:
    import distributed as _distributed  # noqa: F401
except ImportError as problem:
    raise ImportError(f"{problem}: pip install 'groundstate[dask]'") from None

from groundstate.dask.cluster import LocalDeviceCluster
from groundstate.dask.memory import register
from groundstate.dask.parts import Part, find_parts
from groundstate.dask.worker import DeviceWorker, nanny_options

__all__ = ["DeviceWorker", "LocalDeviceCluster", "Part", "find_parts", "nanny_options"]

register()
