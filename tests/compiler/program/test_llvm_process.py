"""LLVM in a process of its own: what ends it is a failed build, and nothing else."""

from __future__ import annotations

import errno
import os
import platform
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundstate.compiler.errors import BuildError, WrongIrError
from groundstate.compiler.ir import deadline
from groundstate.compiler.llvm import backend, library, process, service
from groundstate.compiler.program import Program
from tests.compiler.spirv.hostile_modules import deep_expression

GOOD = "define i32 @run(i32 %a) {\n  ret i32 %a\n}\n"
FOREIGN = "llvm.x86.sse2.pause" if platform.machine() == "aarch64" else "llvm.aarch64.clrex"
FATAL = (
    f"declare void @{FOREIGN}()\ndefine void @run() {{\n  call void @{FOREIGN}()\n  ret void\n}}\n"
)
"""An instruction that this machine does not have: LLVM ends the process that it is in."""
LONG = "define i64 @run(i64 %a) {{\n{}\n  ret i64 %x19999\n}}\n".format(
    "\n".join(
        f"  %x{n} = {'xor' if n % 2 else 'mul'} i64 %{'a' if n == 0 else f'x{n - 1}'}, {n + 3}"
        for n in range(20_000)
    )
)
"""What takes LLVM far longer than any limit in these tests."""
DEADLINE_S = 60
"""Until a process must have gone, on a busy machine."""


@pytest.fixture(autouse=True)
def own_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("GROUNDSTATE_COMPILER_PROCESS", "1")
    monkeypatch.setattr(process, "_current", None)
    yield
    process._end()


def pid() -> int:
    assert process._current is not None
    return process._current.pid


def ends(number: int) -> bool:
    """Whether a process ends before long."""
    until = time.monotonic() + DEADLINE_S
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{number}/stat").read_text(encoding="ascii").rpartition(")")[2]
        except FileNotFoundError:
            return True
        if state.split()[0] == "Z":
            return True
        time.sleep(0.02)
    return False


def test_it_is_kept_for_the_next_kernel() -> None:
    assert service.object_code(GOOD, 1)[:4] == b"\x7fELF"
    first = pid()
    assert service.object_code(GOOD, 1)[:4] == b"\x7fELF"
    assert pid() == first != os.getpid()


def test_llvm_abort_fails_only_that_build() -> None:
    with pytest.raises(BuildError, match=r"LLVM gave up on it: .*Cannot select"):
        service.object_code(FATAL, 1)
    assert service.object_code(GOOD, 1)[:4] == b"\x7fELF"


