"""How `gs.Memory` travels between workers, to disk and back.

Between workers of one machine an IPC handle goes over the connection, and the receiver's device
copies from the sender's memory. Dask keeps the data until the receiver has said that it has it. To
other machines, to clients and to disk go the bytes: those of host and shared memory from where they
lie, those of device memory from a copy.

What arrives is memory of the same kind, in the default context of the process. It is the receiver's
own: a task that writes to it changes nothing elsewhere.
"""

from __future__ import annotations

import copyreg
import pickle
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dask.sizeof import sizeof
from dask.tokenize import normalize_token
from distributed.protocol.serialize import dask_deserialize, dask_serialize

from groundstate.core import Context, LevelZeroError, Memory, MemoryType, default_context
from groundstate.dask.worker import HOST, host_identity

if TYPE_CHECKING:
    from groundstate.core.operand import Operand

SMALLEST_SHARED = 1 << 20
"""Fewer bytes are sent faster than a handle is opened."""


def register() -> None:
    """Tells Dask, and pickle, how memory is measured, named and sent."""
    sizeof.register(Memory, lambda memory: memory.size_bytes)
    normalize_token.register(Memory, lambda memory: ("groundstate.Memory", uuid.uuid4().hex))
    dask_serialize.register(Memory, serialize)
    dask_deserialize.register(Memory, deserialize)
    copyreg.pickle(Memory, _reduce)


def serialize(
    memory: Memory, context: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], list[Any]]:
    """A header and frames; `context` is what Dask knows of the receiver, if there is one."""
    handle = _handle_for(memory, (context or {}).get("recipient") or {})
    header = _header(memory)
    if handle is not None:
        return {**header, "handle": handle}, []
    return header, [_bytes_of(memory)]


def deserialize(header: Mapping[str, Any], frames: Sequence[Any]) -> Memory:
    """The memory that a header and frames describe.

    ConnectionError if the sender has gone before its memory could be opened: Dask then asks another
    worker that has the data, or computes it again.
    """
    context, shape, element = default_context(), tuple(header["shape"]), _element(header)
    memory = _allocate(context, MemoryType(header["kind"]), shape, element)
    if "handle" not in header:
        _copy(memory, memory, frames[0])
        return memory
    try:
        with context.open_ipc(header["handle"], shape, element) as theirs:
            _copy(memory, memory, theirs)
    except LevelZeroError as problem:
        raise ConnectionError(f"device memory of another worker has gone: {problem}") from problem
    return memory


def _handle_for(memory: Memory, recipient: Mapping[str, Any]) -> bytes | None:
    """An IPC handle if the receiver can open it and that is faster, or None.

    Parts of an allocation and shared memory have none, and a process can run out of descriptors.
    """
    if (
        not recipient.get(HOST)
        or recipient[HOST] != host_identity()
        or memory.size_bytes < SMALLEST_SHARED
        or memory.type == MemoryType.SHARED
        or memory.offset_bytes
    ):
        return None
    try:
        return memory.ipc_handle()
    except LevelZeroError:
        return None


def _header(memory: Memory) -> dict[str, Any]:
    record = memory.dtype.record
    return {
        "kind": int(memory.type),
        "shape": memory.shape,
        "dtype": memory.dtype.name if record is None else pickle.dumps(record),
    }


def _element(header: Mapping[str, Any]) -> Any:
    """The type of the elements: a name, or NumPy's object for that of a record."""
    kind = header["dtype"]
    return pickle.loads(kind) if isinstance(kind, bytes) else kind


def _allocate(context: Context, kind: MemoryType, shape: tuple[int, ...], element: Any) -> Memory:
    if 0 in shape:  # there are empty parts, but no empty allocations
        return _allocate(context, kind, (1,), element)[:0].view(element, shape)
    if kind == MemoryType.HOST:
        return context.alloc_host(shape, element)
    device = context.devices[0]
    if kind == MemoryType.SHARED:
        return context.alloc_shared(shape, element, device=device)
    return context.alloc_device(shape, element, device=device)


def _bytes_of(memory: Memory) -> memoryview[Any]:
    """The bytes of memory, without a copy where the host can read it."""
    if memory.is_host_accessible:
        return memory.view("uint8").buffer()
    copied = memoryview(bytearray(memory.size_bytes))
    _copy(memory, copied, memory)
    return copied


def _copy(owner: Memory, destination: Operand, source: Operand) -> None:
    """Copies bytes on the device of `owner`, and waits for them."""
    if owner.size_bytes:
        commands = owner.context.default_list(owner.device or owner.context.devices[0])
        commands.copy(_plain(destination), _plain(source))
        commands.synchronize()


def _plain(operand: Operand) -> Operand:
    return operand.view("uint8") if isinstance(operand, Memory) else operand


def _reduce(memory: Memory) -> tuple[Any, ...]:
    """For pickle, from protocol 5 on: inside other objects, and as an argument of a task."""
    return deserialize, (_header(memory), [pickle.PickleBuffer(_bytes_of(memory))])
