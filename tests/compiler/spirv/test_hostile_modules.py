"""Modules made to crash, hang or exhaust the compiler are refused with a sentence, or compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compiler.random.fuzz_driver import MEMORY_BYTES
from tests.compiler.spirv.hostile_modules import MODULES

EXPECTED = {
    "private_array": "private variables of 4398046511104 bytes",
    "program_array": "the variables of the program take 4398046511104 bytes",
    "array_by_value": "more than 16384 parts",
    "array_of_constants": "parts",
    "calls_that_double": "operations with all that it calls",
    "recursion": "recursion is not supported",
    "long_chain_of_blocks": "more than 10000 blocks",
    "nested_loops": "loops nest deeper",
    "deep_structures": "types are nested",
    "group_of_all_numbers": "requires groups of 4294967295 x 4294967295 x 4294967295",
    "group_of_none": "requires groups of 0 x 1 x 1",
    "function_as_argument": "cannot be passed",
    "large_argument": "cannot be passed",
    "constant_of_itself": "defined by itself",
    "address_of_itself": "is used before it is computed",
    "addresses_of_each_other": "where it may not be computed",
    "nested_selections": "the function has more than 10000 blocks",
    "functions_of_functions": "a type has more than 65536 members",
    "structures_of_nothing": "a type has more than 65536 members",
    "variables_in_loops": "more than 250000 values where ways meet",
    "name_with_a_new_line": "has a character that cannot be printed",
}
"""What is said about those that are refused; the others are only large, and are compiled."""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the driver says to each module, in a process with little memory."""
    folder = tmp_path_factory.mktemp("hostile")
    paths = []
    for name, make in MODULES.items():
        paths.append(folder / f"{name}.spv")
        paths[-1].write_bytes(make())
    done = build(paths)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


def build(paths: list[Path]) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "tests.compiler.random.fuzz_driver",
        "--files",
        *map(str, paths),
    ]
    environment = {**os.environ, "GROUNDSTATE_CACHE": "0"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize("name", MODULES)
def test_module(outcomes: dict[str, str], name: str) -> None:
    assert EXPECTED.get(name, "compiled") in outcomes[name]


def test_there_is_a_limit_to_memory() -> None:
    assert MEMORY_BYTES < 16 << 30
