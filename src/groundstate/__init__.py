"""Level Zero for every machine: a driver whose device is the CPU you have."""

from groundstate.version import __version__

__all__ = ["__version__"]
