"""Environments with the wheel and only what a text says is needed, made in a second or two.

The wheel is built and installed by pip. What it depends on is linked from the environment of the
tests, which has all of it; nothing else of that environment can be seen.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from email.parser import HeaderParser
from hashlib import sha256
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .pages import ROOT

NAME = "groundstate"

PIP = """\
#!/bin/bash
command=$1; shift
arguments=("${{@/#./groundstate}}")  # the checkout is the wheel that was made of it
exec "{tests}" -m pip --disable-pip-version-check --python "{python}" "$command" \\
    --quiet --find-links "{wheels}" --no-index "${{arguments[@]}}"
"""


class Installs:
    """The environments of a test run, shared by the processes that run it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def wheel(self) -> Path:
        """The wheel of this checkout."""
        place = self.folder / "wheel"
        with self._alone("wheel"):
            if not (place / "done").exists():
                source = copy_of_checkout(self.folder / "source")
                pip("wheel", "--quiet", "--no-deps", "--wheel-dir", str(place), str(source))
                (place / "done").touch()
        (wheel,) = place.glob("*.whl")
        return wheel

    def having(self, requirements: Iterable[str]) -> Path:
        """An environment with the package and some requirements, such as `groundstate[opencl]`."""
        wanted = sorted({NAME, *requirements})
        place = self.folder / sha256("\n".join(wanted).encode()).hexdigest()[:12]
        installed, wheel = self._installed(), self.wheel()
        with self._alone(place.name):
            if not (place / "done").exists():
                make_environment(place, installed, wheel, wanted)
                (place / "done").touch()
        return place

    def _installed(self) -> Path:
        """An environment into which pip has installed the wheel, and nothing else."""
        place, wheel = self.folder / "installed", self.wheel()
        with self._alone("installed"):
            if not (place / "done").exists():
                python = new_environment(place)
                pip("install", "--quiet", "--no-deps", "--no-index", str(wheel), python=python)
                (place / "done").touch()
        return place

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def copy_of_checkout(place: Path) -> Path:
    """What a wheel is built from, with objects that are compiled already; others may use those."""
    parts = ("native", "src", "build/native", "pyproject.toml", "setup.py", "README.md", "LICENSE")
    parts += ("docs/reference/groundstate.1",)
    for part in parts:
        if (ROOT / part).exists():
            (place / part).parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-a", str(ROOT / part), str(place / part)], check=True)
    return place


def pip(*arguments: str, python: Path | None = None) -> None:
    """Runs the pip of the tests, for another environment if one is named."""
    target = ["--python", str(python)] if python else []
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *target, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def new_environment(place: Path) -> Path:
    """Makes an empty environment, without a pip, and returns its interpreter."""
    venv.EnvBuilder(clear=True, symlinks=True).create(place)
    return place / "bin" / "python"


def site_of(place: Path) -> Path:
    """The folder of an environment's packages."""
    return place / "lib" / "python{}.{}".format(*sys.version_info[:2]) / "site-packages"


def make_environment(place: Path, installed: Path, wheel: Path, requirements: list[str]) -> None:
    """Makes an environment with what was installed, what is required, and a pip for them.

    The package is copied, as hard links: it looks for its interpreter around its own files.
    """
    python, site = new_environment(place), site_of(place)
    for entry in site_of(installed).iterdir():
        shutil.copytree(entry, site / entry.name, copy_function=os.link)
    command = (installed / "bin" / NAME).read_text()
    executable(place / "bin" / NAME, command.replace(str(installed), str(place)))
    missing = []
    for needed in needs(wheel, requirements):
        try:
            link(metadata.distribution(needed.name), site)
        except metadata.PackageNotFoundError:
            missing.append(f"{needed.name}{needed.specifier}")
    if missing:
        pip("install", "--quiet", "--no-deps", *missing, python=python)
    executable(
        place / "bin" / "pip",
        PIP.format(tests=sys.executable, python=python, wheels=wheel.parent),
    )


def executable(path: Path, text: str) -> None:
    """Writes a file that can be run."""
    path.write_text(text)
    path.chmod(0o755)


def needs(wheel: Path, requirements: list[str]) -> list[Requirement]:
    """All distributions that requirements lead to, the package itself left out."""
    found: dict[tuple[str, str], Requirement] = {}
    pending = [Requirement(text) for text in requirements]
    while pending:
        wanted = pending.pop()
        name = canonicalize_name(wanted.name)
        extras = {"", *wanted.extras}
        fresh = [extra for extra in extras if (name, extra) not in found]
        for extra in fresh:
            found[name, extra] = wanted
        for inner in map(Requirement, required_by(name, wheel)):
            marker = inner.marker
            if fresh and (marker is None or any(marker.evaluate({"extra": e}) for e in fresh)):
                pending.append(inner)
    return [wanted for (name, extra), wanted in found.items() if name != NAME and not extra]


def required_by(name: str, wheel: Path) -> list[str]:
    """What a distribution says it requires; ours is asked in its wheel."""
    if name != NAME:
        try:
            return metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            return []
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return HeaderParser().parsestr(archive.read(path).decode()).get_all("Requires-Dist", [])


def link(distribution: metadata.Distribution, site: Path) -> None:
    """Links the files and folders of an installed distribution into another environment."""
    tops = {file.parts[0] for file in distribution.files or () if file.parts[0] != ".."}
    for top in tops - {"__pycache__"}:
        there = site / top
        if not there.exists():
            there.symlink_to(str(distribution.locate_file(top)))
