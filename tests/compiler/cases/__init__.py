"""Every kernel of `kernels/` with its arguments, sizes and expectations: the list `CASES`."""

from tests.compiler.cases import cooperation, flow, memory, numbers  # noqa: F401 - each adds its own
from tests.compiler.cases.case import CASES, Size, case

__all__ = ["CASES", "Size", "case"]
