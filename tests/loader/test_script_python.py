"""Hooks in Python, in C programs and in Python programs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.loader_stub import WAYS

from .conftest import Build
from .test_record import LINK, calls_of, only_stream, record, succeeded
from .test_script import hello, scripted

__all__ = ["hello"]

pytestmark = pytest.mark.usefixtures("headers", "library")


def hooks(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "hooks.py"
    path.write_text("from groundstate import ze\nfrom groundstate.capture import hook\n" + text)
    return path


PROPERTIES = """
@hook("zeDeviceGetProperties")
def properties(call):
    result = call.proceed()
    found = call.arguments.pDeviceProperties
    assert found.type == ze.ZE_DEVICE_TYPE_GPU and list(call.chain("pDeviceProperties"))
    found.name = b"the hook"
    return result

@hook("gitsProgramExit")
def end():
    print("the end")
"""


@pytest.mark.parametrize("options", WAYS)
def test_a_hook_changes_what_the_program_sees(
    hello: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    done = scripted(hooks(tmp_path, PROPERTIES), hello, options=options)
    assert sorted(succeeded(done).splitlines()) == ["hello from the hook", "the end"]
    assert done.stderr == ""


def test_an_error_leaves_the_call_as_it_came(hello: Path, tmp_path: Path) -> None:
    text = """
@hook("zeContextCreate")
def context(call):
    call.arguments.desc.flags = 77
    call.arguments["hDriver"] = None
    raise ValueError("no good")

@hook("zeCommandListAppendMemoryCopy")
def copy(call):
    call.proceed()
    return call.arguments.nothing
"""
    done = scripted(hooks(tmp_path, text), hello)
    assert succeeded(done).startswith("hello from Groundstate")
    said = [line.partition("hooks.py:")[2] for line in done.stderr.splitlines()]
    assert said[0] == "8: ValueError: no good (in zeContextCreate)"
    assert said[1].startswith("13: AttributeError: ")
    assert "there is no argument 'nothing'; there are hCommandList, dstptr" in said[1]
    assert said[2:] == ["8", "13"]


def test_unknown_hook_name_is_refused_with_hint(hello: Path, tmp_path: Path) -> None:
    done = scripted(hooks(tmp_path, "@hook('zeMemFre')\ndef f(call): ..."), hello)
    assert succeeded(done).startswith("hello from Groundstate")
    assert "hooks.py:3: ValueError: there is no function 'zeMemFre' to hook" in done.stderr
    assert "did you mean 'zeMemFree'?" in done.stderr


HOLDING = """
import ctypes, sys, threading
library = ctypes.PyDLL("libze_loader.so.1")  # whose calls hold the interpreter's lock
assert library.zeInit(0) == 0
count = ctypes.c_uint32()
def ask():
    for _ in range(50):
        assert library.zeDriverGet(ctypes.byref(count), None) == 0
threads = [threading.Thread(target=ask) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(count.value, "hooks" in sys.modules)
"""


def test_program_and_hooks_share_no_interpreter(tmp_path: Path) -> None:
    text = """
import threading
lock = threading.Lock()
@hook("zeDriverGet")
def get(call):
    with lock:
        result = call.proceed()
        call.arguments.pCount.value = 7
        return result
"""
    done = scripted(hooks(tmp_path, text), sys.executable, "-c", HOLDING)
    assert succeeded(done) == "7 False\n"


def test_threads_of_a_c_program(build: Build, tmp_path: Path) -> None:
    text = """
from collections import Counter
calls = Counter()
def count(name):
    @hook(name)
    def counted(call):
        calls[name] += 1
        return call.proceed()
for name in ("zeEventCreate", "zeEventDestroy", "zeMemFree", "zeCommandListAppendMemoryCopy"):
    count(name)
@hook("gitsProgramExit")
def end():
    assert calls["zeEventCreate"] == calls["zeEventDestroy"]
    print(sum(calls.values()) > 10)
"""
    done = scripted(hooks(tmp_path, text), build("threads", *LINK, output="threads-script-python"))
    assert sorted(succeeded(done).splitlines()) == ["True", "threads ok"]
    assert done.stderr == ""


@pytest.mark.parametrize("language", ["lua", "python"])
def test_what_a_script_really_calls_is_recorded(hello: Path, tmp_path: Path, language: str) -> None:
    lua = tmp_path / "size.lua"
    lua.write_text("""
    function zeMemAllocDevice(hContext, desc, size, alignment, hDevice, pptr)
      return drvl0.zeMemAllocDevice(hContext, desc, size * 2, alignment, hDevice, pptr)
    end
    function zeMemFree() return ZE_RESULT_SUCCESS end
    """)
    python = hooks(
        tmp_path,
        """
@hook("zeMemAllocDevice")
def allocate(call):
    call.arguments.size *= 2
    return call.proceed()

@hook("zeMemFree")
def free(call):
    return ze.ZE_RESULT_SUCCESS
""",
    )
    script = lua if language == "lua" else python
    out = tmp_path / "out"
    succeeded(record(out, hello, options=("--script", str(script))))
    by_name = {call.name: call for call in calls_of(only_stream(out))}
    assert by_name["zeMemAllocDevice"].argument("size") == 128
    assert "zeMemFree" not in by_name


def test_a_script_needs_a_program(hello: Path, tmp_path: Path) -> None:
    done = scripted(tmp_path / "missing.py", hello)
    assert done.returncode == 1
    assert "missing.py: no such file" in done.stderr
    other = subprocess.run(
        [sys.executable, "-m", "groundstate", "script"], capture_output=True, text=True
    )
    assert other.returncode == 2
    assert "name a script" in other.stderr
