"""The command line, as a user meets it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import groundstate as gs
from groundstate import standin, ze
from groundstate.cli.main import main
from groundstate.cli.parser import plain_sentence
from groundstate.compiler.opencl.frontend import compile_opencl

COMMANDS = ("info", "doctor", "run", "env")


def groundstate(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "groundstate", *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


def on_a_terminal(columns: int, *arguments: str, **variables: str) -> str:
    """What a command shows on a terminal of some width."""
    parent, child = pty.openpty()
    environment = {**os.environ, **variables, "COLUMNS": str(columns), "TERM": "xterm-256color"}
    process = subprocess.Popen(
        [sys.executable, "-m", "groundstate", *arguments], env=environment, stdout=child
    )
    os.close(child)
    shown = b""
    while True:
        try:
            piece = os.read(parent, 4096)
        except OSError:
            break  # the other side is gone
        if not piece:
            break
        shown += piece
    os.close(parent)
    assert process.wait(timeout=60) == 0
    return shown.decode()


def without_colours(text: str) -> list[str]:
    import re

    return re.sub(r"\x1b\[[\d;]*m", "", text).replace("\r", "").splitlines()


def test_without_a_command_there_is_help() -> None:
    done = groundstate()
    assert done.returncode == 0
    for command in COMMANDS:
        assert f"    {command} " in done.stdout
    assert "examples:" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command: str) -> None:
    done = groundstate(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: groundstate " + command)
    assert "examples:" in done.stdout


def test_the_version() -> None:
    assert groundstate("--version").stdout == f"groundstate {gs.__version__}\n"


def test_the_script_is_the_same_as_the_module() -> None:
    script = Path(sys.executable).with_name("groundstate")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"groundstate {gs.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["inof"], "groundstate: there is no command 'inof'; did you mean 'info'?"),
        (["xyz"], "groundstate: there is no command 'xyz'; the commands are info, doctor, run"),
        (["info", "--colour"], "groundstate info: there is no option '--colour'"),
        (["run"], "groundstate run: name a program to run: groundstate run -- PROGRAM"),
        (["run", "--topology", "x", "ls"], "'x' is not a number of devices such as 2, or 2x4"),
        (["env", "--json", "--shell", "fish"], "not allowed with argument --json"),
    ],
)
def test_a_mistake_is_answered_with_a_sentence(arguments: list[str], sentence: str) -> None:
    done = groundstate(*arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "usage:" not in done.stderr
    assert "Try 'groundstate" in done.stderr
    assert done.stdout == ""


def test_newer_pythons_quote_choices_differently() -> None:
    message = "argument COMMAND: invalid choice: 'rum' (choose from info, run, env)"
    assert plain_sentence(message) == "there is no command 'rum'; did you mean 'run'?"
    assert plain_sentence("anything else") == "anything else"


def test_info_shows_the_devices() -> None:
    done = groundstate("info")
    assert done.returncode == 0, done.stderr
    device = gs.devices()[0]
    assert done.stdout.startswith(f"Driver 0  Groundstate {gs.__version__}  Level Zero 1.17\n")
    assert f"Device 0  {device.name}  (type {device.type.name})" in done.stdout
    assert f"{device.queue_groups[1].num_queues} for copy" in done.stdout
    assert str(standin.library()) in done.stdout
    assert "\x1b" not in done.stdout, "no colours outside a terminal"


def test_info_shows_sub_devices_and_topology_env() -> None:
    done = groundstate("info", GROUNDSTATE_TOPOLOGY="2x3", GROUNDSTATE_THREADS="6")
    assert done.stdout.count("Sub-device") == 6
    assert done.stdout.count("  1 core") == 6
    assert "GROUNDSTATE_TOPOLOGY=2x3 is set." in done.stdout


def test_info_tells_more_when_asked() -> None:
    done = groundstate("info", "--verbose")
    device = gs.devices()[0]
    assert str(device.uuid) in done.stdout
    for name in device.driver.extensions:
        assert name in done.stdout


def test_info_tells_everything_as_json() -> None:
    done = groundstate("info", "--json", GROUNDSTATE_TOPOLOGY="1x2")
    facts: dict[str, Any] = json.loads(done.stdout)
    (driver,) = [driver for driver in facts["drivers"] if driver["own"]]
    (device,) = driver["devices"]
    assert facts["groundstate"] == gs.__version__
    assert driver["api_version"] == "1.17"
    assert driver["extensions"]["ZE_extension_eu_count"] == "1.0"
    assert device["name"] == gs.devices()[0].name
    assert device["type"] == "gpu"
    assert device["flags"] == sorted(device["flags"])
    assert device["queue_groups"][1]["flags"] == ["copy"]
    assert device["memories"][0]["total_bytes"] == device["memory_bytes"]
    assert device["extension_properties"]["ze_eu_count_ext_t"]["numTotalEUs"] >= 1
    assert len(device["sub_devices"]) == 2
    assert "subdevice" in device["sub_devices"][0]["flags"]


@pytest.mark.parametrize("columns", [80, 200])
def test_info_fits_the_terminal(columns: int) -> None:
    shown = on_a_terminal(columns, "info", "--verbose", NO_COLOR="")
    assert "\x1b[" in shown
    assert max(map(len, without_colours(shown))) <= columns


def test_info_without_library_says_how_to_build(tmp_path: Path) -> None:
    done = groundstate("info", GROUNDSTATE_LIBRARY=str(tmp_path / "missing.so"))
    assert done.returncode == 1
    assert "missing.so is missing. Build it with 'make native'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_no_problem() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "groundstate", "info", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    problems = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 0
    assert problems == b""


def test_ctrl_c_is_answered_with_the_usual_status(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**options: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("groundstate.core.drivers", interrupted)
    assert main(["info"]) == 130


def test_ctrl_c_leaves_output_of_a_caller_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(**options: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("groundstate.core.drivers", interrupted)
    with (tmp_path / "log").open("w+") as log:
        monkeypatch.setattr(sys, "stdout", log)
        print("before")
        assert main(["info"]) == 130
        print("after")
        log.seek(0)
        assert log.read() == "before\nafter\n"


def test_run_gives_a_program_our_driver() -> None:
    code = (
        "import ctypes; loader = ctypes.CDLL('libze_loader.so.1'); "
        "print(loader.zeInit(0), hasattr(loader, 'gs_live_objects'))"
    )
    done = groundstate("run", "--", sys.executable, "-c", code)
    assert done.stdout == "0 True\n", done.stderr


FAILS = """
import ctypes
import groundstate as gs
from groundstate import ze

