"""The kernels of the C programs, which are those of the Python programs of the same name.

`python -m tests.guide.kernels events folder` writes those of one program to a folder.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from groundstate.compiler.opencl.frontend import compile_opencl

EXAMPLES = Path(__file__).parents[2] / "examples" / "guide"


def sources(name: str) -> dict[str, str]:
    """The OpenCL C in the constants of a Python program, by their names."""
    tree = ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
    found = {}
    for node in tree.body:
        match node:
            case ast.Assign([ast.Name(constant)], ast.Constant(str(text))):
                found[constant.lower()] = text
    return found


def write_kernels(name: str, folder: Path) -> None:
    """Writes each source of a program as it is, and as SPIR-V."""
    folder.mkdir(parents=True, exist_ok=True)
    for constant, text in sources(name).items():
        (folder / f"{constant}.cl").write_text(text, encoding="utf-8")
        (folder / f"{constant}.spv").write_bytes(compile_opencl(text))


if __name__ == "__main__":
    write_kernels(sys.argv[1], Path(sys.argv[2]))
