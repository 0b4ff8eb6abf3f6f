"""Limits of GPUs that programs for Level Zero run on, for `groundstate check --device`."""

from __future__ import annotations

from groundstate.compiler.light_dataclass import light_dataclass

KIB = 1024


@light_dataclass()
class Gpu:
    """What a kernel may ask of one kind of GPU."""

    title: str
    group_size: int
    """Work-items of a group at most."""
    local_bytes: int
    """Local memory of a group at most."""
    subgroup_sizes: tuple[int, ...]


GPUS: dict[str, Gpu] = {
    "uhd-630": Gpu("Intel UHD Graphics 630 (Gen9)", 256, 64 * KIB, (8, 16, 32)),
    "uhd-770": Gpu("Intel UHD Graphics 770 (Xe-LP)", 512, 64 * KIB, (8, 16, 32)),
    "iris-xe": Gpu("Intel Iris Xe Graphics (Xe-LP)", 512, 64 * KIB, (8, 16, 32)),
    "arc-a770": Gpu("Intel Arc A770 (Xe-HPG)", 1024, 64 * KIB, (8, 16, 32)),
    "arc-b580": Gpu("Intel Arc B580 (Xe2)", 1024, 128 * KIB, (16, 32)),
    "max-1550": Gpu("Intel Data Center GPU Max 1550 (Xe-HPC)", 1024, 128 * KIB, (16, 32)),
}
"""As their drivers answer zeDeviceGetComputeProperties."""
