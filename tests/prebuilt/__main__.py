"""Writes the kept SPIR-V again: runs test files, and keeps what they compile.

    python -m tests.prebuilt [FILE...]

Without files, all of them. Each runs in a process of its own, so that what it compiles does not
depend on what ran before it. Tests that need the compiler are left out: theirs is not kept.
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
    given = [Path(name).resolve() for name in arguments]
    modules = given or sorted(prebuilt.TESTS.glob("*/test_*.py"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        passed = list(pool.map(write, modules))
    if not given:
        for archive in prebuilt.archives():
            if not prebuilt.module_of(archive).exists():
                archive.unlink()
    total = sum(archive.stat().st_size for archive in prebuilt.archives())
    print(f"{len(prebuilt.archives())} zip files, {total / 1e6:.1f} MB in all")
    for module in (module for module, ok in zip(modules, passed, strict=True) if not ok):
        print(f"{module}: a test failed; what it did not compile is not kept", file=sys.stderr)
    return 0 if all(passed) else 1


def write(module: Path) -> bool:
    """Runs a test file and keeps what it compiles; says whether its tests pass."""
    with tempfile.TemporaryDirectory() as recorded:
        environment = {**os.environ, knobs.PREBUILT_SPIRV.name: recorded}
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not needs_compiler", str(module)]
        done = subprocess.run(
            command, cwd=prebuilt.TESTS.parent, env=environment, capture_output=True, check=False
        )
        count = prebuilt.write(prebuilt.archive_of(module), Path(recorded))
        if count:
            print(f"{module.relative_to(prebuilt.TESTS.parent)}: {count}", flush=True)
        return done.returncode in (0, NO_TESTS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
