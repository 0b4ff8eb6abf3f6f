"""The wheel that `make wheel` builds, installed where nothing leads back to the checkout.

One wheel is built for all tests. It is installed into an environment of each Python from 3.11 on
that this machine has, and used there from another folder, with no variables set but PATH.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from groundstate.compiler.opencl.frontend import compile_opencl

ROOT = Path(__file__).parents[2]
WHEELHOUSE = Path(sys.prefix) / "wheelhouse"
TOOLS = WHEELHOUSE / "tools" / "bin" / "python"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
NOBODY = 65534
PLAIN = {"PATH": "/usr/bin:/bin"}

KERNEL = "kernel void count(global int *out) { out[get_global_id(0)] = 7 * get_global_id(0); }"

RUN_KERNEL = """
import sys
import groundstate as gs

with gs.Context(gs.devices()[0]) as context, gs.CommandList.immediate(context) as commands:
    with open(sys.argv[1], "rb") as file, gs.Module(context, spirv=file.read()) as module:
        with gs.Kernel(module, "count") as kernel:
            memory = context.alloc_shared(4, "int32")
            kernel(commands, 1, 4, memory)
            commands.synchronize()
            print(memory.tolist())
"""

C_PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words) {
    void *loader = dlopen(words[count - 1], RTLD_NOW);
    int (*initialise)(unsigned) = loader ? (int (*)(unsigned))dlsym(loader, "zeInit") : 0;
    if (!initialise)
        return puts(dlerror()), 2;
    printf("zeInit: %d\\n", initialise(0));
    return 0;
}
"""


def find_pythons() -> dict[str, Path]:
    """The interpreters of this machine by their version; the one that others can use, if any."""
    found: dict[str, Path] = {}
    for version in VERSIONS:
        name = f"python{version}"
        places = [Path("/usr/bin", name), Path("/usr/local/bin", name)]
        places += sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/{name}"))
        places += [Path(sys._base_executable).with_name(name)]  # type: ignore[attr-defined]
        usable = [place for place in places if place.exists() and has_venv(place)]
        if usable:
            found[version] = usable[0]
    return found


def has_venv(python: Path) -> bool:
    return subprocess.run([python, "-c", "import venv"], capture_output=True).returncode == 0


PYTHONS = find_pythons()
FIRST = min(PYTHONS, default="")


def is_open_to_all(path: Path) -> bool:
    """Whether another user can reach a file."""
    real = path.resolve()
    return all(each.stat().st_mode & stat.S_IXOTH for each in (real, *real.parents))


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that every user can read, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="groundstate-test-wheel-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def wheel(folder: Path) -> Path:
    if not TOOLS.exists():
        pytest.skip("what builds a wheel is missing: make .venv/wheelhouse/.downloaded")
    import ziglang

    zig = Path(ziglang.__path__[0], "zig")
    command = [TOOLS, ROOT / "tools" / "build-wheel", folder / "dist", zig]
    subprocess.run(command, check=True, capture_output=True, timeout=280)
    (made,) = (folder / "dist").glob("*.whl")
    return made


@pytest.fixture(scope="module")
def kernel(folder: Path) -> Path:
    path = folder / "count.spv"
    path.write_bytes(compile_opencl(KERNEL))
    return path


@pytest.fixture(scope="module")
def c_program(folder: Path) -> Path:
    (folder / "program.c").write_text(C_PROGRAM)
    compiler = shutil.which(os.environ.get("CC", "cc"))
    assert compiler is not None
    words = [compiler, folder / "program.c", "-o", folder / "program", "-ldl"]
    subprocess.run(words, check=True)
    return folder / "program"


