"""Runs kernels step by step without the driver."""

from __future__ import annotations

import numpy as np

from groundstate.compiler.program import Program
from groundstate.compiler.program.dispatch import aligned
from groundstate.compiler.step.code import StepCode
from groundstate.compiler.step.group import Group, Launch
from tests.compiler import runner
from tests.compiler.runner import Local, Size


class Stepped:
    """A launch whose groups are stepped, and what it printed."""

    def __init__(
        self,
        program: Program,
        name: str,
        groups: Size,
        group_size: Size,
        *arguments: object,
        width: int = 0,
        offset: Size = (0, 0, 0),
    ) -> None:
        self.code = StepCode(program, name)
        self.printed: list[str] = []
        self.variables = runner.new_variables(program)
        block, local = self._pack(arguments)
        self.kept = arguments
        self.launch = Launch(
            *(self.code, block, groups, group_size, offset, 3),
            *(self.variables.ctypes.data, local, width, self.printed.append),
        )

    def _pack(self, arguments: tuple[object, ...]) -> tuple[bytes, int]:
        signature = self.code.signature
        block, local = bytearray(signature.block_bytes + 16), aligned(self.code.local_bytes)
        for argument, value in zip(signature.arguments, arguments, strict=True):
            if isinstance(value, Local):
                data = local.to_bytes(8, "little")
                local += aligned(value.size_bytes)
            elif isinstance(value, np.ndarray):
                data = value.ctypes.data.to_bytes(8, "little")
            else:
                assert isinstance(value, np.generic)
                data = value.tobytes()
            block[argument.offset : argument.offset + len(data)] = data
        return bytes(block), local

    def group(self, number: int) -> Group:
        """A group at its start."""
        return Group(self.launch, number)

    def run(self, groups: int | None = None) -> None:
        """Runs the first groups, or all."""
        for number in range(self.launch.group_count if groups is None else groups):
            group = self.group(number)
            group.run()
            assert not group.failures, group.failures[0].failure
            assert group.is_over
