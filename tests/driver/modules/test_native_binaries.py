"""Native binaries: whose machine code is run, and what forged ones are answered."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundstate import native_binary as envelope
from groundstate import signing, ze
from groundstate.compiler.opencl import frontend
from tests.conftest import check, last_error
from tests.driver.kernels import KernelBench, launch, module_description
from tests.driver.modules.test_modules import create, native_binary, program_of
from tests.driver.support import finish

SOURCE = "kernel void fill(global int *out) { out[get_global_id(0)] = 7; }"
NATIVE = ze.ZE_MODULE_FORMAT_NATIVE
REFUSED = ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY


@pytest.fixture
def real(driver: int, device: int) -> Iterator[KernelBench]:
    bench = KernelBench(driver, device)
    yield bench
    bench.close()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A key of its own for each test."""
    monkeypatch.setenv("GROUNDSTATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GROUNDSTATE_NATIVE", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def binary(real: KernelBench) -> bytes:
    """A native binary with code for groups of four."""
    module = real.module_of(frontend.compile_opencl(SOURCE))
    assert run(real, module) == [7] * 8
    return native_binary(module)


def run(real: KernelBench, module: int) -> list[int]:
    out, commands = real.array(8, "int32"), real.immediate()
    launch(commands, real.kernel_in(module, "fill", out, size=(4, 1, 1)), 2)
    finish(commands)
    return [int(each) for each in out]


def strangers(binary: bytes) -> bytes:
    """The same from somebody who does not have our key, and takes no offence at checksums."""
    start = len(envelope.MAGIC) + 32
    return binary[:start] + bytes(signing.SIGNATURE_BYTES) + binary[start + 32 :]


def refusal(real: KernelBench, binary: bytes) -> str:
    result, _, log = create(real, module_description(binary, format=NATIVE))
    assert result == REFUSED
    assert log in last_error()
    return log


@pytest.mark.parametrize("policy", ["own", "trusted"])
def test_a_binary_of_this_user_runs(
    real: KernelBench, binary: bytes, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    monkeypatch.setenv("GROUNDSTATE_NATIVE", policy)
    assert run(real, real.module_of(binary, format=NATIVE)) == [7] * 8


def test_unsigned_binary_needs_trusted_setting(real: KernelBench, binary: bytes) -> None:
    assert "GROUNDSTATE_NATIVE=trusted" in refusal(real, strangers(binary))


def test_binary_of_another_user_key_is_refused(
    real: KernelBench, binary: bytes, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDSTATE_CACHE", str(cache.with_name("of-another-user")))
    assert "was not made by a driver of this user" in refusal(real, binary)


def test_trusted_takes_binaries_of_anybody(
    real: KernelBench, binary: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDSTATE_NATIVE", "trusted")
    assert run(real, real.module_of(strangers(binary), format=NATIVE)) == [7] * 8


def test_never_takes_no_binary_at_all(
    real: KernelBench, binary: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDSTATE_NATIVE", "never")
    assert "GROUNDSTATE_NATIVE=never" in refusal(real, binary)


def test_one_stranger_among_several_is_enough(real: KernelBench, binary: bytes) -> None:
    own = native_binary(real.module_of(frontend.compile_opencl("kernel void nothing() {}")))
    check(ze.zeModuleDestroy(program_of(real, [own, binary], format=NATIVE)))
    with pytest.raises(pytest.fail.Exception, match="was not made by a driver of this user"):
        program_of(real, [own, strangers(binary)], format=NATIVE)


def test_resaved_foreign_binary_stays_unsigned(
    real: KernelBench, binary: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that loads it once, and saves its native binary, has not made it ours."""
    monkeypatch.setenv("GROUNDSTATE_NATIVE", "trusted")
    module = real.module_of(strangers(binary), format=NATIVE)
    assert run(real, module) == [7] * 8
    again = native_binary(module)
    monkeypatch.setenv("GROUNDSTATE_NATIVE", "own")
    assert "was not made by a driver of this user" in refusal(real, again)


def test_foreign_binary_compiles_into_no_cache(
    real: KernelBench, binary: bytes, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other programs would find it there."""
    monkeypatch.setenv("GROUNDSTATE_NATIVE", "trusted")
    module = real.module_of(strangers(binary), format=NATIVE)
    before = sorted(cache.rglob("*.entry"))
    out, commands = real.array(8, "int32"), real.immediate()
    launch(commands, real.kernel_in(module, "fill", out, size=(2, 1, 1)), 4)
    finish(commands)
    assert [int(each) for each in out] == [7] * 8
    assert sorted(cache.rglob("*.entry")) == before


@pytest.mark.parametrize("where", ["signature", "description", "module", "code"])
def test_a_changed_byte_is_refused(real: KernelBench, binary: bytes, where: str) -> None:
    start = len(envelope.MAGIC)
    place = {"signature": start + 40, "description": 120, "module": -len(binary) // 2, "code": -9}
    changed = bytearray(binary)
    changed[place[where]] ^= 1
    assert refusal(real, bytes(changed))


def test_binary_of_earlier_version_is_refused(real: KernelBench) -> None:
    assert "earlier version" in refusal(real, envelope.OLD_MAGIC + bytes(100))


ELSEWHERE = """
import sys
import groundstate as gs
if sys.argv[1] == "make":
    module = gs.Module(opencl="kernel void fill(global int *out) { out[0] = 7; }")
    open(sys.argv[2], "wb").write(module.native_binary())
else:
    try:
        gs.Module(native=open(sys.argv[2], "rb").read())
        print("taken")
    except gs.errors.InvalidNativeBinary as problem:
        print(problem)
"""


def elsewhere(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.needs_compiler
def test_other_process_of_user_accepts_binary(tmp_path: Path) -> None:
    path = str(tmp_path / "binary")
    elsewhere("make", path)
    assert elsewhere("take", path) == "taken\n"


@pytest.mark.needs_compiler
def test_without_key_folder_binary_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "binary")
    elsewhere("make", path, GROUNDSTATE_CACHE="0")
    assert "GROUNDSTATE_CACHE" in elsewhere("take", path, GROUNDSTATE_CACHE="0")
    trusting = {"GROUNDSTATE_CACHE": "0", "GROUNDSTATE_NATIVE": "trusted"}
    assert elsewhere("take", path, **trusting) == "taken\n"
