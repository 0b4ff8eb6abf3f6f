"""Builds the C half of the driver as part of `pip install`.

The metadata is in pyproject.toml. This file adds one thing to it: before the Python files are
collected, `native/Makefile` builds `libze_groundstate.so.1` into the package's `_native` folder.
The library uses no Python headers and links against no libpython, so it is not an extension module:
the wheel is for one platform, but for every Python 3.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "src"
MANUAL = "docs/reference/groundstate.1"


def build_native(package_root: Path, *settings: str) -> None:
    """Builds the library into `package_root`."""
    for tool in ("make", os.environ.get("CC", "cc").split()[0]):
        if shutil.which(tool) is None:
            sys.exit(f"groundstate is built with '{tool}'. On Debian: apt-get install gcc make")
    command = ["make", "-C", str(HERE / "native"), f"-j{os.cpu_count() or 1}"]
    command += [f"OUT={package_root / 'groundstate' / '_native'}", *settings]
    subprocess.run(command, check=True)


class BuildWithNative(build_py):
    """Collects the Python files, then builds the library beside them."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            objects = f"BUILD={HERE / 'build' / 'native'}"
            build_native(SOURCE, objects, f"PYTHON={sys.executable}", f"ROOT={SOURCE}")
        else:
            objects = os.environ.get("GROUNDSTATE_OBJECTS", str(HERE / "build" / "wheel"))
            # No interpreter.cfg and no debug information: both name files of this machine.
            settings = [f"BUILD={objects}", "CONFIG=", "DEBUG=-g0"]
            build_native(Path(self.build_lib).resolve(), *settings)


class PlatformWheel(bdist_wheel):
    """A wheel with machine code that any Python 3 can use."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


class BinaryDistribution(Distribution):
    """Tells setuptools that there is machine code in the wheel."""

    def has_ext_modules(self) -> bool:
        return True


setup(
    cmdclass={"build_py": BuildWithNative, "bdist_wheel": PlatformWheel},
    distclass=BinaryDistribution,
    data_files=[("share/man/man1", [MANUAL])],
)
