"""Programs written for pyzes, with the real package and with ours, over each way to the driver.

The programs are the two that the package brings along and one of our own, which also works with
loaders that are older than `zesInit`. The machine is a recorded one: its numbers stand still, and
a program that sets a frequency sets it in a copy.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from groundstate import standin

MACHINES = Path(__file__).parents[1] / "machines"
SURVEY = Path(__file__).parent / "programs" / "pyzes_survey.py"
LOADER = Path("/usr/lib/x86_64-linux-gnu/libze_loader.so.1")
TIMEOUT = 120

UNSUPPORTED = {"zesDevicePciGetStats", "zesMemoryGetBandwidth"}
"""What a CPU does not tell; the package's programs say so and go on."""


@dataclass(frozen=True)
class Way:
    """How a program that says `import pyzes` gets to the driver."""

    command: tuple[str, ...]
    environment: Mapping[str, str]

    def start(
        self, folder: Path, program: Path, *arguments: str, machine: str = "laptop"
    ) -> subprocess.Popen[str]:
        """Starts a program with a machine of its own, a copy that is made in `folder`."""
        root = Path(tempfile.mkdtemp(dir=folder))
        shutil.copytree(MACHINES / machine, root, symlinks=True, dirs_exist_ok=True)
        return subprocess.Popen(
            [sys.executable, *self.command, str(program), *arguments],
            env={**os.environ, **self.environment, "GROUNDSTATE_SYSFS_ROOT": str(root)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture(scope="module")
def ways(library: Path) -> dict[str, Way]:
    """The real package over the stand-in and over the machine's loader, and our module."""
    in_place_of_the_loader = standin.environment(os.environ, any_path=True)
    real_loader = {"ZE_ENABLE_ALT_DRIVERS": str(library), "ZES_ENABLE_SYSMAN": "1"}
    return {
        "ours": Way(("-m", "groundstate.pyzes"), {"ZES_ENABLE_SYSMAN": "1"}),
        "standin": Way((), in_place_of_the_loader),
        "loader": Way((), real_loader),
    }


@pytest.fixture(scope="module")
def examples() -> Path:
    """The folder of the programs that pyzes brings along."""
    package = importlib.util.find_spec("pyzes")
    if package is None or package.origin is None:
        pytest.skip("the package is missing: pip install pyzes==0.1.3")
    return Path(package.origin).parent / "examples"


def loader_has(name: str) -> bool:
    if not LOADER.exists():
        pytest.skip("the Level Zero loader is missing: on x86-64, apt-get install libze1")
    return f"\0{name}\0".encode() in LOADER.read_bytes()


def outputs(runs: Mapping[str, subprocess.Popen[str]]) -> dict[str, str]:
    """What each program printed and its exit status, without what differs from run to run."""
    printed = {}
    for name, run in runs.items():
        stdout, stderr = run.communicate(timeout=TIMEOUT)
        assert "Traceback" not in stderr, f"{name}: {stderr}"
        printed[name] = without_what_changes(f"{stdout}exit status {run.returncode}")
    return printed


CHANGING_FIELDS = re.compile(r"\b(timestamp|activeTime|free): \d+")
CHANGING_LINES = re.compile(
    r"(?m)^( *(?:Timestamp|Active Time|Free|Free memory|Used|Usage"
    r"|Average power|Current Power): ).*$"
)


def without_what_changes(text: str) -> str:
    """Leaves out times, what is busy, memory in use, processes, and where modules come from."""
    text = re.sub(r"Added .* to Python path\n", "", text)
    text = CHANGING_FIELDS.sub(r"\1: #", text)
    text = CHANGING_LINES.sub(r"\1#", text)
    text = re.sub(r"(Found \d+|No) active process.*?\n\n", "Processes\n\n", text, flags=re.S)
    # A process that starts meanwhile makes the second answer one of INVALID_SIZE.
    again = r"(  again: 0x(0|78000008), \d+\n)?"
    return re.sub(rf"processes: 0x0, \d+\n{again}", "processes\n", text)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def assert_all_equal(printed: Mapping[str, str]) -> str:
    """The text that all of them printed."""
    first = next(iter(printed.values()))
    for name, text in printed.items():
        assert text == first, name
    return first


@pytest.mark.parametrize(
    ("program", "arguments", "said"),
    [
        ("pyzes_example.py", [], ["same_handle=True", "Average power: #", "Threshold 2 Supported"]),
        ("pyzes_black_box_test.py", ["-a"], ["Same handle: True", "Descriptor Count: 3"]),
    ],
)
def test_package_example_programs_print_the_same(
    ways: dict[str, Way],
    tmp_path: Path,
    examples: Path,
    program: str,
    arguments: list[str],
    said: list[str],
) -> None:
    chosen = ["ours", "standin"] + ["loader"] * loader_has("zesInit")
    runs = {way: ways[way].start(tmp_path, examples / program, *arguments) for way in chosen}
    printed = assert_all_equal(outputs(runs))
    assert printed.endswith("exit status 0")
    assert set(re.findall(r"ERROR: (\w+)", printed)) <= UNSUPPORTED
    for sentence in ["Found 1 device(s)", "i7-1185G7", "TDP Frequency: 3000.0 MHz", *said]:
        assert sentence in printed
    for copy in tmp_path.iterdir():
        assert contents(copy) == contents(MACHINES / "laptop")


@pytest.mark.parametrize(
    ("machine", "start"), [("laptop", "new"), ("laptop", "old"), ("server", "old"), ("vm", "new")]
)
def test_a_survey_prints_the_same(
    ways: dict[str, Way], tmp_path: Path, machine: str, start: str
) -> None:
    chosen = ["ours", "standin"] + ["loader"] * (loader_has("zesInit") or start == "old")
    runs = {way: ways[way].start(tmp_path, SURVEY, start, machine=machine) for way in chosen}
    printed = assert_all_equal(outputs(runs))
    assert "devices: 0x0, 1" in printed
    assert printed.endswith("exit status 0")
    core, extension = re.findall(r"\[[\d, ]{47,}\]", printed)  # the same UUID, chained or not
    assert core == extension


def test_new_and_old_start_find_same_devices(ways: dict[str, Way], tmp_path: Path) -> None:
    runs = {start: ways["ours"].start(tmp_path, SURVEY, start) for start in ("new", "old")}
    assert_all_equal(outputs(runs))


def test_without_a_program_there_is_a_usage(ways: dict[str, Way]) -> None:
    command = [sys.executable, "-m", "groundstate.pyzes"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 1
    assert done.stderr.startswith("usage: python -m groundstate.pyzes PROGRAM")
