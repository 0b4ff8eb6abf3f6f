"""What a program that initialises the driver has to wait for: imports above all."""

import importlib
import subprocess
import sys
from pathlib import Path

import groundstate
from groundstate.driver import api, functions
from groundstate.driver.entry import answers

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
