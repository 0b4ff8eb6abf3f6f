"""Every function of the API passes its arguments through a hook exactly as they came.

A library that notes what it is called with stands in for the driver. Each function is called with
arguments that use all bits of their types, once through a hook in Lua and once in Python.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundstate.capture import place
from groundstate.capture.scripting.script import Script
from registry.generators.functions import prototype
from registry.load import load
from registry.model import Function, Registry

from .conftest import FLAGS, ROOT, TIMEOUT

LUA = """
for name, call_on in pairs(drvl0) do
  if name:match("^ze%l?%u") then
    _G[name] = function(...) return call_on(...) end
  end
end
"""
PYTHON = """
from groundstate import _raw
from groundstate.capture import hook
def pass_on(name):
    @hook(name)
    def passed(call):
        for argument in list(call.arguments):
            call.arguments[argument] = call.arguments[argument]
        return call.proceed()
for namespace in ("ze_", "zes_", "zet_", "zer_"):
    for name in _raw.namespace_of(namespace).functions:
        if not name.endswith("ProcAddrTable"):
            pass_on(name)
"""


def noting(function: Function, number: int, registry: Registry) -> Iterator[str]:
    """A function that notes its arguments as words, and structs by their bytes."""
    yield f"{prototype(function, function.name)} {{"
    yield f"    seen_function = {number};"
    for place_of, parameter in enumerate(function.parameters):
        kind, name = parameter.type, parameter.name
        yield f"    seen[{place_of}] = 0;"
        is_struct = not kind.is_pointer and registry.struct_of(kind.base)
        to = f"seen_struct[{place_of}]" if is_struct else f"&seen[{place_of}]"
        yield f"    memcpy({to}, &{name}, sizeof {name});"
    cast = f"({function.returns})"
    if registry.kind_of(function.returns):
        cast += "(uintptr_t)"
    yield f"    return {cast}(0x71230000u + {number});\n}}"


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that notes what it is called with."""
    folder = tmp_path_factory.mktemp("noted")
    registry = load()
    lines = ["#include <string.h>", '#include "ze_types.h"']
    lines += ["uint64_t seen[16], seen_function;", "unsigned char seen_struct[16][4096];"]
    for number, function in enumerate(registry.functions.values()):
        lines += noting(function, number, registry)
    (folder / "noted.c").write_text("\n".join(lines))
    command = ["cc", *FLAGS, f"-I{ROOT / 'native' / 'generated'}", "-shared", "-fPIC"]
    library = folder / "libnoted.so"
    subprocess.run([*command, str(folder / "noted.c"), "-o", str(library)], check=True)
    return library


@pytest.mark.parametrize("language", ["lua", "py"])
def test_all_arguments_of_all_functions(noted: Path, tmp_path: Path, language: str) -> None:
    script = tmp_path / f"pass.{language}"
    script.write_text(LUA if language == "lua" else PYTHON)
    settings = Script(script, stop_on_error=True)
    done = subprocess.run(
        [sys.executable, "-m", "tests.loader.call_all", str(place.library()), str(noted)],
        env={**os.environ, **place.player_environment(str(noted), None, settings)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{len(load().functions)} functions\n"
