"""The CPU device: what the driver counts of it, and what the machine tells."""

from __future__ import annotations

from groundstate.driver.sysman.kinds.counted import Counted


class Cpu(Counted):
    """What can be watched of a device whose workers are CPUs."""
