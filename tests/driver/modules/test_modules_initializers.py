"""Initializers of strangers: one that faults or never ends costs its context, not the program."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """if True:
    import ctypes, sys
    from groundstate import ze
    from tests.compiler.random.fuzz_driver import Builder, kernel_names
    from tests.compiler.spirv.hostile_modules import module
    body = {
        "null": "%p = OpConvertUToPtr %ptr %wide_zero\\nOpStore %p %one Aligned 4",
        "endless": "OpBranch %again\\n%again = OpLabel\\nOpBranch %again\\n%never = OpLabel",
        "good": "OpStore %total %one Aligned 4",
        "arguments": "",
    }[sys.argv[1]]
    kind = "%plain" if sys.argv[1] == "arguments" else "%nothing"
    takes = "%given = OpFunctionParameter %ptr" if sys.argv[1] == "arguments" else ""
    data = module(
        "OpStore %out %one Aligned 4",
        "%nothing = OpTypeFunction %void\\n%total = OpVariable %ptr CrossWorkgroup %one\\n",
        "OpExecutionMode %first Initializer",
        f"%first = OpFunction %void None {kind}\\n{takes}\\n%start = OpLabel\\n{body}\\n"
        "OpReturn\\nOpFunctionEnd",
    )
    builder = Builder()
    words = (ctypes.c_uint8 * len(data)).from_buffer_copy(data)
    description = ze.ze_module_desc_t(
        format=ze.ZE_MODULE_FORMAT_IL_SPIRV,
        inputSize=len(data),
        pInputModule=ctypes.addressof(words),
    )
    made, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    place = ctypes.byref(description), ctypes.byref(made), None
    assert not ze.zeModuleCreate(builder.context, builder.device, *place)
    wanted = ze.ze_kernel_desc_t(pKernelName=b"k")
    result = ze.zeKernelCreate(made, ctypes.byref(wanted), ctypes.byref(kernel))
    print(ze.ze_result_t(result).name)
    print(builder.last_error() if result else "")
"""


@pytest.mark.parametrize(
    ("kind", "result", "words"),
    [
        ("good", "ZE_RESULT_SUCCESS", ""),
        ("null", "ZE_RESULT_ERROR_DEVICE_LOST", "the context was lost in"),
        ("endless", "ZE_RESULT_ERROR_DEVICE_LOST", "the context was lost in"),
        ("arguments", "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE", "takes no arguments"),
    ],
)
def test_initializer(kind: str, result: str, words: str) -> None:
    expect(kind, result, words)


def test_initializer_in_checked_mode() -> None:
    expect("good", "ZE_RESULT_SUCCESS", "", GROUNDSTATE_CHECK="memory,races,sync")


def expect(kind: str, result: str, words: str, **settings: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, kind],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GROUNDSTATE_KERNEL_LIMIT": "500ms", **settings},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == result
    assert words in done.stdout
