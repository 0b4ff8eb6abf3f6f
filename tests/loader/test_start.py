"""What a start of the driver needs: imports, for which a program waits, and room in the process."""

import importlib
import subprocess
import sys
from pathlib import Path

import groundstate
from groundstate.driver import api, functions
from groundstate.driver.entry import answers

from .conftest import Build

SOURCES = Path(groundstate.__file__).parents[1]
START = """\
import sys
before = {*sys.modules}
sys.path.insert(0, sys.argv[1])
from groundstate.driver import entry
assert entry.start(sys.argv[2])["zeInit"](0) is None
print(*({*sys.modules} - before))
"""
NEEDLESS = {"re", "pathlib", "typing", "json", "threading", "contextlib", "subprocess", "site"}
NEEDLESS |= {"collections", "enum", "functools"}
PARTS = {"entry", "functions", "native", "platform", "api", "affinity", "topology", "driver"}
"""What a start needs of the driver, beside its devices."""


def test_start_imports_no_nouns_and_little_else(library: Path) -> None:
    command = [sys.executable, "-I", "-S", "-c", START, str(SOURCES), str(library)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = set(run.stdout.split())
    assert imported.isdisjoint(NEEDLESS)
    prefix = "groundstate.driver."
    parts = {name.removeprefix(prefix).split(".")[0] for name in imported if prefix in name}
    assert parts == PARTS | {"devices", "sysman"}


def test_stand_ins_answer_for_nouns_not_imported() -> None:
    """Each name in the generated table leads to a function that its file registers."""
    for table, found in ((functions.NOUNS, api.HANDLERS), (functions.REQUESTS, api.REQUESTS)):
        for noun in set(table.values()):
            importlib.import_module(f"groundstate.driver.{noun}")
        assert table.keys() <= found.keys()
    assert answers()["zeModuleCreate"] is api.HANDLERS["zeModuleCreate"]


FULL = """\
import ctypes, sys
for path in sys.argv[2:]:
    try:
        ctypes.CDLL(path)
    except OSError as problem:
        print(problem)
print(ctypes.CDLL(sys.argv[1]).zeInit(0))
"""
STATIC_STORAGE = "cannot allocate memory in static TLS block"


def test_driver_opens_where_static_thread_storage_is_full(build: Build, library: Path) -> None:
    """Of that storage, glibc has about 1.6 KB for all libraries that a program opens later."""
    takers = [
        build("static_storage", "-shared", "-fPIC", f"-DBYTES={size}", output=f"{size}.so")
        for size in (1024, 512, 256, 128, 64, 32)
    ]
    command = [sys.executable, "-I", "-c", FULL, str(library), *map(str, takers)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert STATIC_STORAGE in run.stdout
    assert run.stdout.splitlines()[-1] == "0"
