"""What goes wrong in a build, in words for a person."""

from __future__ import annotations

import errno

EXHAUSTED = (errno.ENOMEM, errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.EAGAIN)
"""What the system says when memory, files or threads run out: gs_is_exhaustion in native/room.c."""


class BuildError(Exception):
    """Something cannot be compiled. `log` names the function, the operation, the reason."""

    @property
    def log(self) -> str:
        """The words for it."""
        return str(self)


class WrongIrError(BuildError):
    """LLVM does not take what was written for it."""


class UnresolvedNameError(BuildError):
    """A kernel uses something that its module only declares."""

    def __init__(self, name: str, log: str) -> None:
        super().__init__(log)
        self.name = name


class RefusedError(BuildError):
    """Kernels use something that the device does not have."""
