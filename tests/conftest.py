"""What all tests share: strict mode, the driver's handles, and the count of what a test leaves.

With GROUNDSTATE_STRICT_TESTS=1 a test that is skipped is a failure: on a machine that is meant to
have everything, a missing component must not pass unseen.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from groundstate import knobs, standin, ze
from groundstate.compiler.ir.pass_observers import Verifier
from groundstate.compiler.ir.passes import observers
from groundstate.compiler.llvm import process

from .loader_stub import is_loader_installed, link_without_loader
from .patience import stretch_marks, stretch_time_limits

pytest_plugins = ["tests.prebuilt.plugin"]

STRICT = os.environ.get("GROUNDSTATE_STRICT_TESTS", "") not in ("", "0")
TESTS = Path(__file__).parent
DRIVER_TESTS = TESTS / "driver"
FOLDERS_OF_TOOLS = {".git", ".venv", "build", "dist", "_native", "__pycache__"}
FOLDERS_OF_TOOLS |= {".pytest_cache", ".mypy_cache", ".ruff_cache"}
WORKING_TREE = pytest.StashKey[set[Path]]()

# A GPU that this machine may have changes no test: those about GPUs bring recorded ones.
os.environ.setdefault("GROUNDSTATE_NVIDIA", "0")

# A driver thread that waits with a lock that others need ends the process: native/threads/lock.h.
os.environ.setdefault("GROUNDSTATE_CHECK_WAITS", "1")

stretch_time_limits()

# A shell that runs this in the background has SIGINT ignored, and `nohup` SIGHUP. What they start
# inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Whatever a test compiles is verified after every pass of the compiler.
observers.append(Verifier())


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "plain_mode: makes a mistake on purpose, or looks at what is otherwise in checked mode",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The tests of the driver come first. In checked mode, some are left out.

    They wait for whole devices, on which played recordings may leave work that never ends.
    """
    items.sort(key=lambda item: DRIVER_TESTS not in item.path.parents)
    if knobs.CHECK.get():
        left_out = [item for item in items if item.get_closest_marker("plain_mode")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    stretch_marks(items)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Remembers the working tree, in the process that starts the others.

    Tests that a test runs leave that to the run around them: other tests run beside them.
    """
    if not hasattr(session.config, "workerinput") and "PYTEST_CURRENT_TEST" not in os.environ:
        session.config.stash[WORKING_TREE] = working_tree()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails if a test, or a command that it ran, wrote into the working tree."""
    before = session.config.stash.get(WORKING_TREE, None)
    new = set() if before is None else working_tree() - before
    if new:
        names = ", ".join(sorted(str(path.relative_to(TESTS.parent)) for path in new)[:20])
        print(f"\nERROR: the tests wrote into the working tree: {names}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def working_tree() -> set[Path]:
    """The files of the working tree, but for what tools keep in folders of their own."""
    return set(files_below(TESTS.parent))


def files_below(folder: Path) -> Iterator[Path]:
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            if entry.name not in FOLDERS_OF_TOOLS and not entry.name.endswith(".egg-info"):
                yield from files_below(entry)
        elif not entry.name.startswith(".coverage"):
            yield entry


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, Any]:
    return fail_if_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, Any]:
    return fail_if_skipped((yield))


def fail_if_skipped(
    report: pytest.TestReport | pytest.CollectReport,
) -> pytest.TestReport | pytest.CollectReport:
    """In strict mode, turns a skipped test or file into a failure that says why it was skipped."""
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid}: skipping is not allowed in strict mode. {reason}"
    return report


@pytest.fixture(scope="session", autouse=True)
def _loader_to_link_with(tmp_path_factory: pytest.TempPathFactory) -> None:
    """C programs are linked with a loader, and with a stub of one where there is none."""
    if not is_loader_installed():
        link_without_loader(tmp_path_factory.mktemp("loader"))


@pytest.fixture(autouse=True)
def _environment_stays() -> Iterator[None]:
    """Variables that a test leaves behind would send the programs of later ones elsewhere."""
    before = dict(os.environ)
    yield
    after = dict(os.environ)
    left = {name for name in before | after if before.get(name) != after.get(name)}
    left -= {"PYTEST_CURRENT_TEST", "PYOPENCL_HOME"}  # pytest and pyopencl set these themselves
    for name in left:
        os.environ.pop(name, None)
    os.environ.update({name: before[name] for name in left & before.keys()})
    assert not left, f"the test leaves the environment changed: {sorted(left)}"


