"""Writes the kept SPIR-V again.

    python -m tests.prebuilt              compiles what is kept again: the compiler has changed
    python -m tests.prebuilt FILE...      runs test files and keeps what they compile
    python -m tests.prebuilt all          runs all test files

Each test file runs in a process of its own, so that what it compiles does not depend on what ran
before it. Tests that need the compiler are left out: what they compile is not kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from groundstate import knobs
from tests import prebuilt

NO_TESTS = 5
"""The status with which pytest ends if it has no test to run."""


def main(arguments: list[str]) -> int:
    everything = arguments == ["all"]
    modules = [Path(name).resolve() for name in arguments]
    if everything:
        modules = sorted(prebuilt.TESTS.glob("*/test_*.py"))
        for archive in prebuilt.archives():
            source = prebuilt.module_of(archive)
            if source not in modules and not source.is_dir():
                archive.unlink()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        if modules:
            passed = list(pool.map(run, modules))
        else:
            passed = list(pool.map(prebuilt.compile_again, prebuilt.archives()))
    total = sum(archive.stat().st_size for archive in prebuilt.archives())
    print(f"{len(prebuilt.archives())} zip files, {total / 1e6:.1f} MB in all")
    return 0 if all(passed) else 1


def run(module: Path) -> bool:
    """Runs a test file and keeps what it compiles; says whether its tests pass."""
    with tempfile.TemporaryDirectory() as recorded:
        environment = {**os.environ, knobs.PREBUILT_SPIRV.name: recorded}
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not needs_compiler", str(module)]
        done = subprocess.run(
            command, cwd=prebuilt.TESTS.parent, env=environment, capture_output=True, check=False
        )
        kept = {path.name: path.read_bytes() for path in Path(recorded).glob("*.spirv")}
        prebuilt.write(prebuilt.archive_of(module), kept)
    passed = done.returncode in (0, NO_TESTS)
    remark = "" if passed else "; a test fails, and what it did not come to is not kept"
    if kept or not passed:
        print(f"{module.relative_to(prebuilt.TESTS.parent)}: {len(kept)}{remark}", flush=True)
    return passed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
