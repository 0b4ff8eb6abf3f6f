"""Stacks of the program: its own lines are named, in C and in Python."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import groundstate as gs
from groundstate import addr2line, knobs
from groundstate.driver import native
from groundstate.driver.checking import host_stack

SOURCE = """\
#include <pthread.h>

static void *(*take)(void);
static void *taken;

__attribute__((noinline)) void upload(void) {
    taken = take();
    __asm__ volatile("");
}

static void *work(void *unused) {
    upload();
    return unused;
}

void *on_a_thread(void *(*function)(void)) {
    pthread_t thread;
    take = function;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    return taken;
}
"""


@pytest.fixture
def _stacks() -> Iterator[None]:
    assert gs.devices()  # starts the driver in this interpreter
    native.enable_host_stacks(True)
    yield
    native.enable_host_stacks(False)


def stack_in_c(folder: Path, *options: str) -> int:
    """A stack that a library of C has taken on its own thread."""
    (folder / "app.c").write_text(SOURCE)
    library = folder / "libapp.so"
    command = ["cc", "-O1", "-shared", "-fPIC", "-pthread", *options]
    subprocess.run([*command, "app.c", "-o", library], check=True, cwd=folder)
    function = ctypes.CDLL(str(library)).on_a_thread
    function.restype, function.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
    take = ctypes.CDLL(knobs.library()).gs_host_stack_take
    return int(function(ctypes.cast(take, ctypes.c_void_p)))


needs_addr2line = pytest.mark.skipif(not shutil.which("addr2line"), reason="needs addr2line")


@needs_addr2line
@pytest.mark.usefixtures("_stacks")
def test_lines_of_c_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = stack_in_c(tmp_path, "-g")
    monkeypatch.chdir(tmp_path)
    assert host_stack.notes("allocated by zeMemAllocDevice", stack) == [
        "allocated by zeMemAllocDevice   app.c:7  upload()",
        "                                app.c:12  work()",
    ]
    first, second = host_stack.places(stack)
    assert (first.file, first.line, first.source) == ("app.c", 7, "    taken = take();")
    assert second.beside == "work()"


@pytest.mark.usefixtures("_stacks")
def test_functions_are_named_without_debug_information(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = stack_in_c(tmp_path, "-g0")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(host_stack, "_lines", {})
    (first, *_) = host_stack.notes("made by zeEventCreate", stack)
    assert first.startswith("made by zeEventCreate   upload+0x")
    assert first.endswith(" in libapp.so")
    assert host_stack.places(stack) == []


@pytest.mark.usefixtures("_stacks")
def test_lines_of_python_are_named() -> None:
    def upload() -> int:
        return native.host_stack_take()

    stack = upload()
    line = upload.__code__.co_firstlineno + 1
    first, second = host_stack.frames(stack)  # and nothing of pytest
    assert (first.file, first.line, first.function) == (__file__, line, "upload")
    assert second.function == "test_lines_of_python_are_named"
    assert host_stack.places(stack)[0].source == "        return native.host_stack_take()"


def test_no_stack_is_taken_outside_checked_mode() -> None:
    assert gs.devices()
    assert native.host_stack_take() == 0
    assert host_stack.notes("allocated by zeMemAllocDevice", 0) == ["allocated by zeMemAllocDevice"]


ISOLATED = """\
import ctypes, threading
library = ctypes.CDLL({library!r})
library.gs_host_stack_take.restype = ctypes.c_void_p
library.gs_host_stack_describe.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
assert library.zeInit(0) == 0
library.gs_host_stacks_enable(True)

def upload():
    return library.gs_host_stack_take()

def work():
    text = ctypes.create_string_buffer(1 << 14)
    library.gs_host_stack_describe(upload(), text, len(text))
    print(text.value.decode().splitlines()[1])

work()
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_other_interpreter_than_the_drivers_names_its_lines() -> None:
    code = ISOLATED.format(library=knobs.library())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines() == 2 * ["python\t<string>\t9\tupload"], done.stderr


def test_addr2line_is_understood() -> None:
    said = "0x1139\nns::f(int) const\n/src/./a.cc:12 (discriminator 3)\nmain\n/src/a.cc:30\n"
    assert addr2line.parsed(said + "0x2000\n??\n??:0\n") == {
        0x1139: [("ns::f", "/src/a.cc", 12), ("main", "/src/a.cc", 30)],
        0x2000: [("", "", 0)],
    }


def test_runtime_libraries_and_starters_are_left_out() -> None:
    runtime = host_stack.Frame("submit", "", 0, "/opt/libsycl.so.8")
    own = host_stack.Frame("main", "a.cc", 3, "/home/app")
    start = host_stack.Frame("__libc_start_main", "", 0, "/lib/libc.so.6")
    assert host_stack._program_frames([runtime, own, start]) == [own]
    assert host_stack._program_frames([runtime, start]) == [runtime]


def test_starters_without_a_name_are_left_out() -> None:
    """As without the debug information of the C library, where the nearest symbol is named."""
    own = host_stack.Frame("main", "a.cc", 3, "/home/app")
    unnamed = host_stack.Frame("qsort", "", 0, "/lib/libc.so.6", 0x8202F)
    assert host_stack._program_frames([own, unnamed, unnamed]) == [own]
    assert host_stack._program_frames([own, unnamed, own, unnamed]) == [own, unnamed, own]
    assert host_stack._program_frames([unnamed]) == [unnamed]