with gs.Context(gs.devices()[0]) as context:
    for _ in range(2):
        try:
            context.alloc_host(1 << 50)
        except gs.LevelZeroError as problem:
            print(problem.result.name)

# What a program can do without is no trouble.
count, drivers, found = ctypes.c_uint32(1), (ctypes.c_void_p * 1)(), ctypes.c_void_p()
ze.zeDriverGet(ctypes.byref(count), drivers)
print(ze.zeDriverGetExtensionFunctionAddress(drivers[0], b"zexNothing", ctypes.byref(found)))
"""


@pytest.mark.parametrize(
    ("options", "variables", "lines"),
    [
        ([], {}, 1),
        (["--quiet"], {"GROUNDSTATE_ERRORS": "1"}, 0),
        ([], {"GROUNDSTATE_ERRORS": "1"}, 3),
    ],
)
def test_run_says_why_something_serious_failed(
    options: list[str], variables: dict[str, str], lines: int
) -> None:
    done = groundstate("run", *options, "--", sys.executable, "-c", FAILS, **variables)
    results = ["ZE_RESULT_ERROR_UNSUPPORTED_SIZE"] * 2 + [str(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT)]
    assert done.stdout.splitlines() == results, done.stderr
    said = done.stderr.splitlines()
    assert len(said) == lines
    assert all("1125899906842624 bytes" in line for line in said[:2])


MODULES = """
import ctypes, sys
import groundstate as gs
from groundstate import ze

