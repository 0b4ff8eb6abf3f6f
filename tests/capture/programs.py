"""All programs of this repository that are recorded to be played, and why a few are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from groundstate.capture import place
from tests.capture.recorded import PROGRAMS, ROOT, TIMEOUT, built, spirv_of
from tests.guide.blocks import PROGRAMS as GUIDE_PROGRAMS
from tests.guide.kernels import write_kernels

GUIDE = ROOT / "tests" / "guide"
EXAMPLES = ROOT / "examples"
TOGETHER = "import runpy, sys\nfor each in sys.argv[1:]: runpy.run_path(each, run_name='__main__')"
"""Runs several Python programs in one process, so that there is one recording of all."""


@dataclass(frozen=True)
class Recorded:
    """How to make a recording of a program, and what is special about playing it."""

    name: str
    source: Path
    arguments: tuple[str, ...] = ()
    """`{out}` is a file that the program may write."""
    kernels: str = ""
    """What is compiled first: "guide", or the name of a file."""
    environment: dict[str, str] = field(default_factory=dict)
    status: int = 0
    newest: bool = False
    """The program needs the declarations of the newest API instead of the installed ones."""
    too_new: bool = False
    """It uses what the validation layer of Debian's loader refuses because it does not know it."""
    large: bool = False
    """It needs a whole device: work-groups that wait for each other."""
    scans: bool = False
    """It has addresses in buffers."""
    together: tuple[Path, ...] = ()
    """More Python programs that run in the same process after it."""

    def make(self, folder: Path) -> Path:
        """Records the program and gives back the folder with its streams."""
        here = folder / self.name
        out = here / "recording"
        out.mkdir(parents=True)
        command = [*self._program(here), *self.arguments]
        if self.kernels == "guide":
            write_kernels(self.name, here / "compiled")
            command.append(str(here / "compiled"))
        elif self.kernels:
            command.insert(1, str(spirv_of(PROGRAMS / self.kernels, here)))
        environment = {**os.environ, **place.environment(os.environ, out, results=True)}
        done = subprocess.run(
            [word.replace("{out}", str(here / "written")) for word in command],
            env={**environment, **self.environment},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        assert done.returncode == self.status, f"{command}: {done.stdout}{done.stderr}"
        return out

    def _program(self, here: Path) -> list[str]:
        if self.together:
            return [sys.executable, "-c", TOGETHER, *map(str, (self.source, *self.together))]
        if self.source.suffix == ".py":
            return [sys.executable, str(self.source)]
        return [str(built(self.source, here, *(newest_api(here) if self.newest else ())))]


Recordings = dict[str, Path]
"""The folders with the recordings of programs, by their names."""


def all_made(programs: list[Recorded], folder: Path) -> Recordings:
    """Records programs, side by side."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = pool.map(lambda each: each.make(folder), programs)
        return {each.name: out for each, out in zip(programs, made, strict=True)}


def newest_api(folder: Path) -> tuple[str, ...]:
    """Options for the C compiler: the newest declarations, and a library that has all functions."""
    headers, library = folder / "newest" / "level_zero", place.library()
    headers.mkdir(parents=True)
    (headers / "ze_api.h").write_text('#include "generated/functions.h"\n')
    link = (f"-L{library.parent}", f"-l:{library.name}", f"-Wl,-rpath,{library.parent}")
    return (f"-I{headers.parent}", f"-I{ROOT / 'native'}", *link)


def guide_in_c(name: str, environment: dict[str, str]) -> Recorded:
    """A C program of the programming guide."""
    source = GUIDE / f"{name}.c"
    return Recorded(
        name,
        source,
        (),
        "guide",
        environment,
        too_new=name in REFUSED_BY_DEBIAN,
        large=name == "cooperative",
        scans=name == "residency",
    )


def example(name: str, *arguments: str) -> Recorded:
    """A Python program for readers. Its lists are in order, which is a flag of a newer API."""
    return Recorded(name, EXAMPLES / f"{name}.py", arguments, too_new=True)


def memory_part(part: str) -> Recorded:
    """A part of the program that has memory of all kinds."""
    source = PROGRAMS / f"recorded_{'threads' if part == 'threads' else 'memory'}.c"
    return Recorded(f"memory_{part}", source, (part, "{out}"), newest=True, too_new=True)


REFUSED_BY_DEBIAN = ("growing", "reserved_memory", "sparse", "timestamps")
"""The validation layer wants an address for reservations, and an event that may be left out."""

OPENCL = "its memory comes from OpenCL, which is not recorded"
CHANCE = "when it notices that its kernel went wrong is up to chance"
UNPLAYED = {
    "tests/guide/opencl_interop.c": OPENCL,
    "examples/guide/opencl_interop.py": OPENCL,
    "tests/guide/affinity_mask.c": "forked children make its calls, and those are not recorded",
    "tests/guide/lost_context.c": CHANCE,
    "examples/guide/lost_context.py": CHANCE,
    "examples/slow/transpose.py": "is slow on purpose",
    "examples/wrong/blur.py": "reads memory that is not its own",
    "examples/dask_pictures.py": "a cluster of processes, whose calls come in any order",
    "examples/report.py": "a module of the examples, no program",
    "examples/png.py": "a module of the examples, no program",
    "tests/loader/programs/little.c": "it is about too little memory, not about calls",
    "examples/umf.c": "needs UMF's headers, which are not installed for these tests",
    "tests/loader/programs/ddi_handles.c": "opens the driver itself, beside the capture library",
    "tests/loader/programs/tables_now.c": "opens the driver itself and calls none of its functions",
    "tests/loader/programs/tables_then.c": "calls nothing but the getters of tables",
    "tests/loader/programs/loader_shim.c": "a library of a loader's functions, no program",
    "tests/loader/programs/elsewhere.c": "a library for Python programs, no program",
    "tests/loader/programs/tracers.c": "it is about a loader's tracers, which are called besides",
    "tests/loader/programs/early.c": "a library that starts the driver early, no program",
    "tests/loader/programs/fake_python.c": "a library in the place of Python's, no program",
    "tests/loader/programs/late_name.c": "a library that names threads late, no program",
    "tests/loader/programs/static_storage.c": "a library that needs room, no program",
    "tests/loader/programs/slow_recorder.c": "a library that slows a recorder down, no program",
    "tests/loader/programs/no_process_vm.c": "a library that takes system calls away, no program",
    "tests/loader/programs/other_python.c": "asks for a driver, and there cannot be one",
    "tests/loader/programs/sycl.py": "played by test_sycl.py, which knows what it prints",
}
"""Programs that are not played here, with the reason."""

GUIDE_IN_C = [
    guide_in_c(each.name, each.environment)
    for each in GUIDE_PROGRAMS
    if f"tests/guide/{each.name}.c" not in UNPLAYED
]
SEVERAL_IN_PYTHON = ("affinity_mask", "ipc_events", "ipc_memory")
SCANNED_IN_PYTHON, LARGE_IN_PYTHON = "residency", "cooperative"
FILES_IN_PYTHON = "external_image"
TOGETHER_IN_PYTHON = tuple(
    EXAMPLES / "guide" / f"{each.name}.py"
    for each in GUIDE_PROGRAMS
    if not each.environment
    and f"examples/guide/{each.name}.py" not in UNPLAYED
    and each.name not in (*SEVERAL_IN_PYTHON, SCANNED_IN_PYTHON, LARGE_IN_PYTHON, FILES_IN_PYTHON)
)
EXAMPLE_PROGRAMS = [
    example("01_devices"),
    example("02_memory"),
    example("03_commands"),
    example("04_queues"),
    example("05_events"),
    example("06_errors"),
    example("07_kernels"),
    example("08_sharing"),
    example("09_topology"),
    example("10_graphs"),
    example("11_monitoring"),
    example("12_networks"),
    example("resnet18", "--image", "32", "--rounds", "1"),
    example("gpt2", "--layers=1", "--width=32", "--heads=2", "--vocabulary=64", "--tokens=2"),
    example("mandelbrot", "{out}"),
    example("pipeline", "{out}"),
    Recorded("hello", EXAMPLES / "hello.c"),
    Recorded("guide", TOGETHER_IN_PYTHON[0], too_new=True, together=TOGETHER_IN_PYTHON[1:]),
    Recorded("guide/cooperative", EXAMPLES / "guide" / "cooperative.py", too_new=True, large=True),
    Recorded("guide/residency", EXAMPLES / "guide" / "residency.py", too_new=True, scans=True),
    *(
        Recorded(
            f"guide/{each.name}",
            EXAMPLES / "guide" / f"{each.name}.py",
            (),
            "",
            each.environment,
            too_new=True,
        )
        for each in GUIDE_PROGRAMS
        if each.environment or each.name in (*SEVERAL_IN_PYTHON, FILES_IN_PYTHON)
    ),
]
# Not "endless", which is there to be killed.
MEMORY_PARTS = (
    "allocations", "sources", "images", "waiting", "threads", "sharing", "mapped",
    "imported", "nested", "results", "forks", "host_function",
)  # fmt: skip
LOADER_PROGRAMS = [
    Recorded("discovery", PROGRAMS / "discovery.c"),
    Recorded("pipeline", PROGRAMS / "pipeline.c"),
    Recorded("threads", PROGRAMS / "threads.c"),
    Recorded("hooked", PROGRAMS / "hooked.c", (), "launches.cl"),
    Recorded("numbered", PROGRAMS / "numbered.c", (), "numbered.cl"),
    Recorded("images", PROGRAMS / "images.c", (), "images.cl"),
    Recorded("launches", PROGRAMS / "launches.c", ("forms",), "launches.cl", large=True),
    Recorded("killed", PROGRAMS / "abandon.c", ("kill",), status=-signal.SIGKILL),
    Recorded("forkexec", PROGRAMS / "forkexec.c"),
    Recorded("ipc", PROGRAMS / "ipc.c"),
    *map(memory_part, MEMORY_PARTS),
]
