"""Memory as Dask and pickle send it, in one process."""

from __future__ import annotations

import pickle
from typing import Any

import dask
import numpy as np
import pytest
from dask.sizeof import sizeof
from dask.tokenize import tokenize
from distributed.protocol import deserialize, serialize

import groundstate as gs
from groundstate.dask.memory import SMALLEST_SHARED
from groundstate.dask.worker import HOST, host_identity
from tests.dask.tasks import filled, total

KINDS = ("device", "host", "shared")


def sent(memory: gs.Memory, recipient: dict[str, Any] | None = None) -> tuple[gs.Memory, Any]:
    """What arrives, and the frames that were sent."""
    context = {"recipient": recipient} if recipient is not None else None
    header, frames = serialize(memory, context=context)
    assert header["serializer"] == "dask"
    return deserialize(header, frames), frames


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_go_to_disk_and_to_other_machines(kind: str) -> None:
    memory = filled(1000, 3, kind)
    for recipient in (None, {}, {HOST: ""}, {HOST: "another machine"}):
        arrived, frames = sent(memory, recipient)
        assert sum(len(frame) for frame in frames) == 1000
        assert (arrived.type, arrived.shape, total(arrived)) == (memory.type, (1000,), 3000)
        assert arrived.address != memory.address


@pytest.mark.parametrize("kind", ["device", "host"])
def test_a_handle_goes_to_a_worker_on_this_machine(kind: str) -> None:
    memory = filled(SMALLEST_SHARED, 1, kind)
    arrived, frames = sent(memory, {HOST: host_identity()})
    assert frames == []
    assert (arrived.type, total(arrived)) == (memory.type, SMALLEST_SHARED)
    commands = arrived.context.default_list()
    commands.fill(arrived, 0)
    commands.synchronize()
    assert total(memory) == SMALLEST_SHARED, "what arrives is a copy"


def test_what_has_no_handle_goes_as_bytes() -> None:
    here = {HOST: host_identity()}
    device, shared = filled(2 * SMALLEST_SHARED, 2), filled(SMALLEST_SHARED, 2, "shared")
    for memory in (device[SMALLEST_SHARED:], shared, device[:100]):
        arrived, frames = sent(memory, here)
        assert sum(len(frame) for frame in frames) == memory.size_bytes
        assert total(arrived) == 2 * memory.size_bytes


def test_configuration_turns_handles_off() -> None:
    memory, here = filled(SMALLEST_SHARED, 1), {HOST: host_identity()}
    with dask.config.set({"groundstate.ipc": False}):
        assert host_identity() == ""
        assert sent(memory, here)[1] != []
        assert sent(memory, {HOST: host_identity()})[1] != []


def test_a_sender_that_has_gone_is_a_lost_connection() -> None:
    memory = filled(SMALLEST_SHARED, 1)
    header, frames = serialize(memory, context={"recipient": {HOST: host_identity()}})
    memory.close()
    with pytest.raises(ConnectionError, match="memory of another worker has gone"):
        deserialize(header, frames)


def test_shapes_and_types_arrive() -> None:
    context = gs.default_context()
    record = np.dtype([("x", "<f4"), ("id", "<i8")])
    for array in (
        np.arange(6, dtype="float64").reshape(2, 3),
        np.array([(1.5, 2), (2.5, 3)], record),
    ):
        arrived, _ = sent(context.array(array))
        assert arrived.numpy().dtype == array.dtype
        assert arrived.tolist() == array.tolist()
    empty = context.alloc_device((3, 4), "int32")[3:]
    assert sent(empty)[0].shape == (0, 4)
    half = context.alloc_shared((2, 2), "bfloat16")
    assert sent(half)[0].dtype is half.dtype


def test_collections_keep_their_memory_out_of_pickle() -> None:
    header, frames = serialize({"a": filled(10, 1), "b": [filled(20, 2)]})
    assert sorted(len(frame) for frame in frames) == [10, 20]
    arrived = deserialize(header, frames)
    assert (total(arrived["a"]), total(arrived["b"][0])) == (10, 40)


@pytest.mark.parametrize("kind", KINDS)
def test_memory_inside_other_objects_is_pickled(kind: str) -> None:
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(("named", filled(1000, 5, kind)), 5, buffer_callback=buffers.append)
    assert len(text) < 600
    name, arrived = pickle.loads(text, buffers=buffers)
    assert (name, total(arrived)) == ("named", 5000)
    assert total(pickle.loads(pickle.dumps(filled(10, 1, kind), 5))) == 10


def test_dask_knows_the_size_and_takes_no_memory_for_another() -> None:
    memory = filled(5000, 1)
    assert sizeof(memory) == 5000
    assert sizeof(memory[:10]) == 10
    assert tokenize(memory) != tokenize(memory)
