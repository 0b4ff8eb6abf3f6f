"""A C program whose kernels have a known character: the profile says what it is."""

from __future__ import annotations

import json

import pytest

from tests.profile.conftest import Profiled, line_with

REASONS = {
    "spmv": ("of loads are gathers: `x[col[j]]`", "sum += value"),
    "transpose": ("100% of stores are strided: `out[x * n + y]`", "out[x * n + y]"),
    "branches": ("lanes are idle: work-items of a vector go different ways", "if (i % 4"),
    "histogram": ("one atomic operation of global memory for each work-item", "atomic_inc"),
    "strided": ("100% of loads are strided: `in[i * 8]`", "in[i * 8]"),
}
"""What is said first, and what is in the line that it names."""


@pytest.mark.parametrize("name", REASONS)
def test_kernel_has_the_reason_of_its_character(profiled: Profiled, name: str) -> None:
    sentence, source = REASONS[name]
    reason = profiled.kernel(name)["reasons"][0]
    assert sentence in reason
    assert f"at known.cl:{line_with(source)}" in reason


def test_program_and_its_output_are_unchanged(profiled: Profiled) -> None:
    assert (profiled.status, profiled.said) == (0, "done\n")


def test_vector_addition_moves_twelve_bytes_for_each_item(profiled: Profiled) -> None:
    add = profiled.kernel("add")
    item = add["counted"]["per_item"]
    assert (item["flops"], item["bytes"]) == (1, 12)
    assert add["counted"]["loads"] == add["counted"]["stores"] == {"consecutive": 1}
    assert (add["launches"], add["groups"], add["group_size"]) == (3, [256, 1, 1], [256, 1, 1])


def test_tiling_loads_less_of_global_memory(profiled: Profiled) -> None:
    naive, tiled = profiled.kernel("naive")["counted"], profiled.kernel("tiled")["counted"]
    assert naive["per_item"]["bytes"] == 2 * 64 * 4 + 4
    assert tiled["per_item"]["bytes"] == 2 * 8 * 4 + 4
    assert tiled["local_bytes_per_item"] == 2 * 64 * 4 + 2 * 8 * 4
    assert (naive["per_item"]["barriers"], tiled["per_item"]["barriers"]) == (0, 16)


def test_bodies_do_more_operations_for_each_byte(profiled: Profiled) -> None:
    bodies, add = profiled.kernel("bodies")["counted"], profiled.kernel("add")["counted"]
    assert bodies["flops_per_byte"] > 10 * add["flops_per_byte"]
    assert bodies["loads"]["uniform"] > 0.9


def test_idle_lanes_are_those_of_the_branch(profiled: Profiled) -> None:
    assert profiled.kernel("add")["counted"]["lanes_active"] == 1
    counted = profiled.kernel("branches")["counted"]
    # One work-item in four takes the branch, and nearly all instructions are there.
    assert counted["lanes"] == 1 or 0.2 < counted["lanes_active"] < 0.4


def test_rates_follow_from_times(profiled: Profiled) -> None:
    add = profiled.kernel("add")
    moved = 12 * 256 * 256
    assert add["counted"]["gbs"] == pytest.approx(moved / (add["mean_us"] * 1e3), rel=1e-3)
    roof = profiled.report["roof"]
    assert add["counted"]["of_gbs"] == pytest.approx(add["counted"]["gbs"] / roof["gbs"])
    assert min(roof["gbs"], roof["gflops"], roof["cache_gbs"]) > 0


def test_shares_and_samples_add_up(profiled: Profiled) -> None:
    kernels = profiled.report["kernels"]
    assert sum(each["share"] for each in kernels) == pytest.approx(1)
    assert profiled.report["samples"] == sum(each["samples"] for each in kernels)
    for each in kernels:
        assert sum(stack["samples"] for stack in each["stacks"]) == each["samples"]
        assert all(line["file"] == "known.cl" for line in each["lines"])


def test_host_names_calls_and_copies(profiled: Profiled) -> None:
    (process,) = profiled.report["processes"]
    calls = {each["name"]: each["calls"] for each in process["calls"]}
    assert calls["zeCommandListAppendLaunchKernel"] == 9 * 3 + 400
    assert (calls["zeKernelCreate"], calls["zeModuleCreate"]) == (10, 1)
    assert (process["copies"]["number"], process["copies"]["bytes"]) == (1, 4 << 16)
    assert (process["fills"]["number"], process["fills"]["bytes"]) == (1, 4 << 16)
    assert process["device_busy_ms"] <= process["wall_ms"]


def test_trace_has_what_ran(profiled: Profiled) -> None:
    events = json.loads((profiled.folder / "trace.json").read_text())["traceEvents"]
    by_kind = {kind: [e for e in events if e.get("cat") == kind] for kind in ("kernel", "copy")}
    assert sum(each["name"] == "tiny" for each in by_kind["kernel"]) == 400
    assert {each["name"] for each in by_kind["copy"]} == {"copy", "fill"}
    assert any(e["ph"] == "X" and e["name"] == "zeModuleCreate" for e in events)
    assert all(each["dur"] >= 0 and each["ts"] >= 0 for each in events if each["ph"] == "X")
