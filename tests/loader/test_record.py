"""What C programs say to Level Zero is recorded as they said it, whatever becomes of them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from groundstate import standin
from groundstate.capture import place
from groundstate.capture.describe import NamedCall, named_calls
from groundstate.capture.stream import StreamReader
from groundstate.capture.stream.formats import Phase
from groundstate.capture.stream.journal import journal_of
from groundstate.compiler.opencl.frontend import compile_opencl
from tests.loader_stub import WAYS

from .conftest import PROGRAMS, ROOT, TIMEOUT, Build

LINK = ("-lze_loader", "-ldl")
GROUNDSTATE = (sys.executable, "-m", "groundstate")

pytestmark = pytest.mark.usefixtures("headers", "library")


def record(
    out: Path, *command: str | Path, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*GROUNDSTATE, "record", "-o", str(out), *options, "--", *map(str, command)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )


def succeeded(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, f"{done.args} -> {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def calls_of(path: Path) -> list[NamedCall]:
    with StreamReader(path) as reader:
        calls = list(named_calls(reader))
        assert reader.damage is None
    assert not any(call.call.incomplete for call in calls)
    return calls


def only_stream(out: Path) -> Path:
    (path,) = place.streams_in(out)
    return path


def called_in(source: Path) -> list[str]:
    """The API functions in a program's text, in the order in which they are written."""
    return re.findall(r"\b(ze[A-Z]\w+)\(", source.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def hello(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hello") / "hello"
    source = ROOT / "examples" / "hello.c"
    subprocess.run(["cc", str(source), "-lze_loader", "-o", str(path)], check=True)
    return path


@pytest.mark.parametrize("options", WAYS)
def test_hello(hello: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    said = succeeded(record(tmp_path / "out", hello, options=options))
    stream = only_stream(tmp_path / "out")
    calls = calls_of(stream)
    assert [call.name for call in calls] == called_in(ROOT / "examples" / "hello.c")
    assert {call.result for call in calls} == {"ZE_RESULT_SUCCESS"}
    assert not journal_of(stream).exists()
    by_name = {call.name: call for call in calls}

    (properties,) = by_name["zeDeviceGetProperties"].value("pDeviceProperties", Phase.AFTER)
    assert said == f"hello from {properties.name.decode()}\n"
    (before,) = by_name["zeDeviceGetProperties"].value("pDeviceProperties", Phase.BEFORE)
    assert before.name == b""

    allocate, free = by_name["zeMemAllocDevice"], by_name["zeMemFree"]
    assert allocate.argument("size") == 64
    (memory,) = allocate.value("pptr", Phase.AFTER)
    assert free.argument("ptr") == memory
    to, back = (call for call in calls if call.name == "zeCommandListAppendMemoryCopy")
    assert to.argument("dstptr") == back.argument("srcptr") == memory
    (handle,) = by_name["zeCommandListCreateImmediate"].value("phCommandList", Phase.AFTER)
    assert to.argument("hCommandList") == handle


def test_a_list_of_calls_in_text(hello: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    succeeded(record(out, hello))
    command = [*GROUNDSTATE, "stream", "calls", str(out)]
    lines = succeeded(subprocess.run(command, capture_output=True, text=True)).splitlines()
    assert len(lines) == len(called_in(ROOT / "examples" / "hello.c"))
    assert lines[0].endswith("zeInit(flags=0) = ZE_RESULT_SUCCESS")
    assert "mode=ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS" in lines[6]
    again = record(out, hello)
    assert again.returncode == 1
    assert "choose another folder" in again.stderr


def test_modules_are_stored_once_and_whole(build: Build, tmp_path: Path) -> None:
    spirv = compile_opencl((PROGRAMS / "launches.cl").read_text(encoding="utf-8"))
    (tmp_path / "launches.spv").write_bytes(spirv)
    program = build("launches", *LINK, output="launches-record")
    out = tmp_path / "out"
    succeeded(record(out, program, tmp_path / "launches.spv", "forms"))
    path = only_stream(out)
    modules = [call for call in calls_of(path) if call.name == "zeModuleCreate"]
    assert modules
    with StreamReader(path) as reader:
        for call in modules:
            (description,) = call.value("desc", Phase.BEFORE)
            block = call.call.at(description.pInputModule, Phase.BEFORE)
            assert block is not None
            stored = b"".join(map(reader.content, block.digests)) if block.digests else block.data
            assert stored == spirv
    kernels = {c.name: c for c in calls_of(path)}["zeKernelCreate"]
    (description,) = kernels.value("desc", Phase.BEFORE)
    # The pointers in a description are those of the recorded process: never to be followed here.
    address = int.from_bytes(bytes(description)[24:32], "little")
    name = kernels.call.at(address, Phase.BEFORE)
    assert name is not None
    assert name.data.rstrip(b"\0").decode() in (PROGRAMS / "launches.cl").read_text()


def test_every_call_of_each_thread_is_recorded(build: Build, tmp_path: Path) -> None:
    succeeded(record(tmp_path / "out", build("threads", *LINK, output="threads-record")))
    calls = calls_of(only_stream(tmp_path / "out"))
    threads = Counter(call.call.thread for call in calls)
    assert set(threads) == set(range(8))
    assert len(set(threads.values())) == 1
    for call in calls:
        assert call.call.began <= call.number
    for thread in threads:
        mine = [call for call in calls if call.call.thread == thread]
        for earlier, later in pairwise(mine):
            assert earlier.number < later.call.began
            assert earlier.call.time + earlier.call.duration <= later.call.time


def test_a_killed_program_leaves_all_its_calls(build: Build, tmp_path: Path) -> None:
    program = build("abandon", *LINK, output="abandon-record")
    done = record(tmp_path / "out", program, "kill")
    assert done.returncode == -signal.SIGKILL
    path = only_stream(tmp_path / "out")
    assert journal_of(path).exists()
    calls = calls_of(path)
    assert calls[-1].name == "zeCommandQueueExecuteCommandLists"
    assert Counter(c.name for c in calls)["zeCommandQueueExecuteCommandLists"] == 2
    command = [*GROUNDSTATE, "stream", "calls", str(tmp_path / "out")]
    listed = succeeded(subprocess.run(command, capture_output=True, text=True)).splitlines()
    assert len(listed) == len(calls)


MANY = """
#include <level_zero/ze_api.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static ze_event_handle_t event;

static void *ask(void *times) {
    for (long i = 0; i < *(long *)times; i++)
        zeEventQueryStatus(event);
    return NULL;
}

int main(int count, char **arguments) {
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
    ze_event_pool_handle_t pool;
    ze_context_desc_t of_context = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_event_pool_desc_t of_pool = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1};
    ze_event_desc_t of_event = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
    uint32_t one = 1;
    long times = atol(arguments[1]);
    pthread_t threads[4];
    if (zeInit(0) || zeDriverGet(&one, &driver) || zeDeviceGet(driver, &one, &device) ||
        zeContextCreate(driver, &of_context, &context) ||
        zeEventPoolCreate(context, &of_pool, 1, &device, &pool) ||
        zeEventCreate(pool, &of_event, &event))
        return 1;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, ask, &times);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return count > 2 ? raise(SIGKILL) : 0;
}
"""


@pytest.mark.parametrize("end", [(), ("kill",)], ids=["returns", "is killed"])
def test_more_calls_than_the_journal_holds(end: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "many.c").write_text(MANY)
    program, times = tmp_path / "many", 100_000
    command = ["cc", "-pthread", str(tmp_path / "many.c"), "-lze_loader", "-o", str(program)]
    subprocess.run(command, check=True)
    done = record(tmp_path / "out", program, str(times), *end)
    assert done.returncode == (-signal.SIGKILL if end else 0), done.stderr
    with StreamReader(only_stream(tmp_path / "out")) as reader:
        kinds = Counter((entry.kind, entry.body[:4], entry.body[4:8]) for entry in reader.records())
        assert (reader.damage, reader.finished) == (None, not end)
        assert len(reader._chunks) >= 2
    asked = sorted(kinds.values())[-4:]
    assert asked == [times] * 4


STUCK = """
#include <level_zero/ze_api.h>

int main(void) {
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
    ze_event_pool_handle_t pool;
    ze_event_handle_t never;
    ze_context_desc_t of_context = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_event_pool_desc_t of_pool = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1};
    ze_event_desc_t of_event = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
    uint32_t one = 1;
    return zeInit(0) || zeDriverGet(&one, &driver) || zeDeviceGet(driver, &one, &device) ||
           zeContextCreate(driver, &of_context, &context) ||
           zeEventPoolCreate(context, &of_pool, 1, &device, &pool) ||
           zeEventCreate(pool, &of_event, &never) || zeEventHostSynchronize(never, UINT64_MAX);
}
"""


def test_a_call_that_does_not_return_is_named(tmp_path: Path) -> None:
    (tmp_path / "stuck.c").write_text(STUCK)
    program, out = tmp_path / "stuck", tmp_path / "out"
    command = ["cc", str(tmp_path / "stuck.c"), "-lze_loader", "-o", str(program)]
    subprocess.run(command, check=True)
    listing = [*GROUNDSTATE, "stream", "calls", str(out)]
    running = subprocess.Popen([*GROUNDSTATE, "record", "-o", str(out), "--", str(program)])
    try:
        lines = [""]
        while "zeEventHostSynchronize" not in lines[-1]:
            assert running.poll() is None
            done = subprocess.run(listing, capture_output=True, text=True)
            lines = done.stdout.splitlines() or [""]
    finally:
        running.kill()
        running.wait()
    (event,) = next(c for c in calls_of(only_stream(out)) if c.name == "zeEventCreate").value(
        "phEvent", Phase.AFTER
    )
    made = f"zeEventHostSynchronize(hEvent={event:#x}, timeout={2**64 - 1})"
    assert lines[-1].endswith(f"thread 0 {made} did not return")
    assert lines[-2].endswith("= ZE_RESULT_SUCCESS")
    again = subprocess.run(listing, capture_output=True, text=True)
    assert succeeded(again).splitlines() == lines


@pytest.mark.parametrize("options", WAYS)
def test_python_programs_with_our_bindings(tmp_path: Path, options: tuple[str, ...]) -> None:
    code = "import groundstate as gs; print([d.name for d in gs.devices()])"
    said = succeeded(record(tmp_path / "out", sys.executable, "-c", code, options=options))
    calls = calls_of(only_stream(tmp_path / "out"))
    asked = [call for call in calls if call.name == "zeDeviceGetProperties"]
    names = {call.value("pDeviceProperties", Phase.AFTER)[0].name.decode() for call in asked}
    assert said == f"{sorted(names)}\n"


def asks_by_name(tmp_path: Path, name: str) -> Path:
    """A program that asks for a function of the driver, and calls it for the version of the API."""
    source = tmp_path / "extension.c"
    source.write_text(
        "#include <level_zero/ze_api.h>\n"
        "int main(void) {\n"
        "    ze_driver_handle_t driver;\n"
        "    uint32_t one = 1;\n"
        "    ze_result_t (*get)(ze_driver_handle_t, ze_api_version_t *);\n"
        "    ze_api_version_t version;\n"
        "    if (zeInit(0) || zeDriverGet(&one, &driver)) return 1;\n"
        f'    const char *name = "{name}";\n'
        "    void **to = (void **)&get;\n"
        "    if (zeDriverGetExtensionFunctionAddress(driver, name, to)) return 2;\n"
        "    return get(driver, &version);\n"
        "}\n"
    )
    program = tmp_path / "extension"
    subprocess.run(["cc", str(source), "-lze_loader", "-o", str(program)], check=True)
    return program


def test_functions_got_by_name_are_recorded(tmp_path: Path) -> None:
    succeeded(record(tmp_path / "out", asks_by_name(tmp_path, "zeDriverGetApiVersion")))
    names = [call.name for call in calls_of(only_stream(tmp_path / "out"))]
    assert names[2:] == ["zeDriverGetExtensionFunctionAddress", "zeDriverGetApiVersion"]


def test_functions_that_cannot_be_recorded_are_not_given(tmp_path: Path) -> None:
    program = asks_by_name(tmp_path, "zexCounterBasedEventCreate2")
    assert record(tmp_path / "out", program).returncode == 2


def test_each_process_has_its_own_stream(build: Build, tmp_path: Path) -> None:
    succeeded(record(tmp_path / "out", build("forkexec", *LINK, output="forkexec-record")))
    parent, child = place.streams_in(tmp_path / "out")
    copies = [
        Counter(call.name for call in calls_of(path))["zeCommandListAppendMemoryCopy"]
        for path in (parent, child)
    ]
    assert copies == [2, 1]


def test_calls_pass_through_without_folder(build: Build, tmp_path: Path) -> None:
    program = build("pipeline", *LINK, output="pipeline-record")
    folder = standin.folder_for(place.library())
    done = subprocess.run(
        [str(program)],
        cwd=tmp_path,
        env={"LD_LIBRARY_PATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert succeeded(done) == "pipeline ok\n"
    assert list(tmp_path.iterdir()) == []


def test_missing_next_library_gives_an_error(hello: Path, tmp_path: Path) -> None:
    folder = standin.folder_for(place.library())
    missing = {"LD_LIBRARY_PATH": str(folder), "GROUNDSTATE_CAPTURE_NEXT": str(tmp_path / "no.so")}
    done = subprocess.run([str(hello)], env=missing, capture_output=True, text=True)
    assert done.returncode == 1
    assert "GROUNDSTATE_CAPTURE_NEXT" in done.stderr
    assert "0x78000003" in done.stderr


def test_a_library_behind_itself_is_refused(hello: Path) -> None:
    folder = standin.folder_for(place.library())
    circle = {"LD_LIBRARY_PATH": str(folder), "GROUNDSTATE_CAPTURE_NEXT": str(place.library())}
    done = subprocess.run([str(hello)], env=circle, capture_output=True, text=True)
    assert done.returncode == 1
    assert "names the capture library itself" in done.stderr


def test_recording_inside_a_recording(hello: Path, tmp_path: Path) -> None:
    inner = [*GROUNDSTATE, "record", "-o", str(tmp_path / "inner"), "--", str(hello)]
    assert succeeded(record(tmp_path / "outer", *inner)).startswith("hello from")
    assert len(calls_of(only_stream(tmp_path / "inner"))) == 12
    assert not (tmp_path / "outer").exists()
    assert (standin.folder() / standin.LINK_NAMES[0]).resolve() == standin.library()


def test_unwritable_folder_does_not_stop_program(hello: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    environment = place.environment(os.environ, blocked / "out")
    done = subprocess.run(
        [str(hello)], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert succeeded(done).startswith("hello from")
    assert "cannot record into" in done.stderr


def test_the_tools_functions_are_an_option(tmp_path: Path) -> None:
    source = tmp_path / "sysman.c"
    source.write_text(
        "#include <dlfcn.h>\n"
        "int main(void) {\n"
        '    void *loader = dlopen("libze_loader.so.1", RTLD_NOW);\n'
        '    int (*init)(int) = (int (*)(int))dlsym(loader, "zesInit");\n'
        '    int (*get)(int *, void *) = (int (*)(int *, void *))dlsym(loader, "zesDriverGet");\n'
        "    int count = 0;\n"
        "    return init(0) || get(&count, 0) || count == 0;\n"
        "}\n"
    )
    program = tmp_path / "sysman"
    subprocess.run(["cc", str(source), "-ldl", "-o", str(program)], check=True)
    succeeded(record(tmp_path / "with", program, options=("--tools",)))
    succeeded(record(tmp_path / "without", program))
    with_tools = [call.name for call in calls_of(only_stream(tmp_path / "with"))]
    assert with_tools == ["zesInit", "zesDriverGet"]
    assert calls_of(only_stream(tmp_path / "without")) == []


def test_it_exports_what_the_driver_exports() -> None:
    def exported(path: Path) -> set[str]:
        command = ["nm", "-D", "--defined-only", str(path)]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return {name for name in lines.split() if name.startswith("ze")}

    # Intel's additions are hidden from programs that are recorded.
    sources = [path.read_text() for path in (ROOT / "native" / "intel").glob("*.c")]
    of_intel = {name for text in sources for name in re.findall(r"GS_EXPORT \w+ (ze\w+)\(", text)}
    assert len(of_intel) > 20
    assert exported(standin.library()) - exported(place.library()) == of_intel
    assert exported(place.library()) <= exported(standin.library())
