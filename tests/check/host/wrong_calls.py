"""Programs that are wrong in one way each, which is seen in the call."""

from __future__ import annotations

import ctypes
import os

from groundstate import ze
from groundstate.compiler.opencl import frontend
from tests.check.host.cases import Cases, bench, copy_kernel
from tests.conftest import check
from tests.driver.graphs.graphs import append, instantiate, recorded
from tests.driver.kernels import KernelBench, group_count, launch
from tests.driver.support import (
    FOREVER,
    barrier,
    close_list,
    copy,
    finish,
    finish_queue,
    handles,
    submit,
)

CASES = Cases()
expect = CASES.expect


# --- Lives of objects -------------------------------------------------------------------------


@expect("use-after-destroy")
def ask_a_destroyed_event(made: KernelBench) -> None:
    event = made.event_in(made.pool())
    made.end(event)
    ze.zeEventQueryStatus(event)


@expect("use-after-destroy")
def wait_for_a_destroyed_event(made: KernelBench) -> None:
    event = made.event_in(made.pool())
    made.end(event)
    ze.zeCommandListAppendBarrier(made.immediate(), None, 1, handles(event))


@expect("use-after-destroy")
def close_a_destroyed_list(made: KernelBench) -> None:
    commands = made.list()
    made.end(commands)
    ze.zeCommandListClose(commands)


@expect("use-after-destroy")
def submit_to_a_destroyed_queue(made: KernelBench) -> None:
    queue, commands = made.queue(), close_list(made.list())
    made.end(queue)
    ze.zeCommandQueueExecuteCommandLists(queue, 1, handles(commands), None)


@expect("double-destroy")
def destroy_an_event_twice(made: KernelBench) -> None:
    event = made.event_in(made.pool())
    made.end(event)
    ze.zeEventDestroy(event)


@expect("double-destroy")
def destroy_a_kernel_twice(made: KernelBench) -> None:
    kernel = copy_kernel(made)
    made.end(kernel)
    ze.zeKernelDestroy(kernel)


@expect("invalid-handle")
def pass_a_fence_as_an_event(made: KernelBench) -> None:
    ze.zeEventQueryStatus(made.fence(made.queue()))


@expect("invalid-handle")
def pass_a_number_as_an_event(made: KernelBench) -> None:
    ze.zeEventQueryStatus(0x1234)


# --- Destroyed while in use -------------------------------------------------------------------


def let_through(gate: int, done: int) -> None:
    """The end of a queue that nobody can wait for any more."""
    check(ze.zeEventHostSignal(gate))
    check(ze.zeEventHostSynchronize(done, FOREVER))


@expect("destroy-while-in-use")
def destroy_a_busy_queue(made: KernelBench) -> None:
    queue, commands, (gate, done) = made.queue(), made.list(), made.events(2)
    barrier(commands, signal=done, waits=[gate])
    submit(queue, close_list(commands))
    made.end(queue)
    let_through(gate, done)


@expect("destroy-while-in-use")
def destroy_a_busy_immediate_list(made: KernelBench) -> None:
    commands, (gate, done) = made.immediate(), made.events(2)
    barrier(commands, signal=done, waits=[gate])
    made.end(commands)
    let_through(gate, done)


@expect("destroy-while-in-use")
def destroy_a_list_that_runs(made: KernelBench) -> None:
    commands = made.list()
    barrier(commands, waits=[made.event()])
    submit(made.queue(), close_list(commands))
    made.end(commands)


@expect("destroy-while-in-use")
def destroy_an_event_that_is_waited_for(made: KernelBench) -> None:
    event, gate = made.events(2)
    barrier(made.immediate(), waits=[event, gate])
    check(ze.zeEventHostSignal(event))
    made.end(event)


@expect("destroy-while-in-use")
def destroy_a_fence_that_is_to_come(made: KernelBench) -> None:
    queue, commands = made.queue(), made.list()
    fence = made.fence(queue)
    barrier(commands, waits=[made.event()])
    submit(queue, close_list(commands), fence=fence)
    made.end(fence)


@expect("destroy-while-in-use")
def release_a_semaphore_that_is_waited_for(made: KernelBench) -> None:
    counter = os.eventfd(0)
    chained = ze.ze_external_semaphore_fd_ext_desc_t(fd=counter)
    description = ze.ze_external_semaphore_ext_desc_t(
        flags=ze.ZE_EXTERNAL_SEMAPHORE_EXT_FLAG_OPAQUE_FD, pNext=ctypes.addressof(chained)
    )
    semaphore = made._made(
        ze.zeDeviceReleaseExternalSemaphoreExt,
        ze.zeDeviceImportExternalSemaphoreExt,
        made.device,
        ctypes.byref(description),
    )
    parameters = ze.ze_external_semaphore_wait_params_ext_t()
    check(
        ze.zeCommandListAppendWaitExternalSemaphoreExt(
            made.immediate(), 1, handles(semaphore), ctypes.byref(parameters), None, 0, None
        )
    )
    made.end(semaphore)
    os.eventfd_write(counter, 1)
    os.close(counter)


@expect("destroy-while-in-use")
def destroy_a_graph_that_runs(made: KernelBench) -> None:
    commands = made.immediate()
    with recorded(made, commands) as recording:
        barrier(commands, waits=[made.event()])
    executable = instantiate(made, recording.graph)
    check(append(commands, executable))
    made.end(executable)


@expect("destroy-while-in-use")
def destroy_a_busy_context(made: KernelBench) -> None:
    with bench() as other:
        barrier(other.immediate(), waits=[other.event()])
        other.end(other.context)


@expect("destroy-before-children")
def destroy_a_graph_before_its_executable(made: KernelBench) -> None:
    commands = made.immediate()
    with recorded(made, commands) as recording:
        barrier(commands)
    instantiate(made, recording.graph)
    made.end(recording.graph)


