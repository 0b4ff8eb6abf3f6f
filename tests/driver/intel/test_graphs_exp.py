"""Graphs under their experimental names, which have another order of parameters."""

import ctypes
from ctypes import POINTER, c_char_p, c_uint32, c_void_p
from pathlib import Path

import pytest

from groundstate import ze
from tests.conftest import check
from tests.driver.graphs.graphs import INVALID
from tests.driver.intel import function
from tests.driver.support import Bench, address, fill, finish

QUERY_TRUE, QUERY_FALSE, INVALID_GRAPH = 0x7FFF0000, 0x7FFF0001, 0x7FFF0002
HANDLES = POINTER(c_void_p)


def test_graph_runs_under_its_experimental_names(bench: Bench, tmp_path: Path) -> None:
    def call(name: str, *arguments: object) -> int:
        types = {
            "zeGraphCreateExp": (c_void_p, HANDLES, c_void_p),
            "zeCommandListBeginCaptureIntoGraphExp": (c_void_p, c_void_p, c_void_p),
            "zeCommandListEndGraphCaptureExp": (c_void_p, HANDLES, c_void_p),
            "zeCommandListInstantiateGraphExp": (c_void_p, HANDLES, c_void_p),
            "zeCommandListGetGraphExp": (c_void_p, HANDLES),
            "zeCommandListAppendGraphExp": (*[c_void_p] * 4, c_uint32, c_void_p),
            "zeGraphDumpContentsExp": (c_void_p, c_char_p, c_void_p),
            "zeGraphSetDestructionCallbackExp": (c_void_p, CALLBACK, c_void_p, c_void_p),
        }.get(name, (c_void_p,))
        return function(bench.driver, name, *types)(*arguments)

    CALLBACK = ctypes.CFUNCTYPE(None, c_void_p)
    gone: list[int] = []
    callback = CALLBACK(gone.append)
    commands, memory = bench.immediate(in_order=True), bench.bytes(64, fill=0)
    graph, found, executable = c_void_p(), c_void_p(), c_void_p()
    check(call("zeGraphCreateExp", bench.context, ctypes.byref(graph), None))
    check(call("zeGraphSetDestructionCallbackExp", graph, callback, 42, None))
    check(call("zeCommandListBeginCaptureIntoGraphExp", commands, graph, None))
    assert call("zeCommandListIsGraphCaptureEnabledExp", commands) == QUERY_TRUE
    check(call("zeCommandListGetGraphExp", commands, ctypes.byref(found)))
    assert found.value == graph.value
    fill(commands, address(memory), b"\x07", 64)
    check(call("zeCommandListEndGraphCaptureExp", commands, None, None))
    assert call("zeCommandListIsGraphCaptureEnabledExp", commands) == QUERY_FALSE
    assert call("zeGraphIsEmptyExp", graph) == QUERY_FALSE
    dump = ze.ze_record_replay_graph_ext_dump_desc_t(stype=0x30031, mode=1)
    path = tmp_path / "graph.dot"
    check(call("zeGraphDumpContentsExp", graph, bytes(path), ctypes.byref(dump)))
    assert "digraph" in path.read_text()
    check(call("zeCommandListInstantiateGraphExp", graph, ctypes.byref(executable), None))
    check(call("zeCommandListAppendGraphExp", commands, executable, None, None, 0, None))
    finish(commands)
    assert (memory == 7).all()
    check(call("zeExecutableGraphDestroyExp", executable))
    check(call("zeGraphDestroyExp", graph))
    assert gone == [42]


def test_capture_without_a_graph_of_its_own_needs_a_place(bench: Bench) -> None:
    begin = function(bench.driver, "zeCommandListBeginGraphCaptureExp", c_void_p, c_void_p)
    end = function(bench.driver, "zeCommandListEndGraphCaptureExp", c_void_p, HANDLES, c_void_p)
    is_empty = function(bench.driver, "zeGraphIsEmptyExp", c_void_p)
    commands, graph = bench.immediate(in_order=True), c_void_p()
    check(begin(commands, None))
    assert end(commands, None, None) == ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER
    assert is_empty(None) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    check(end(commands, ctypes.byref(graph), None))
    assert is_empty(graph) == QUERY_TRUE
    check(ze.zeGraphDestroyExt(graph))


@pytest.mark.parametrize("name", ["zeGraphCreateExp", "zeCommandListInstantiateGraphExp"])
def test_experimental_names_check_their_arguments(bench: Bench, name: str) -> None:
    refused = function(bench.driver, name, c_void_p, HANDLES, c_void_p)(1, None, None)
    assert refused == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    assert refused != INVALID
