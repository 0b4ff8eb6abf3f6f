"""IPC between several real processes: how handles travel, who may open them, and who may die."""

import ctypes
import itertools
import mmap
import os
import signal
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.processes import (
    close_memory,
    finished,
    line,
    memory_handle,
    open_memory,
    open_pool,
    pool_handle,
    run,
    start,
    tell,
)
from tests.driver.support import FOREVER, MILLISECOND, Bench, address, barrier, copy, finish, view

INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
SHARED_POOL = ze.ZE_EVENT_POOL_FLAG_IPC | ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE

# --- How a handle travels -------------------------------------------------------------------------

RECEIVE = """
memory = open_memory(bench, ze.ze_ipc_mem_handle_t.from_buffer_copy(content))
view(memory, 4096)[:] += 1
close_memory(bench, memory)
bench.close()
"""


def send_by_pipe(content: bytes) -> None:
    reader, writer = os.pipe()
    os.write(writer, content)
    program = "content = os.read(int(sys.argv[1]), 64)\n" + RECEIVE
    run(program, str(reader), pass_fds=[reader])
    os.close(reader)
    os.close(writer)


def send_by_socket(content: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(content)
        program = "content = socket.socket(fileno=int(sys.argv[1])).recv(64)\n" + RECEIVE
        run(program, str(theirs.fileno()), pass_fds=[theirs.fileno()])


def send_by_file(content: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        run("content = open(sys.argv[1], 'rb').read()\n" + RECEIVE, file.name)


@pytest.mark.parametrize("send", [send_by_pipe, send_by_socket, send_by_file])
def test_the_bytes_of_a_handle_are_enough(bench: Bench, send: Callable[[bytes], None]) -> None:
    """No descriptor has to be sent along: the child inherits none, and opens the memory."""
    memory = view(bench.local(4096), 4096)
    memory[:] = 7
    handle = bytes(memory_handle(bench, address(memory)))
    assert len(handle) == 64
    send(handle)
    assert (memory == 8).all()


# --- Several processes at once --------------------------------------------------------------------


def test_several_importers_share_memory_at_once(bench: Bench) -> None:
    """Each opens memory and pool, waits on its device for the exporter's event, and signals."""
    count, part = 4, 1 << 16
    memory = bench.bytes(count * part, fill=1)
    pool = bench.pool(count + 1, SHARED_POOL)
    go = bench.event_in(pool, count)
    done = [bench.event_in(pool, index) for index in range(count)]
    handles = memory_handle(bench, address(memory)), pool_handle(pool)
    children = [
        start(
            f"""
index, part = {index}, {part}
memory = open_memory(bench, handle(ze.ze_ipc_mem_handle_t))
pool = open_pool(bench, ze.ze_ipc_event_pool_handle_t.from_buffer_copy(bytes.fromhex(sys.argv[2])))
go, done = bench.event_in(pool, {count}), bench.event_in(pool, index)
commands = bench.immediate()
fill(commands, memory + index * part, bytes([10 + index]), part, signal=done, waits=[go])
say("ready")
finish(commands)
close_memory(bench, memory)
bench.close()
""",
            *handles,
        )
        for index in range(count)
    ]
    assert [line(child) for child in children] == ["ready"] * count
    assert (memory == 1).all()
    check(ze.zeEventHostSignal(go))
    for event in done:
        check(ze.zeEventHostSynchronize(event, FOREVER))
    assert [memory[index * part] for index in range(count)] == [10, 11, 12, 13]
    assert [memory[(index + 1) * part - 1] for index in range(count)] == [10, 11, 12, 13]
    for child in children:
        finished(child)


EXPORTER = """
memory = bench.local(1 << 20)
view(memory, 1 << 20)[:] = 5
shared = memory_handle(bench, memory)
say(bytes(shared).hex())
input()
"""


def received(text: str) -> "ze.ze_ipc_mem_handle_t":
    return ze.ze_ipc_mem_handle_t.from_buffer_copy(bytes.fromhex(text))


def use(bench: Bench, pointer: int, size: int) -> None:
    """Reads and writes memory with a command list."""
    target = bench.bytes(size, fill=0)
    commands = bench.immediate()
    copy(commands, address(target), pointer, size)
    finish(commands)
    assert (target == 5).all()
    copy(commands, pointer, address(target), size)
    finish(commands)


@pytest.mark.parametrize(
    "end",
    [
        "check(ze.zeMemPutIpcHandle(bench.context, shared))",
        "bench.end(memory)",
        "check(ze.zeMemPutIpcHandle(bench.context, shared)); bench.end(memory); bench.close()",
        "os._exit(0)",
        "os.kill(os.getpid(), signal.SIGKILL)",
    ],
    ids=["puts", "frees", "closes all", "exits", "is killed"],
)
def test_importer_goes_on_whatever_exporter_does(bench: Bench, end: str) -> None:
    before = shared_mappings()
    child = start(EXPORTER + end + "\nsay('done')\n")
    pointer = open_memory(bench, received(line(child)))
    tell(child)
    child.communicate(timeout=60)
    use(bench, pointer, 1 << 20)
    close_memory(bench, pointer)
    assert shared_mappings() == before, "the last one has let go of the memory"


def shared_mappings() -> list[str]:
    """What this process has mapped of memory files of the driver."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return sorted(text.split()[-1] for text in maps if "memfd:groundstate" in text)


def test_an_importer_that_is_killed_harms_nobody(bench: Bench) -> None:
    """It dies while its thread sleeps on the shared event and its device waits to write."""
    pool, memory = bench.pool(2, SHARED_POOL), bench.bytes(1 << 16, fill=3)
    go, done = bench.event_in(pool, 0), bench.event_in(pool, 1)
    handles = memory_handle(bench, address(memory)), pool_handle(pool)
    program = """
memory = open_memory(bench, handle(ze.ze_ipc_mem_handle_t))
pool = open_pool(bench, ze.ze_ipc_event_pool_handle_t.from_buffer_copy(bytes.fromhex(sys.argv[2])))
go, done = bench.event_in(pool, 0), bench.event_in(pool, 1)
commands = bench.immediate()
fill(commands, memory, b"\\x04", 1 << 16, signal=done, waits=[go])
say("ready")
check(ze.zeEventHostSynchronize(done, FOREVER))
close_memory(bench, memory)
bench.close()
"""
    killed, other = start(program, *handles), start(program, *handles)
    assert (line(killed), line(other)) == ("ready", "ready")
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)
    assert ze.zeEventHostSynchronize(done, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    assert (memory == 3).all()
    check(ze.zeEventHostSignal(go))
    check(ze.zeEventHostSynchronize(done, FOREVER))
    assert (memory == 4).all()
    finished(other)


def test_processes_leave_no_files(bench: Bench) -> None:
    before = {entry for entry in os.listdir("/dev/shm") if "groundstate" in entry}
    child = start(EXPORTER)
    line(child)
    child.kill()
    child.communicate(timeout=60)
    assert {entry for entry in os.listdir("/dev/shm") if "groundstate" in entry} == before


# --- Order ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(itertools.permutations(["put", "close", "free"])))
def test_put_close_and_free_in_any_order(bench: Bench, order: tuple[str, ...]) -> None:
    memory = bench.forget(bench.local(4096))
    view(memory, 4096)[:] = 5
    handle = memory_handle(bench, memory)
    opened = open_memory(bench, handle)
    left = {"close", "free"}
    for step in order:
        if step == "put":
            check(ze.zeMemPutIpcHandle(bench.context, handle))
        elif step == "close":
            close_memory(bench, opened)
        else:
            check(ze.zeMemFree(bench.context, memory))
        left -= {step}
        if "close" in left:
            use(bench, opened, 4096)
        if "free" in left:
            use(bench, memory, 4096)


def test_event_pool_outlives_its_maker(bench: Bench) -> None:
    child = start("""
pool = bench.pool(2, ze.ZE_EVENT_POOL_FLAG_IPC)
check(ze.zeEventHostSignal(bench.event_in(pool, 1)))
say(bytes(pool_handle(pool)).hex())
input()
bench.close()
""")
    text = line(child)
    handle = ze.ze_ipc_event_pool_handle_t.from_buffer_copy(bytes.fromhex(text))
    pool = open_pool(bench, handle)
    finished(child, "\n")
    waiting, signalled = bench.event_in(pool, 0), bench.event_in(pool, 1)
    check(ze.zeEventHostSynchronize(signalled, FOREVER))
    commands = bench.immediate()
    barrier(commands, signal=waiting, waits=[signalled])
    check(ze.zeEventHostSynchronize(waiting, FOREVER))
    opened = ctypes.c_void_p()
    result = ze.zeEventPoolOpenIpcHandle(bench.context, handle, ctypes.byref(opened))
    assert result == INVALID, "nobody has the file any more whom the handle names"
    check(ze.zeEventPoolPutIpcHandle(bench.context, handle))


def test_ipc_memory_closes_only_in_own_context(bench: Bench) -> None:
    other = Bench(bench.driver, bench.device)
    pointer = open_memory(bench, memory_handle(bench, bench.local(4096)))
    assert ze.zeMemCloseIpcHandle(other.context, pointer) == INVALID
    assert "zeMemCloseIpcHandle" in last_error()
    close_memory(bench, pointer)
    assert ze.zeMemCloseIpcHandle(bench.context, pointer) == INVALID
    other.close()


def test_memory_that_was_opened_is_passed_on(bench: Bench) -> None:
    """The second process makes a handle of its own, which does not need the first."""
    memory = bench.bytes(4096, fill=5)
    opened = open_memory(bench, memory_handle(bench, address(memory)))
    handle = memory_handle(bench, opened)
    bench.end(address(memory))
    again = open_memory(bench, handle)
    use(bench, again, 4096)
    close_memory(bench, opened)
    close_memory(bench, again)


# --- Counter-based events -------------------------------------------------------------------------

SIGNALLER = """
check(ze.zeEventCounterBasedOpenIpcHandle(
    bench.context, handle(ze.ze_ipc_event_counter_based_handle_t), ctypes.byref(opened)))
go = bench.event()
commands = bench.immediate(in_order=True)
barrier(commands, signal=opened.value, waits=[go])
say("enqueued")
input()
check(ze.zeEventHostSignal(go))
finish(commands)
check(ze.zeEventCounterBasedCloseIpcHandle(opened))
bench.close()
"""


def test_importers_signal_a_counter_based_event(bench: Bench) -> None:
    """The last signal that was enqueued counts; one whose process was killed never comes."""
    flags = ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ze.ZE_EVENT_COUNTER_BASED_FLAG_IPC
    event = bench.counter_event(flags)
    handle = ze.ze_ipc_event_counter_based_handle_t()
    check(ze.zeEventCounterBasedGetIpcHandle(event, ctypes.byref(handle)))
    killed = start(SIGNALLER, handle)
    assert line(killed) == "enqueued"
    assert ze.zeEventHostSynchronize(event, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    killed.kill()
    killed.communicate(timeout=60)
    assert ze.zeEventQueryStatus(event) == ze.ZE_RESULT_NOT_READY
    others = [start(SIGNALLER, handle), start(SIGNALLER, handle)]
    assert [line(child) for child in others] == ["enqueued"] * 2
    for child in others:
        finished(child, "\n")
    check(ze.zeEventHostSynchronize(event, FOREVER))
    commands = bench.immediate(in_order=True)
    barrier(commands, signal=event)
    check(ze.zeEventHostSynchronize(event, FOREVER))


def test_a_lost_context_closes_what_was_opened(bench: Bench) -> None:
    """Memory, pools and events of others go with it; their owners keep them."""
    memory, pool = bench.bytes(4096, fill=5), bench.pool(1, SHARED_POOL)
    flags = ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ze.ZE_EVENT_COUNTER_BASED_FLAG_IPC
    counted = ze.ze_ipc_event_counter_based_handle_t()
    check(ze.zeEventCounterBasedGetIpcHandle(bench.counter_event(flags), ctypes.byref(counted)))
    other = Bench(bench.driver, bench.device)
    open_memory(other, memory_handle(bench, address(memory)))
    other.event_in(open_pool(other, pool_handle(pool)))
    opened = ctypes.c_void_p()
    check(ze.zeEventCounterBasedOpenIpcHandle(other.context, counted, ctypes.byref(opened)))
    nowhere, commands = 1 << 20, other.immediate()
    ze.zeCommandListAppendMemoryFill(commands, nowhere, b"x", 1, 16, None, 0, None)
    ze.zeCommandListHostSynchronize(commands, FOREVER)
    assert ze.zeContextGetStatus(other.context) == ze.ZE_RESULT_ERROR_DEVICE_LOST
    check(ze.zeContextDestroy(other.context))
    assert (memory == 5).all()
    check(ze.zeEventHostSignal(bench.event_in(pool)))


# --- Who may open a handle ------------------------------------------------------------------------

REFUSED = """
pointer = ctypes.c_void_p()
result = ze.zeMemOpenIpcHandle(bench.context, device, shared, 0, ctypes.byref(pointer))
assert result == ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, (hex(result), last_error())
assert pointer.value is None
assert "same user" in last_error()
pool = ze.ze_ipc_event_pool_handle_t.from_buffer_copy(bytes.fromhex(sys.argv[2]))
result = ze.zeEventPoolOpenIpcHandle(bench.context, pool, ctypes.byref(pointer))
assert result == ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, (hex(result), last_error())
"""

HIDE = "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: others may not look inside\n"

NOBODY = 65534


def test_non_dumpable_process_shares_nothing(bench: Bench) -> None:
    """What the system does between users it also does for such a process."""
    drop = f"os.setgid({NOBODY}); os.setuid({NOBODY})\n" if os.getuid() == 0 else ""
    child = start(f"""
{drop}{HIDE}
say(bytes(memory_handle(bench, bench.host(4096))).hex())
say(bytes(pool_handle(bench.pool(1, ze.ZE_EVENT_POOL_FLAG_IPC))).hex())
input()
bench.close()
""")
    shared, pool = line(child), line(child)
    program = f"{drop}shared = handle(ze.ze_ipc_mem_handle_t)\n{REFUSED}\nbench.close()\n"
    run(
        program,
        received(shared),
        ze.ze_ipc_event_pool_handle_t.from_buffer_copy(bytes.fromhex(pool)),
    )
    finished(child, "\n")


def test_another_user_cannot_open_a_handle(bench: Bench) -> None:
    if os.getuid() != 0:
        return  # only root can become somebody else; the test above is for all
    memory = bench.bytes(4096, fill=5)
    pool = bench.pool(1, SHARED_POOL)
    program = f"""
os.setgid({NOBODY})
os.setuid({NOBODY})
shared = handle(ze.ze_ipc_mem_handle_t)
{REFUSED}
bench.close()
"""
    run(program, memory_handle(bench, address(memory)), pool_handle(pool))
    assert (memory == 5).all()


def test_descriptor_sent_over_socket_opens_handle(bench: Bench) -> None:
    """Programs written for GPUs send the descriptor, and write its new number into the handle.

    That is a permission of its own: the receiver need not be able to look into the sender.
    """
    memory = bench.bytes(4096, fill=5)
    handle = bytes(memory_handle(bench, address(memory)))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        socket.send_fds(ours, [handle], [int.from_bytes(handle[:4], "little")])
        drop = f"os.setgid({NOBODY}); os.setuid({NOBODY})" if os.getuid() == 0 else ""
        run(
            f"""
{drop}
content, fds, _, _ = socket.recv_fds(socket.socket(fileno=int(sys.argv[1])), 64, 1)
content = fds[0].to_bytes(4, "little") + content[4:]
memory = open_memory(bench, ze.ze_ipc_mem_handle_t.from_buffer_copy(content))
view(memory, 4096)[:] += 1
close_memory(bench, memory)
bench.close()
""",
            str(theirs.fileno()),
            pass_fds=[theirs.fileno()],
        )
    assert (memory == 6).all()


def test_descriptor_alone_opens_memory(bench: Bench) -> None:
    """oneCCL sends a descriptor, and makes the handle of that and of zeros."""
    memory = bench.bytes(4096, fill=5)
    handle = bytes(memory_handle(bench, address(memory)))
    received = os.dup(int.from_bytes(handle[:4], "little"))
    bare = received.to_bytes(4, "little").ljust(64, b"\0")
    opened = open_memory(bench, ze.ze_ipc_mem_handle_t.from_buffer_copy(bare))
    os.close(received)
    view(opened, 4096)[:] += 1
    assert (memory == 6).all()
    close_memory(bench, opened)


def test_descriptor_of_another_file_opens_nothing(bench: Bench, tmp_path: Path) -> None:
    foreign = os.memfd_create("groundstate-" + 32 * "0")
    os.truncate(foreign, 4096)
    file = os.open(tmp_path, os.O_RDONLY)
    for fd in (0, foreign, file, 12345, 2**31 - 1):
        bare = fd.to_bytes(4, "little").ljust(64, b"\0")
        pointer = ctypes.c_void_p()
        result = ze.zeMemOpenIpcHandle(
            bench.context,
            bench.device,
            ze.ze_ipc_mem_handle_t.from_buffer_copy(bare),
            0,
            ctypes.byref(pointer),
        )
        assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    os.close(foreign)
    os.close(file)


def test_sharing_costs_only_written_pages(bench: Bench) -> None:
    size = 512 << 20  # more than is kept when it is freed, so that nobody has written there before
    pointer = bench.local(size)
    view(pointer + size // 2, 1)[0] = 9
    handle = memory_handle(bench, pointer)
    opened = open_memory(bench, handle)
    assert view(opened + size // 2, 2).tolist() == [9, 0]
    number = ctypes.c_uint64()
    check(ze.zeMemGetFileDescriptorFromIpcHandleExp(bench.context, handle, ctypes.byref(number)))
    assert os.fstat(number.value).st_blocks * 512 <= 1 << 20
    close_memory(bench, opened)


def test_nobody_can_shrink_memory_that_others_use(bench: Bench) -> None:
    memory = bench.bytes(8192, fill=5)
    number = ctypes.c_uint64()
    check(
        ze.zeMemGetFileDescriptorFromIpcHandleExp(
            bench.context, memory_handle(bench, address(memory)), ctypes.byref(number)
        )
    )
    for size in (0, 4096, 1 << 20):
        with pytest.raises(PermissionError):
            os.ftruncate(number.value, size)
    assert (memory == 5).all()


def test_reused_descriptor_number_is_not_opened(bench: Bench) -> None:
    """The descriptor of freed memory is used again by the program, for a pipe."""
    handle = memory_handle(bench, (pointer := bench.local(4096)))
    fd = int.from_bytes(bytes(handle)[:4], "little")
    bench.end(pointer)
    reader, writer = os.pipe()
    os.dup2(reader, fd)
    opened = ctypes.c_void_p()
    result = ze.zeMemOpenIpcHandle(bench.context, bench.device, handle, 0, ctypes.byref(opened))
    assert result == INVALID
    assert "was freed" in last_error()
    for each in {reader, writer, fd}:
        os.close(each)


# --- Handle types ---------------------------------------------------------------------------------


def test_handle_types(bench: Bench) -> None:
    handle, memory = ze.ze_ipc_mem_handle_t(), bench.local(4096)
    wanted = ze.ze_ipc_mem_handle_type_ext_desc_t()
    for flags, expected in (
        (0, ze.ZE_RESULT_SUCCESS),
        (ze.ZE_IPC_MEM_HANDLE_TYPE_FLAG_DEFAULT, ze.ZE_RESULT_SUCCESS),
        (
            ze.ZE_IPC_MEM_HANDLE_TYPE_FLAG_FABRIC_ACCESSIBLE,
            ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
        ),
    ):
        wanted.typeFlags = flags
        result = ze.zeMemGetIpcHandleWithProperties(
            bench.context, memory, ctypes.addressof(wanted), ctypes.byref(handle)
        )
        assert result == expected
        assert allocation_with(bench, wanted) == expected
        assert physical_with(bench, wanted) == expected
    properties = ze.ze_driver_ipc_properties_t()
    check(ze.zeDriverGetIpcProperties(bench.driver, ctypes.byref(properties)))
    assert not properties.flags & ze.ZE_IPC_PROPERTY_FLAG_FABRIC_ACCESSIBLE
    assert properties.flags & ze.ZE_IPC_PROPERTY_FLAG_MEMORY


def allocation_with(bench: Bench, chained: ctypes.Structure) -> int:
    pointer = ctypes.c_void_p()
    description = ze.ze_host_mem_alloc_desc_t(pNext=ctypes.addressof(chained))
    result = ze.zeMemAllocHost(
        bench.context, ctypes.byref(description), mmap.PAGESIZE, 0, ctypes.byref(pointer)
    )
    if result == ze.ZE_RESULT_SUCCESS:
        check(ze.zeMemFree(bench.context, pointer))
    return int(result)


def physical_with(bench: Bench, chained: ctypes.Structure) -> int:
    made = ctypes.c_void_p()
    description = ze.ze_physical_mem_desc_t(pNext=ctypes.addressof(chained), size=mmap.PAGESIZE)
    result = ze.zePhysicalMemCreate(
        bench.context, bench.device, ctypes.byref(description), ctypes.byref(made)
    )
    if result == ze.ZE_RESULT_SUCCESS:
        check(ze.zePhysicalMemDestroy(bench.context, made))
    return int(result)


def test_other_process_opens_physical_memory(bench: Bench) -> None:
    """Through its handle, without an address in this process."""
    made = ctypes.c_void_p()
    description = ze.ze_physical_mem_desc_t(size=2 * mmap.PAGESIZE)
    check(
        ze.zePhysicalMemCreate(
            bench.context, bench.device, ctypes.byref(description), ctypes.byref(made)
        )
    )
    handle = memory_handle(bench, made.value or 0)
    run(
        """
memory = open_memory(bench, handle(ze.ze_ipc_mem_handle_t))
import mmap
view(memory, 2 * mmap.PAGESIZE)[:] = 9
close_memory(bench, memory)
bench.close()
""",
        handle,
    )
    opened = open_memory(bench, handle)
    assert (view(opened, 2 * mmap.PAGESIZE) == 9).all()
    close_memory(bench, opened)
    check(ze.zePhysicalMemDestroy(bench.context, made))