class Environment:
    """A virtual environment with the wheel and nothing else."""

    def __init__(self, python: Path, place: Path, wheel: Path, umask: int = 0o022) -> None:
        self.place = place
        self.is_open = is_open_to_all(python)
        self.umask = umask
        subprocess.run([python, "-m", "venv", "--without-pip", place], check=True, umask=umask)
        words = [TOOLS, "-m", "pip", "--python", place / "bin" / "python", "install", "--quiet"]
        words += ["--no-index", "--no-compile", "--find-links", WHEELHOUSE, wheel]
        subprocess.run(words, check=True, umask=umask, cwd="/", timeout=120)

    @property
    def library(self) -> Path:
        (found,) = self.place.glob("lib/python3.*/site-packages/groundstate/_native/*state.so.1")
        return found

    def run(
        self, *words: object, variables: Mapping[str, str] = PLAIN, user: int | None = None
    ) -> str:
        """What a program prints that is started in this environment, in another folder."""
        done = subprocess.run(
            [str(word) for word in words],
            cwd="/",
            env=variables,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            umask=self.umask,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        return done.stdout

    def check(
        self,
        kernel: Path,
        program: Path,
        variables: Mapping[str, str] = PLAIN,
        user: int | None = None,
    ) -> None:
        """Devices are found, a kernel runs, and a C program gets the driver."""
        bin = self.place / "bin"
        shown = self.run(bin / "groundstate", "info", variables=variables, user=user)
        assert str(self.library) in shown
        words = [bin / "python", "-c", RUN_KERNEL, kernel]
        assert self.run(*words, variables=variables, user=user) == "[0, 7, 14, 21]\n"
        words = [bin / "groundstate", "run", "--", program, "libze_loader.so.1"]
        assert self.run(*words, variables=variables, user=user) == "zeInit: 0\n"
        assert self.run(program, self.library, variables=variables, user=user) == "zeInit: 0\n"


Environments = Callable[[str], Environment]


@pytest.fixture(scope="module")
def environments(folder: Path, wheel: Path) -> Environments:
    """Makes an environment of each version when a test first asks for it."""
    return cache(lambda version: Environment(PYTHONS[version], folder / version, wheel))


def test_auditwheel_confirms_the_tag(wheel: Path) -> None:
    name = re.fullmatch(r"groundstate-[\d.]+-py3-none-(manylinux_2_\d+_\w+)\S*\.whl", wheel.name)
    assert name is not None, wheel.name
    command = [TOOLS, "-m", "auditwheel", "show", wheel]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f'"{name[1]}"' in " ".join(shown.split())


def test_wheel_has_no_path_of_its_builder(wheel: Path) -> None:
    paths = "|".join(re.escape(str(path)) for path in (ROOT, Path(sys.prefix), Path.home()))
    leak = re.compile(rf"({paths})(?![\w-])|/groundstate-wheel-\w".encode())
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        found = [name for name in names if leak.search(archive.read(name))]
    assert not found
    assert not [name for name in names if name.endswith("interpreter.cfg")]
    assert len([name for name in names if "/_native/" in name]) == 5


def test_wheel_brings_the_manual(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("man1/groundstate.1")]
        assert archive.read(name).startswith(b".TH GROUNDSTATE 1")


@pytest.mark.parametrize("version", PYTHONS)
def test_wheel_works_in_each_python(
    environments: Environments, version: str, kernel: Path, c_program: Path
) -> None:
    environments(version).check(kernel, c_program)


@pytest.mark.parametrize("home", ["", "/proc", "/nonexistent"])  # not even root can write there
def test_wheel_works_without_a_home(
    environments: Environments, home: str, kernel: Path, c_program: Path
) -> None:
    variables = {**PLAIN, "HOME": home} if home else PLAIN
    environments(FIRST).check(kernel, c_program, variables)


def test_wheel_works_for_another_user(
    environments: Environments, kernel: Path, c_program: Path
) -> None:
    """Who can write neither where the package is nor in a home; without root, this user does."""
    reachable = (version for version, python in PYTHONS.items() if is_open_to_all(python))
    here = environments(next(reachable, FIRST))
    user = NOBODY if os.geteuid() == 0 and here.is_open else None
    here.check(kernel, c_program, {**PLAIN, "HOME": "/nonexistent"}, user)


def test_wheel_works_with_a_strict_umask(
    folder: Path, wheel: Path, kernel: Path, c_program: Path
) -> None:
    strict = Environment(PYTHONS[FIRST], folder / "umask", wheel, umask=0o077)
    strict.check(kernel, c_program)


def test_some_python_is_tested() -> None:
    assert "{}.{}".format(*sys.version_info[:2]) in PYTHONS
