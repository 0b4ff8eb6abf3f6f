"""One SPIR-V module of a program, with the specialization constants that it was given."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from groundstate.compiler.light_dataclass import field, light_dataclass
from groundstate.compiler.spirv.module import Module
from groundstate.compiler.spirv.reader import read


@light_dataclass()
class Source:
    """A module: its bytes, its constants, and what was read of both."""

    spirv: bytes
    module: Module
    constants: Mapping[int, bytes] = field(default_factory=dict)

    @staticmethod
    def read(spirv: bytes, constants: Mapping[int, bytes]) -> Source:
        """Reads a module; InvalidModule if it is none."""
        module = read(spirv)
        return Source(spirv, module.specialise(constants) if constants else module, constants)

    def identity(self) -> bytes:
        """Tells this module from any other."""
        return hashlib.sha256(self.spirv + repr(sorted(self.constants.items())).encode()).digest()
