"""What the pages take for granted: the reader's own programs, kernels, scripts and recordings.

A page may speak of `./my_app` or of a recording `trace` without making it. Such a file is put into
the reader's folder when a command names it and it is not there.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

from groundstate.compiler.opencl.frontend import compile_opencl

from .pages import ROOT

ASSUMED = Path(__file__).with_name("assumed")
APPS = ("my_app", "app", "multi_gpu_test", "my_monitor")
SOURCES = ("kernels.cl", "blur.cl", "k.cl", "old.cl")
MODULES = ("kernels.spv", "blur.spv", "k.spv")

WRONG = "kernel void wrong(global int *a) {\n    a[0] = 1\n}\n"

PROGRAM = (
    "import sys, groundstate as gs\nif 'pyzes' in sys.modules: import pyzes\nprint(gs.devices())\n"
)


class World:
    """Makes what is taken for granted, once for all pages where that takes long."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.makers: dict[str, Callable[[Path, Path], None]] = {
            **dict.fromkeys(APPS, self._app),
            **dict.fromkeys(SOURCES, lambda to, _: copy(ASSUMED / "kernels.cl", to)),
            **dict.fromkeys(MODULES, lambda to, _: copy(self.module(), to)),
            **dict.fromkeys(("hooks.lua", "hooks.py"), self._assumed),
            "known.txt": lambda to, _: void(to.write_text("* file=vendor/*\n")),
            "commands.txt": lambda to, _: void(to.write_text("run\n")),
            "wrong.cl": lambda to, _: void(to.write_text(WRONG)),
            "show.py": self._show,
            "include": lambda to, _: to.mkdir(),
            "libs": self._libraries,
            "libze_other.so": self._other_driver,
            "places.json": lambda to, _: void(to.write_text('["0x7f5d11c7e000"]')),
            "program.c": lambda to, _: copy(ASSUMED / "program.c", to),
            "with_pyzes.py": lambda to, _: void(to.write_text("import pyzes\npyzes.zesInit(0)\n")),
            "program.py": lambda to, _: void(to.write_text(PROGRAM)),
            "trace": lambda to, bin: self._recording(to, bin, "5"),
            "monday": lambda to, bin: self._recording(to, bin, "10"),
            "tuesday": lambda to, bin: self._recording(to, bin, "15"),
        }

    def provide(self, command: str, folder: Path, programs: Path) -> None:
        """Puts what a command names into the folder in which it will run."""
        made = set(re.findall(r"(?:-o|>|--record) ?(\S+)", command))
        for name, make in self.makers.items():
            named = re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", command)
            if named and name not in made and not (folder / name).exists():
                make(folder / name, programs)

    def module(self) -> Path:
        """The kernels as SPIR-V."""
        place = self.folder / "kernels.spv"
        if not place.exists():
            source = (ASSUMED / "kernels.cl").read_text(encoding="utf-8")
            place.write_bytes(compile_opencl(source))
        return place

    def _app(self, to: Path, programs: Path) -> None:
        made = self.folder / "my_app"
        if not made.exists():
            words = struct.iter_unpack("<I", self.module().read_bytes())
            text = ", ".join(f"{word:#x}" for (word,) in words)
            (self.folder / "kernels.h").write_text(f"static const uint32_t kernels[] = {{{text}}};")
            compiler = os.environ.get("CC", "cc").split()
            include = [f"-I{self.folder}", f"-I{ROOT / 'tests' / 'loader' / 'programs'}"]
            command = [*compiler, *include, str(ASSUMED / "my_app.c"), "-lze_loader", "-o"]
            subprocess.run([*command, str(made)], check=True)
        copy(made, to)

    def _assumed(self, to: Path, programs: Path) -> None:
        copy(ASSUMED / to.name, to)

    def _show(self, to: Path, programs: Path) -> None:
        self._assumed(to, programs)
        copy(self.module(), to.with_name("kernels.spv"))

    def _libraries(self, to: Path, programs: Path) -> None:
        to.mkdir()
        copy(self.module(), to / "kernels.spv")

    def _other_driver(self, to: Path, programs: Path) -> None:
        (driver,) = programs.parent.glob("lib/python*/site-packages/groundstate/_native/libze_g*")
        to.symlink_to(driver)

    def _recording(self, to: Path, programs: Path, first: str) -> None:
        """A recording of my_app, made by the `groundstate` that the page is read with."""
        app = to.with_name("my_app")
        if not app.exists():
            self._app(app, programs)
        command = [str(programs / "groundstate"), "record", "-o", str(to), "--", str(app)]
        done = subprocess.run([*command, "--first", first], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def copy(source: Path, to: Path) -> None:
    """Copies a file with its permissions."""
    shutil.copy(source, to)


def void(result: object) -> None:
    """Forgets a result."""
