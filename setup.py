"""Builds the C half of the driver as part of `pip install`.

The metadata is in pyproject.toml. This file adds one thing to it: before the Python files are
collected, `native/Makefile` builds `libze_groundstate.so.1` into the package's `_native` folder.
The library uses no Python headers and links against no libpython, so it is not an extension module;
the wheel is tagged for its platform all the same, because it contains machine code.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "src"


def build_native(package_root: Path, runtime_root: Path | None) -> None:
    """Builds the library into `package_root`.

    `runtime_root` is the folder the package will be imported from, or None for site-packages.
    """
    for tool in ("make", os.environ.get("CC", "cc").split()[0]):
        if shutil.which(tool) is None:
            sys.exit(f"groundstate is built with '{tool}'. On Debian: apt-get install gcc make")
    command = ["make", "-C", str(HERE / "native"), f"-j{os.cpu_count() or 1}"]
    command += [f"PYTHON={sys.executable}", f"OUT={package_root / 'groundstate' / '_native'}"]
    command += [f"BUILD={HERE / 'build' / 'native'}", f"ROOT={runtime_root or ''}"]
    subprocess.run(command, check=True)


class BuildWithNative(build_py):
    """Collects the Python files, then builds the library beside them."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            build_native(SOURCE, runtime_root=SOURCE)
        else:
            build_native(Path(self.build_lib).resolve(), runtime_root=None)


class BinaryDistribution(Distribution):
    """Tells setuptools to tag the wheel with this platform and Python version."""

    def has_ext_modules(self) -> bool:
        return True


setup(cmdclass={"build_py": BuildWithNative}, distclass=BinaryDistribution)