device = gs.devices()[0]
with gs.Context(device) as context:
    for form in (9, ze.ZE_MODULE_FORMAT_IL_SPIRV):
        spirv = bytes.fromhex(sys.argv[1])
        text = ctypes.create_string_buffer(spirv)
        description = ze.ze_module_desc_t(
            format=form, inputSize=len(spirv), pInputModule=ctypes.addressof(text)
        )
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        where = context.handle, device.handle
        ze.zeModuleCreate(*where, ctypes.byref(description), ctypes.byref(module), None)
    description = ze.ze_kernel_desc_t(pKernelName=b"user")
    print(ze.zeKernelCreate(module, ctypes.byref(description), ctypes.byref(kernel)))
    ze.zeModuleDestroy(module)
"""

UNLINKED = "int elsewhere(int a); kernel void user(global int *a) { *a = elsewhere(*a); }"


def test_run_says_why_a_module_cannot_be_used() -> None:
    spirv = compile_opencl(UNLINKED).hex()
    done = groundstate("run", "--", sys.executable, "-c", MODULES, spirv)
    assert done.stdout == f"{int(ze.ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED)}\n", done.stderr
    first, second = done.stderr.splitlines()
    assert "zeModuleCreate: desc->format has the unknown value 0x9" in first
    assert "kernel 'user' needs elsewhere, which the module imports" in second


@pytest.mark.parametrize(
    ("options", "value", "is_said"),
    [([], "1", True), ([], "0", False), (["--quiet"], "1", False), (["--real-loader"], "1", False)],
)
def test_run_names_the_option_for_a_loaders_layers(
    options: list[str], value: str, is_said: bool
) -> None:
    done = groundstate("run", *options, "--", "true", ZE_ENABLE_VALIDATION_LAYER=value)
    assert (done.returncode, done.stdout) == (0, "")
    said = "ZE_ENABLE_VALIDATION_LAYER: only a real loader knows this" in done.stderr
    assert (said, "--real-loader" in done.stderr) == (is_said, is_said)


def test_run_passes_the_exit_status_on() -> None:
    assert groundstate("run", "--", "sh", "-c", "exit 7").returncode == 7
    missing = groundstate("run", "--", "no-such-program-anywhere")
    assert missing.returncode == 127
    assert "there is no program 'no-such-program-anywhere'" in missing.stderr


def test_a_device_shown_as_a_cpu() -> None:
    """The SYCL runtime of the tests for it picks the CPU by itself."""
    python = Path(sys.prefix) / "sycl" / "bin" / "python"
    if not python.exists():
        pytest.skip("there is no Python with dpctl: make .venv/sycl/.installed")
    show = "import dpctl; it = dpctl.select_default_device(); print(it.backend, it.device_type)"
    done = groundstate("run", "--as-cpu", "--", str(python), "-c", show)
    assert done.stdout.split() == ["backend_type.level_zero", "device_type.cpu"], done.stderr


def test_env_can_be_evaluated_by_a_shell() -> None:
    done = groundstate("env", "--topology", "2x2")
    script = done.stdout + '\nprintf "%s" "$GROUNDSTATE_TOPOLOGY $ZE_ENABLE_ALT_DRIVERS"'
    shell = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert shell.stdout == f"2x2 {standin.library()}"


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (["--version"], {"argparse", "rich", "llvmlite", "groundstate.core", "groundstate.knobs"}),
        (["--help"], {"rich", "llvmlite", "groundstate.core", "groundstate.cli.info"}),
        (["env"], {"rich", "llvmlite", "groundstate.core", "groundstate.capture"}),
    ],
)
def test_commands_import_only_what_they_need(arguments: list[str], unneeded: set[str]) -> None:
    code = (
        "import contextlib, io, sys\nfrom groundstate.cli.main import main\n"
        f"with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        f"    main({arguments!r})\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert not unneeded & set(done.stdout.split())
