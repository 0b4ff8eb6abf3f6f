"""C code that reads bytes of strangers, under libFuzzer with the sanitizers.

libFuzzer makes its own cases and follows the coverage of the code; it comes with Debian's clang.
A harness is a file of `tests/fuzz/libfuzzer`, and the C that it needs is compiled with it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.targets.target import Target, Verdict

ROOT = Path(__file__).parents[3]
HARNESSES = ROOT / "tests" / "fuzz" / "libfuzzer"
CLANG = "clang-15"
SANITIZERS = "-fsanitize=fuzzer,address,undefined"
FLAGS = ("-std=gnu11", "-O1", "-g", "-D_GNU_SOURCE=", "-pthread", "-fno-sanitize-recover=undefined")
LONGEST_BYTES = 4096
MOST_MEMORY_MIB = 2048
MOST_FILES = 25
"""Of a folder."""


class Harness(Target):
    """One harness and the code that it is for."""

    deadline_s = 120.0

    def __init__(self, name: str, summary: str, *sources: str) -> None:
        self.name = name
        self.summary = summary
        self._sources = [HARNESSES / f"{name}.c", *(ROOT / "native" / each for each in sources)]
        self._program: Path | None = None

    def missing(self) -> str:
        return "" if shutil.which(CLANG) else f"{CLANG} is not installed"

    def build(self) -> Path:
        """The program, compiled once in this process."""
        if self._program is None:
            folder = ROOT / "build" / "fuzz" / "programs"
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as made:
                new = Path(made.name)
            where = f"-I{ROOT / 'native'}"
            command = [CLANG, SANITIZERS, *FLAGS, where, *map(str, self._sources), "-o", str(new)]
            subprocess.run(command, check=True)
            self._program = new.replace(folder / self.name)
        return self._program

    def run(self, case: bytes) -> Verdict:
        with tempfile.NamedTemporaryFile() as file:
            file.write(case)
            file.flush()
            return Verdict(self.run_all([Path(file.name)]))

    def run_all(self, cases: Sequence[Path]) -> str:
        """Runs cases as they are; what is wrong with the first that goes wrong."""
        return self._outcome([str(self.build()), *map(str, cases)])[1]

    def search(self, seconds: float, seed: int, folder: Path) -> tuple[int, list[tuple[Path, str]]]:
        """Lets libFuzzer look for a while: how many cases it ran, and those that went wrong."""
        folder.mkdir(parents=True, exist_ok=True)
        learned = folder / "corpus"
        learned.mkdir(exist_ok=True)
        command = [str(self.build()), str(learned), *self._kept_folder()]
        command += [
            f"-seed={seed % 2**31}",
            f"-max_total_time={max(int(seconds), 1)}",
            "-timeout=20",
        ]
        command += [f"-max_len={LONGEST_BYTES}", f"-rss_limit_mb={MOST_MEMORY_MIB}"]
        command += [f"-artifact_prefix={folder}/", "-print_final_stats=1"]
        before = set(folder.glob("*-*"))
        said, wrong = self._outcome(command)
        executed = re.search(r"number_of_executed_units: (\d+)", said)
        found = sorted(set(folder.glob("*-*")) - before)
        return int(executed[1]) if executed else 0, [(path, wrong) for path in found]

    def grow(self, folder: Path) -> None:
        """Adds the new cases that reach code which those in the repository do not reach."""
        (kept,) = self._kept_folder() or [str(self.corpus)]
        self.corpus.mkdir(parents=True, exist_ok=True)
        subprocess.run([str(self.build()), "-merge=1", kept, str(folder / "corpus")], check=True)
        if len(self.kept()) > MOST_FILES:
            for path in list(self.corpus.iterdir()):
                if path.is_file():
                    (self.corpus / path.name[0]).mkdir(exist_ok=True)
                    path.rename(self.corpus / path.name[0] / path.name)

    def _kept_folder(self) -> list[str]:
        return [str(self.corpus)] if self.corpus.is_dir() else []

    def _outcome(self, command: list[str]) -> tuple[str, str]:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False
        )
        said = done.stdout + done.stderr
        if done.returncode == 0:
            return said, ""
        line = re.search(r".*(?:runtime error|ERROR: |SUMMARY: ).*", said)
        return said, f"{line[0] if line else 'it failed'}\n{said[-6000:]}"


TARGETS = (
    Harness("spirv_signatures", "the recorder's SPIR-V reader", "capture/recorder/spirv.c"),
    Harness("kernel_printf", "what a kernel leaves for printf"),
)
