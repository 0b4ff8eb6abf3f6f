"""An interpreter without `site` finds what is installed all the same, when it is asked for."""

import subprocess
import sys
from pathlib import Path

from groundstate.driver import late_site

PROGRAM = """\
import sys
scope = {"__name__": "beginning"}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), scope)
scope["prepare"]()
import json
print("site" in sys.modules)
try:
    import no_such_module_anywhere
except ModuleNotFoundError as missing:
    print(missing.name)
import pytest
print("site" in sys.modules, len(sys.meta_path))
"""


def run(*options: str) -> list[str]:
    command = [sys.executable, *options, "-c", PROGRAM, str(Path(late_site.__file__))]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_site_runs_when_something_is_missing() -> None:
    had_site, missing, has_site, _ = run("-I", "-S")
    assert (had_site, missing, has_site) == ("False", "no_such_module_anywhere", "True")


def test_interpreter_with_site_gets_no_finder() -> None:
    assert run("-I")[:3] == ["True", "no_such_module_anywhere", "True"]