@expect("destroy-before-children")
def destroy_a_pool_before_its_event(made: KernelBench) -> None:
    pool = made.pool()
    made.event_in(pool)
    made.end(pool)


@expect("destroy-before-children")
def destroy_a_queue_before_its_fence(made: KernelBench) -> None:
    queue = made.queue()
    made.fence(queue)
    made.end(queue)


@expect("destroy-before-children")
def destroy_a_module_before_its_kernel(made: KernelBench) -> None:
    copy_kernel(made)
    module = next(handle for handle, end in made._endings.items() if end is ze.zeModuleDestroy)
    made.end(module)


# --- Memory -----------------------------------------------------------------------------------


@expect("double-free")
def free_twice(made: KernelBench) -> None:
    memory = made.local(4096)
    made.end(memory)
    ze.zeMemFree(made.context, memory)


@expect("invalid-free")
def free_the_middle(made: KernelBench) -> None:
    ze.zeMemFree(made.context, made.local(4096) + 64)


@expect("free-while-in-use")
def free_what_a_copy_reads(made: KernelBench) -> None:
    to, source = made.local(4096), made.local(4096)
    copy(made.immediate(), to, source, 4096, waits=[made.event()])
    made.end(source)


@expect("free-while-in-use")
def free_what_a_list_writes(made: KernelBench) -> None:
    to, source, commands = made.local(4096), made.local(4096), made.list()
    barrier(commands, waits=[made.event()])
    copy(commands, to, source, 4096)
    submit(made.queue(), close_list(commands))
    made.end(to)


@expect("free-while-in-use")
def free_what_a_kernel_uses(made: KernelBench) -> None:
    to, source = made.local(4096), made.local(4096)
    launch(made.immediate(), copy_kernel(made, to, source), 1, waits=[made.event()])
    made.end(source)


@expect("freed-memory-argument")
def launch_with_freed_memory(made: KernelBench) -> None:
    to, source, commands = made.shared(4096), made.shared(4096), made.immediate()
    kernel = copy_kernel(made, to, source)
    made.end(source)
    launch(commands, kernel, 0)
    finish(commands)


@expect("freed-memory-argument")
def execute_a_list_with_freed_memory(made: KernelBench) -> None:
    to, source, commands, queue = made.local(4096), made.local(4096), made.list(), made.queue()
    launch(commands, copy_kernel(made, to, source), 0)
    close_list(commands)
    made.end(to)
    submit(queue, commands)
    finish_queue(queue)


@expect("wild-pointer-argument")
def launch_with_a_wild_pointer(made: KernelBench) -> None:
    commands = made.immediate()
    launch(commands, copy_kernel(made, 0x10, made.local(64)), 0)
    finish(commands)


@expect("foreign-memory-argument")
def launch_with_memory_of_another_context(made: KernelBench) -> None:
    with bench() as other:
        commands = made.immediate()
        launch(commands, copy_kernel(made, other.local(64), made.local(64)), 0)
        finish(commands)


@expect("unset-argument")
def launch_without_an_argument(made: KernelBench) -> None:
    kernel = copy_kernel(made, made.local(64))
    ze.zeCommandListAppendLaunchKernel(
        made.immediate(), kernel, ctypes.byref(group_count(1)), None, 0, None
    )


@expect("short-argument")
def set_a_short_for_an_int(made: KernelBench) -> None:
    source = "kernel void fill(global int *out, int value) { out[get_global_id(0)] = value; }"
    kernel = made.kernel_in(made.module_of(frontend.compile_opencl(source)), "fill", size=(4, 1, 1))
    ze.zeKernelSetArgumentValue(kernel, 1, 2, ctypes.byref(ctypes.c_int16(7)))


# --- Lists ------------------------------------------------------------------------------------


@expect("append-to-closed-list")
def append_to_a_closed_list(made: KernelBench) -> None:
    ze.zeCommandListAppendBarrier(close_list(made.list()), None, 0, None)


@expect("open-list-execution")
def execute_an_open_list(made: KernelBench) -> None:
    ze.zeCommandQueueExecuteCommandLists(made.queue(), 1, handles(made.list()), None)


@expect("list-reset-while-running")
def reset_a_list_that_runs(made: KernelBench) -> None:
    commands = made.list()
    barrier(commands, waits=[made.event()])
    submit(made.queue(), close_list(commands))
    check(ze.zeCommandListReset(commands))


@expect("list-on-two-queues")
def execute_a_list_on_two_queues(made: KernelBench) -> None:
    commands = made.list()
    barrier(commands, waits=[made.event()])
    submit(made.queue(), close_list(commands))
    submit(made.queue(), commands)


@expect("list-change-while-running")
def change_a_list_that_runs(made: KernelBench) -> None:
    mutable = ze.ze_mutable_command_list_exp_desc_t()
    description = ze.ze_command_list_desc_t(pNext=ctypes.addressof(mutable))
    commands = made._made(
        ze.zeCommandListDestroy,
        ze.zeCommandListCreate,
        made.context,
        made.device,
        ctypes.byref(description),
    )
    command = ctypes.c_uint64()
    wanted = ze.ze_mutable_command_id_exp_desc_t(flags=ze.ZE_MUTABLE_COMMAND_EXP_FLAG_WAIT_EVENTS)
    check(
        ze.zeCommandListGetNextCommandIdExp(commands, ctypes.byref(wanted), ctypes.byref(command))
    )
    first, second = made.events(2)
    barrier(commands, waits=[first])
    submit(made.queue(), close_list(commands))
    ze.zeCommandListUpdateMutableCommandWaitEventsExp(commands, command, 1, handles(second))


if __name__ == "__main__":
    CASES.run_one_by_one()