def test_failed_pass_retries_without_optimisation(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(text: str, lanes: int, optimised: bool) -> bytes:
        if optimised:
            raise process.GaveUpError("an assertion of a pass")
        return b"code"

    monkeypatch.setattr(process, "object_code", give_up)
    assert service.object_code(GOOD, 1) == b"code"


def test_wrong_llvm_ir_is_a_sentence() -> None:
    with pytest.raises(WrongIrError, match="expected type"):
        service.object_code("define nonsense", 1)
    before = pid()
    service.object_code(GOOD, 1)
    assert pid() == before


def test_one_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    service.object_code(GOOD, 1)
    before = pid()
    monkeypatch.setenv("GROUNDSTATE_COMPILE_LIMIT", "1ms")
    with pytest.raises(BuildError, match=r"more than 0\.001 s .*GROUNDSTATE_COMPILE_LIMIT"):
        service.object_code(LONG, 1)
    assert ends(before)
    monkeypatch.delenv("GROUNDSTATE_COMPILE_LIMIT")
    assert service.object_code(GOOD, 1)[:4] == b"\x7fELF"


def test_killed_llvm_process_is_replaced() -> None:
    service.object_code(GOOD, 1)
    before = pid()
    os.kill(before, signal.SIGKILL)
    assert ends(before)
    assert service.object_code(GOOD, 1)[:4] == b"\x7fELF"
    assert pid() != before


def test_it_ends_when_turned_away_from() -> None:
    service.object_code(GOOD, 1)
    before = pid()
    process._end()
    assert ends(before)


def test_it_gives_up_its_rights() -> None:
    service.object_code(GOOD, 1)
    status = Path(f"/proc/{pid()}/status").read_text(encoding="ascii")
    assert "NoNewPrivs:\t1" in status
    limits = Path(f"/proc/{pid()}/limits").read_text(encoding="ascii").splitlines()
    assert any(line.startswith("Max core file size") and " 0 " in line for line in limits)
    assert not any(line.startswith("Max address space") and "unlimited" in line for line in limits)


def test_it_holds_nothing_of_the_program(tmp_path: Path) -> None:
    with open(tmp_path / "file", "wb") as file:
        os.set_inheritable(file.fileno(), True)
        service.object_code(GOOD, 1)
        held = [os.readlink(entry) for entry in Path(f"/proc/{pid()}/fd").iterdir()]
    assert not [each for each in held if each.startswith(str(tmp_path))]


def test_the_process_of_the_program_has_no_child() -> None:
    code = """if True:
        import os
        from groundstate.compiler.llvm import service
        service.object_code("define void @run() {\\n  ret void\\n}\\n", 1)
        try:
            print(os.waitpid(-1, os.WNOHANG))
        except ChildProcessError:
            print("no child")
        """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "no child\n"


def test_it_ends_with_a_program_that_is_killed() -> None:
    code = """if True:
        import os, signal
        from groundstate.compiler.llvm import process
        from groundstate.compiler.llvm import service
        service.object_code("define void @run() {\\n  ret void\\n}\\n", 1)
        print(process._current.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert ends(int(done.stdout))


def test_a_fork_has_one_of_its_own() -> None:
    code = """if True:
        import os
        from groundstate.compiler.llvm import process
        from groundstate.compiler.llvm import service
        text = "define void @run() {\\n  ret void\\n}\\n"
        service.object_code(text, 1)
        before = process._current.pid
        child = os.fork()
        if child == 0:
            service.object_code(text, 1)
            os._exit(0 if process._current.pid != before else 1)
        print(os.waitpid(child, 0)[1])
        service.object_code(text, 1)
        print(process._current.pid == before)
        """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\nTrue\n"


def test_the_driver_answers_with_a_failed_build() -> None:
    """And builds the next kernel, in another process."""
    code = """if True:
        import os
        from groundstate.compiler.ir import deadline
        from tests.compiler.random.fuzz_driver import Builder
        from tests.compiler.spirv.hostile_modules import deep_expression
        deadline.check = lambda: None  # it is LLVM that takes long
        builder, data = Builder(), deep_expression(5000)
        for limit in ("1ms", "10min"):
            os.environ["GROUNDSTATE_COMPILE_LIMIT"] = limit
            print(repr(builder.build(data)), builder.refusal)
        """
    environment = {**os.environ, "GROUNDSTATE_CACHE": "0", "GROUNDSTATE_COMPILER_PROCESS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    first, second = done.stdout.splitlines()
    assert first.startswith("'' ")
    assert "kernel 'k' cannot be compiled: LLVM took more than 0.001 s" in first
    assert second.strip() == "''"


def test_llvm_survives_program_closing_its_files(tmp_path: Path) -> None:
    code = """if True:
        import os, sys
        from groundstate.compiler.llvm import process
        from groundstate.compiler.llvm import service
        text = "define void @run() {\\n  ret void\\n}\\n"
        service.object_code(text, 1)
        os.closerange(3, 1024)
        for _ in range(40):
            os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
        for _ in range(2000):
            os.dup(0)
        service.object_code(text, 1)
        print(os.stat(sys.argv[1]).st_size)
        """
    command = ["sh", "-c", 'ulimit -n 4096; exec "$@"', "sh", sys.executable, "-c", code]
    done = subprocess.run(
        [*command, str(tmp_path / "file")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_off_means_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_COMPILER_PROCESS", "0")
    assert service.object_code(GOOD, 1)[:4] == b"\x7fELF"
    assert process.descriptors() == ()


def test_without_a_python_it_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/does/not/exist")
    monkeypatch.setattr(process, "_cannot_start", False)
    assert service.object_code(GOOD, 1)[:4] == b"\x7fELF"
    assert process.descriptors() == ()


def test_llvm_runs_in_process_while_out_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, flags: int) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr(os, "memfd_create", refuse)
        assert service.object_code(GOOD, 1)[:4] == b"\x7fELF"
        assert process.descriptors() == ()
    assert service.object_code(GOOD, 1)[:4] == b"\x7fELF"
    assert pid() != os.getpid()


def test_llvm_out_of_memory_raises_memory_error() -> None:
    service.object_code(GOOD, 1)
    status = Path(f"/proc/{pid()}/status").read_text(encoding="ascii")
    used = next(int(line.split()[1]) << 10 for line in status.splitlines() if "VmSize" in line)
    resource.prlimit(pid(), resource.RLIMIT_AS, (used + (8 << 20), used + (8 << 20)))
    with pytest.raises(MemoryError, match="compiling this kernel takes up to 33 MiB"):
        service.object_code(GOOD, 1)


def test_a_kernel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_CACHE", "0")
    program = Program(deep_expression(5000))
    program.check("k")
    monkeypatch.setenv("GROUNDSTATE_COMPILE_LIMIT", "1ms")
    monkeypatch.setattr(deadline, "check", lambda: None)  # it is LLVM that takes long
    with pytest.raises(BuildError, match="kernel 'k' cannot be compiled: LLVM took more than"):
        program.compile("k", (8, 1, 1))


SLOW_IMPORTS = {"json", "re", "typing", "enum", "functools", "contextlib", "socket"}
"""What half of the standard library imports, and LLVM's process does without."""

START = """
import sys
sys.path[:0] = {path!r}
from groundstate.compiler.llvm import backend, server
backend.native_machine()
print(*sys.modules)
"""


def test_llvm_process_imports_little_before_it_is_ready() -> None:
    code = START.format(path=process._import_path())
    command = [sys.executable, "-I", "-S", "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    imported = set(said.split())
    assert "groundstate.compiler.llvm.library" in imported
    assert imported.isdisjoint({*SLOW_IMPORTS, "llvmlite.binding"})


@pytest.mark.parametrize("idle", [0, 1, 2])
def test_warming_up_stops_for_a_request(monkeypatch: pytest.MonkeyPatch, idle: int) -> None:
    done: list[str] = []
    optimise, machine = backend.optimise, backend.native_machine().machine

    def optimised(text: str, lanes: int) -> library.Module:
        done.append("optimised")
        return optimise(text, lanes)

    def emitted(module: library.Module) -> bytes:
        done.append(type(machine).emit_object(machine, module)[1:4].decode())
        return b""

    monkeypatch.setattr(backend, "optimise", optimised)
    monkeypatch.setattr(machine, "emit_object", emitted)
    answers = iter([True] * idle + [False] * 2)
    backend.warm_up(lambda: next(answers))
    assert done == ["optimised", "ELF"][:idle]


def test_warming_up_survives_want_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(text: str) -> None:
        raise MemoryError(text)

    monkeypatch.setattr(backend.headroom, "require_to_compile", exhausted)
    backend.warm_up(lambda: True)
