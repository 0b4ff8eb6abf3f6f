"""Mutable command lists: short ways to make, change and run them."""

from __future__ import annotations

import ctypes
from typing import Any

from groundstate import ze
from tests.conftest import check
from tests.driver.kernels import KernelBench, group_count
from tests.driver.support import finish_queue, handles, submit

ALL_BUT_KERNELS = 0
KERNELS = ze.ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION
INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


def mutable(bench: KernelBench, flags: int = 0) -> int:
    """A mutable list."""
    chained = ze.ze_mutable_command_list_exp_desc_t()
    description = ze.ze_command_list_desc_t(flags=flags, pNext=ctypes.addressof(chained))
    return bench._made(
        ze.zeCommandListDestroy,
        ze.zeCommandListCreate,
        bench.context,
        bench.device,
        ctypes.byref(description),
    )


def next_id(commands: int, flags: int = ALL_BUT_KERNELS, kernels: tuple[int, ...] = ()) -> int:
    """The name of the command that is appended next."""
    identifier = ctypes.c_uint64()
    description = ctypes.byref(ze.ze_mutable_command_id_exp_desc_t(flags=flags))
    if kernels:
        check(
            ze.zeCommandListGetNextCommandIdWithKernelsExp(
                commands, description, len(kernels), handles(*kernels), ctypes.byref(identifier)
            )
        )
    else:
        check(ze.zeCommandListGetNextCommandIdExp(commands, description, ctypes.byref(identifier)))
    return identifier.value


def update(commands: int, *changes: Any) -> int:
    """Changes commands as a chain of structs says. Answers the result."""
    following = None
    for change in reversed(changes):
        change.pNext = ctypes.addressof(following) if following is not None else None
        following = change
    description = ze.ze_mutable_commands_exp_desc_t(
        pNext=ctypes.addressof(following) if following is not None else None
    )
    return int(ze.zeCommandListUpdateMutableCommandsExp(commands, ctypes.byref(description)))


def argument(command: int, index: int, value: Any) -> Any:
    """A change of a pointer argument to the address of an array."""
    word = ctypes.c_uint64(value.ctypes.data)
    change = ze.ze_mutable_kernel_argument_exp_desc_t(
        commandId=command, argIndex=index, argSize=8, pArgValue=ctypes.addressof(word)
    )
    change.word = word
    return change


def counts(command: int, *groups: int) -> Any:
    count = group_count(*groups)
    change = ze.ze_mutable_group_count_exp_desc_t(
        commandId=command, pGroupCount=ctypes.addressof(count)
    )
    change.count = count
    return change


def run(queue: int, commands: int) -> None:
    check(ze.zeCommandListClose(commands))
    submit(queue, commands)
    finish_queue(queue)
