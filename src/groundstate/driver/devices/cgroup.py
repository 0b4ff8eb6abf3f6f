"""The limits of the control group that the process runs in: a container is a machine of its own.

Both versions are read, since version 1 is still mounted on older systems. A limit holds for every
group below it, so each is looked for in the process's group and in all groups above.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as in driver/platform.py
if TYPE_CHECKING:
    from collections.abc import Iterator

_UNLIMITED = 1 << 60
"""Version 1 writes a number near 2**63 where version 2 writes "max"."""


class Cgroup:
    """The control group of this process, found below a root of the file system."""

    def __init__(self, root: str) -> None:
        self._mount = os.path.join(root, "sys/fs/cgroup")
        self._membership = os.path.join(root, "proc/self/cgroup")

    def cpu_quota(self) -> float | None:
        """How many CPUs' worth of time the group may use, or None if that is not limited."""
        quotas = [self._quota(folder) for folder in self._folders("cpu")]
        return min((quota for quota in quotas if quota is not None), default=None)

    def memory_limit(self) -> int | None:
        """How many bytes the group may use, or None if that is not limited."""
        limits = [self._limit(folder) for folder in self._folders("memory")]
        return min((limit for limit in limits if limit is not None), default=None)

    def memory_headroom(self) -> int | None:
        """How many bytes the group may still take, or None if that is not limited."""
        rests = []
        for folder in self._folders("memory"):
            limit = self._limit(folder)
            used = _read(f"{folder}/memory.current") or _read(f"{folder}/memory.usage_in_bytes")
            if limit is not None and used.isdigit():
                rests.append(max(0, limit - int(used)))
        return min(rests, default=None)

    def _quota(self, folder: str) -> float | None:
        quota, _, period = _read(f"{folder}/cpu.max").partition(" ")
        if not quota:
            quota = _read(f"{folder}/cpu.cfs_quota_us")
            period = _read(f"{folder}/cpu.cfs_period_us")
        if quota.isdigit() and period.isdigit() and int(period) > 0:
            return int(quota) / int(period)
        return None

    def _limit(self, folder: str) -> int | None:
        text = _read(f"{folder}/memory.max") or _read(f"{folder}/memory.limit_in_bytes")
        if text.isdigit() and int(text) < _UNLIMITED:
            return int(text)
        return None

    def _folders(self, controller: str) -> Iterator[str]:
        """The folders of the group and of all above it, for both versions of the hierarchy."""
        for line in _read(self._membership).splitlines():
            _, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            if controllers == "":
                mount = self._mount
            elif controller in controllers.split(","):
                mount = f"{self._mount}/{controller}"
            else:
                continue
            names = [name for name in path.split("/") if name not in ("", "..")]
            for depth in range(len(names), -1, -1):
                yield "/".join([mount, *names[:depth]])


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""
