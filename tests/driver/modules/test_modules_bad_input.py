"""Each error condition that the registry knows for modules, kernels and launches."""

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from groundstate import ze
from registry.checks import CheckKind, checks_of
from registry.model import Function
from tests.conftest import check, last_error
from tests.driver import calls as valid
from tests.driver.calls import REGISTRY, Call, Calls
from tests.driver.errors.test_bad_input import live_objects
from tests.driver.fake_compiler import spirv
from tests.driver.kernels import KernelBench, group_count, module_description
from tests.driver.modules.spoiling import spoilt
from tests.driver.support import handles

CHAPTERS = {
    "module", "program", "linkageInspection", "globaloffset", "kernelSchedulingHints",
    "kernelBinary", "kernelAllocationProperties",
}  # fmt: skip
FUNCTIONS = [
    function for function in REGISTRY.functions.values()
    if function.namespace == "ze" and function.region in CHAPTERS
]  # fmt: skip


class KernelCalls(Calls):
    """Valid calls with a module and a kernel of the fake compiler."""

    def __init__(self, bench: KernelBench) -> None:
        super().__init__(bench)
        self.kernels = bench
        self.module = bench.module("empty", variables={"v": (0, 8)}, image=bytes(8))
        self.kernel = bench.kernel_in(self.module, "empty", size=(1, 1, 1))
        self.log = self._log()

    def _log(self) -> int:
        log = ctypes.c_void_p()
        check(ze.zeModuleDynamicLink(1, handles(self.module), ctypes.byref(log)))
        assert log.value is not None
        return self.kernels.adopt(log.value, ze.zeModuleBuildLogDestroy)

    def _kinds(self) -> dict[str, tuple[int, Callable[[], int], Callable[[int], int]]]:
        """What there is of each kind, how to make another, and how it ends."""
        return {
            "ze_module_handle_t": (
                self.module,
                lambda: self.kernels.module("empty"),
                ze.zeModuleDestroy,
            ),
            "ze_kernel_handle_t": (
                self.kernel,
                lambda: self.kernels.kernel_in(self.module, "empty"),
                ze.zeKernelDestroy,
            ),
            "ze_module_build_log_handle_t": (self.log, self._log, ze.zeModuleBuildLogDestroy),
        }

    def handle(self, kind: str) -> int:
        own = self._kinds().get(kind)
        return own[0] if own is not None else super().handle(kind)

    def fresh(self, kind: str) -> int:
        own = self._kinds().get(kind)
        return self.bench.forget(own[1]()) if own is not None else super().fresh(kind)

    def stale(self, kind: str) -> int | None:
        own = self._kinds().get(kind)
        if own is None:
            return super().stale(kind)
        handle = self.fresh(kind)
        check(own[2](handle))
        return handle

    def of(self, function: Function, fresh: bool = False) -> Call:
        call = super().of(function, fresh)
        special: dict[str, dict[str, Any]] = {
            "zeModuleCreate": {"desc": module_description(spirv("empty")), "phBuildLog": None},
            "zeKernelCreate": {"desc": ze.ze_kernel_desc_t(pKernelName=b"empty")},
            "zeModuleGetGlobalPointer": {"pGlobalName": b"v"},
            "zeModuleGetFunctionPointer": {"pFunctionName": b"empty"},
            "zeModuleDynamicLink": {"phLinkLog": None},
            "zeKernelGetSourceAttributes": {"pString": None},
            "zeKernelSetArgumentValue": {"argIndex": 0, "argSize": 8},
        }
        call.arguments.update(special.get(function.name, {}))
        for name in ("pLaunchFuncArgs", "pGroupCounts"):
            if name in call.arguments:
                call.arguments[name] = group_count(1)
        for name in ("pLaunchArgumentsBuffer", "pCountBuffer"):
            if name in call.arguments:
                kind = ze.ze_group_count_t if name[1] == "L" else ctypes.c_uint32
                call.arguments[name] = ctypes.cast(self.memory, ctypes.POINTER(kind))
        if "pSize" in call.arguments:
            call.arguments["pSize"] = ctypes.c_size_t()
        if "groupSizes" in call.arguments:
            call.arguments["groupSizes"] = ze.ze_group_size_t(1, 1, 1)
        return call


@pytest.fixture
def calls(kernels: KernelBench) -> Iterator[KernelCalls]:
    calls = KernelCalls(kernels)
    yield calls
    check(ze.zeCommandListHostSynchronize(calls.immediate, 2**64 - 1))


def test_the_functions_of_modules_are_here() -> None:
    assert len(FUNCTIONS) >= 33
    assert not {f.name for f in FUNCTIONS} & {f.name for f in valid.functions()}


REFUSED = {
    # the answer to a valid call, where that is not success
    "zeKernelSetArgumentValue": ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX,
}
ENDS = {
    "zeModuleCreate": ("phModule", ze.zeModuleDestroy),
    "zeKernelCreate": ("phKernel", ze.zeKernelDestroy),
    "zeModuleInspectLinkageExt": ("phLog", ze.zeModuleBuildLogDestroy),
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: str(function.name))
def test_a_valid_call_is_accepted(calls: KernelCalls, function: Function) -> None:
    call = calls.of(function, fresh=True)
    result = call.run()
    assert result == REFUSED.get(function.name, ze.ZE_RESULT_SUCCESS), last_error()
    if function.name in ENDS:
        name, ending = ENDS[function.name]
        check(ending(call.arguments[name][0]))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: str(function.name))
def test_each_spoilt_argument_is_refused(calls: KernelCalls, function: Function) -> None:
    for each in checks_of(function):
        if each.kind is CheckKind.INITIALISED:
            continue
        for how, call in spoilt(each, function, calls):
            before = live_objects()
            result = call.run()
            assert ze.ze_result_t(result).name == each.result, f"{how}: {last_error()}"
            assert function.name in last_error(), how
            assert live_objects() == before, how
