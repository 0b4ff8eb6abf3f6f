"""Which Level Zero loader a program would get that is started here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from groundstate import standin
from groundstate.doctor.finding import Finding, State

SECTION = "Programs"
TIME_LIMIT_S = 60
RUN = "groundstate run -- PROGRAM"

LOOK = """
import ctypes, json, re, sys
def look():
    try:
        loader = ctypes.CDLL("libze_loader.so.1")
    except OSError as problem:
        return {"problem": str(problem)}
    with open("/proc/self/maps", errors="surrogateescape") as maps:
        paths = re.findall(r"(/.*/libze_(?:loader|groundstate|capture)\\S*)$", maps.read(), re.M)
    return {"path": paths[0] if paths else "", "own": hasattr(loader, "gs_share_python")}
print(json.dumps(look()))
"""

LIBPYTHON = """
import ctypes, json, sys
driver, path = ctypes.CDLL(sys.argv[1]), ctypes.create_string_buffer(4096)
driver.gs_libpython(path, ctypes.c_size_t(len(path)))
name = path.value.decode(errors="surrogateescape")
try:
    ctypes.CDLL(name)
    print(json.dumps({"path": name}))
except OSError as problem:
    print(json.dumps({"path": name, "problem": str(problem)}))
"""


def loader() -> Iterator[Finding]:
    """What `dlopen("libze_loader.so.1")` gives a program."""
    seen = ask(LOOK)
    state, fix = State.OK, ""
    if "problem" in seen:
        text = "there is no libze_loader.so.1: a program finds no Level Zero"
        state, fix = State.NOTE, f"{RUN}, or apt-get install libze1"
    elif seen["own"]:
        text = f"Groundstate in the loader's place, {seen['path']}"
    elif str(standin.library()) in os.environ.get("ZE_ENABLE_ALT_DRIVERS", "").split(","):
        text = f"{seen['path']}, which loads Groundstate"
    else:
        text = f"{seen['path']}, which does not know of Groundstate"
        state, fix = State.NOTE, f'{RUN}, or eval "$(groundstate env)"'
    yield Finding(SECTION, "loader", state, text, fix)


def libpython() -> Iterator[Finding]:
    """The library that runs the driver's Python half in a C program."""
    seen = ask(LIBPYTHON, str(standin.library()))
    name = "{}.{}".format(*sys.version_info[:2])
    if "problem" in seen:
        text = f"cannot use the driver: there is no libpython{name}.so"
        yield Finding(SECTION, "C programs", State.WRONG, text, f"apt-get install libpython{name}")
    else:
        yield Finding(SECTION, "C programs", State.OK, f"run the driver with {seen['path']}")


def ask(code: str, *arguments: str) -> dict[str, Any]:
    """What another process finds out, so that nothing is loaded into this one."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"the process ended with {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


CHECKS = (loader, libpython)