@pytest.fixture(scope="session")
def library() -> Path:
    """The driver's library; the tests are of no use without it."""
    try:
        return standin.library()
    except standin.LibraryMissing as problem:
        pytest.fail(str(problem))


def check(result: int) -> None:
    """Fails with the name of the result and the driver's description of it."""
    if result != ze.ZE_RESULT_SUCCESS:
        pytest.fail(f"{ze.ze_result_t(result).name}: {last_error()}")


def last_error() -> str:
    """The driver's sentence about the last call that failed in this thread."""
    text = ctypes.c_char_p()
    ze.zeDriverGetLastErrorDescription(first_driver(), ctypes.byref(text))
    return (text.value or b"").decode()


def first_driver() -> int | None:
    """The handle of our driver, which is the only one behind its library."""
    count, handle = ctypes.c_uint32(1), ctypes.c_void_p()
    ze.zeDriverGet(ctypes.byref(count), ctypes.byref(handle))
    return handle.value


@pytest.fixture(scope="session")
def driver(library: Path) -> int:
    """The raw handle of the driver."""
    check(ze.zeInit(0))
    handle = first_driver()
    assert handle is not None
    return handle


@pytest.fixture(scope="session")
def device(driver: int) -> int:
    """The raw handle of the first device."""
    count, handle = ctypes.c_uint32(1), ctypes.c_void_p()
    check(ze.zeDeviceGet(driver, ctypes.byref(count), ctypes.byref(handle)))
    assert handle.value is not None
    return handle.value


@pytest.fixture
def context(driver: int) -> Iterator[int]:
    """The raw handle of a context, destroyed after the test."""
    handle = ctypes.c_void_p()
    description = ze.ze_context_desc_t()
    check(ze.zeContextCreate(driver, ctypes.byref(description), ctypes.byref(handle)))
    assert handle.value is not None
    yield handle.value
    check(ze.zeContextDestroy(handle.value))


@pytest.fixture(scope="session")
def warm_driver(driver: int, device: int) -> None:
    """Starts what the driver starts only once: its threads, and the descriptors these hold."""
    context, commands = ctypes.c_void_p(), ctypes.c_void_p()
    description = ze.ze_context_desc_t()
    queue = ze.ze_command_queue_desc_t()
    check(ze.zeContextCreate(driver, ctypes.byref(description), ctypes.byref(context)))
    check(
        ze.zeCommandListCreateImmediate(
            context, device, ctypes.byref(queue), ctypes.byref(commands)
        )
    )
    check(ze.zeCommandListAppendBarrier(commands, None, 0, None))
    check(ze.zeCommandListHostSynchronize(commands, 2**64 - 1))
    check(ze.zeCommandListDestroy(commands))
    check(ze.zeContextDestroy(context))
    # What is there now stays: looking through all of it after each test would take minutes.
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each driver test there are as many objects and open files as before it."""
    if not request.node.path.is_relative_to(DRIVER_TESTS):
        yield
        return
    request.getfixturevalue("warm_driver")
    before = what_there_is()
    yield
    assert what_there_is() == before


STANDIN_MEMORY = "/memfd:standin-memory"
"""By such files the stand-in for the CUDA driver holds memory, which pools keep."""


def what_there_is() -> dict[str, Any]:
    """The driver's live objects, and the files this process has open."""
    gc.collect()
    driver_library = ctypes.CDLL(str(standin.library()))
    # Variants of a kernel are compiled meanwhile, with files of the cache open.
    driver_library.gs_variant_requests_settle(ctypes.c_uint64(10**10))
    driver_library.gs_live_objects.restype = ctypes.c_uint64
    kept_by_pools = (ctypes.c_int * 1024)()
    count = driver_library.gs_gpu_kept_files(kept_by_pools, ctypes.c_uint32(1024))
    pooled = {str(fd) for fd in kept_by_pools[:count]}
    files = []
    for entry in Path("/proc/self/fd").iterdir():
        if entry.name in pooled:
            continue
        try:
            files.append(os.readlink(entry))
        except FileNotFoundError:
            continue  # the descriptor with which this folder was listed
    files = [file for file in files if STANDIN_MEMORY not in file]
    # NVIDIA's library keeps its descriptors until the process ends, and opens more at any time.
    if "libcuda.so" in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace"):
        files = [file for file in files if "groundstate" in file]
    kept = sorted(file for file in files if not file.startswith("/dev/nvidia"))
    for descriptor in process.descriptors():
        link = os.readlink(f"/proc/self/fd/{descriptor}")
        if link in kept:
            kept.remove(link)
    return {"objects": driver_library.gs_live_objects(0), "files": kept}
