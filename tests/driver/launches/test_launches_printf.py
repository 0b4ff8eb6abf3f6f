"""printf in kernels: what comes out on standard output, also when the buffer is full."""

import ctypes

import pytest

from groundstate import ze
from groundstate.driver.capabilities import PRINTF_BUFFER_SIZE
from tests.conftest import check
from tests.driver.kernels import KernelBench, launch
from tests.driver.support import FOREVER, finish

HELLO = (
    "hello world 42 -7 1.50\n"
    "1.000000,2.500000,-3.000000,4.000000|-1,2,3|-1,200 4294967295%\n"
    "[  x] 0xff 10  | 1.000e-01 %y\n"
)


def test_every_kind_of_argument_is_printed(
    kernels: KernelBench, capfd: pytest.CaptureFixture[str]
) -> None:
    commands = kernels.immediate()
    launch(commands, kernels.kernel("hello"), 1)
    finish(commands)
    assert capfd.readouterr().out == HELLO


def test_printf_output_precedes_event_signal(
    kernels: KernelBench, capfd: pytest.CaptureFixture[str]
) -> None:
    commands, event = kernels.immediate(), kernels.event()
    launch(commands, kernels.kernel("shout", kernels.array(100, "int32")), 100, signal=event)
    check(ze.zeEventHostSynchronize(event, FOREVER))
    lines = capfd.readouterr().out.splitlines()
    assert sorted(lines) == sorted(f"group {number}" for number in range(100))


def test_full_printf_buffer_refuses_only_excess(
    kernels: KernelBench, capfd: pytest.CaptureFixture[str]
) -> None:
    module = ze.ze_device_module_properties_t()
    check(ze.zeDeviceGetModuleProperties(kernels.device, ctypes.byref(module)))
    assert module.printfBufferSize == PRINTF_BUFFER_SIZE
    room = module.printfBufferSize // 16
    results, commands = kernels.array(room + 1000, "int32"), kernels.immediate()
    kernel = kernels.kernel("shout", results, size=(1, 1, 1))
    launch(commands, kernel, room + 1000)
    finish(commands)
    assert len(capfd.readouterr().out.splitlines()) == room
    assert (results == -1).sum() == 1000
    assert (results == 0).sum() == room
    launch(commands, kernel, 2)  # the next launch has the whole buffer again
    finish(commands)
    assert sorted(capfd.readouterr().out.splitlines()) == ["group 0", "group 1"]
    assert not results[:2].any()
