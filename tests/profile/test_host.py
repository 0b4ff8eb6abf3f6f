"""What is said of the host, from times that are made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundstate.profiler import recorded
from groundstate.profiler.host import COMPILING, OWN, host_of
from groundstate.profiler.recorded import Copy, Launch, Recorded, Span
from groundstate.profiler.report import advice, document

MS = 1_000_000
A, B, C = 1 << 20, 2 << 20, 3 << 20
"""Addresses of arrays."""


def launch(start: int, end: int, *pointers: int) -> Launch:
    return Launch(1, start, end, 0, 0, 0, 0, (8, 1, 1), 2, 0, pointers, 10, 1)


def copy(start: int, end: int, destination: int) -> Copy:
    return Copy(start, end, 4096, destination, C, False, 10, 1)


def process(*work: Launch | Copy, calls: tuple[Span, ...] = (), **more: list[Span]) -> Recorded:
    made = Recorded(1, 0, 100 * MS, 2, 0, 1000)
    made.kernels[1] = recorded.Kernel("k", (64, 1, 1), 1)
    made.launches = [each for each in work if isinstance(each, Launch)]
    made.copies = [each for each in work if isinstance(each, Copy)]
    made.calls = list(calls)
    made.compilations = more.get("compilations", [])
    return made


def test_gap_is_the_program_s_own_without_a_call() -> None:
    host = host_of(process(launch(0, MS), launch(9 * MS, 10 * MS)))
    assert [(each.time, each.cause) for each in host.gaps] == [(8 * MS, OWN)]
    assert "idle for 80%" in advice(host)[0]


def test_gap_is_of_the_call_that_took_most_of_it() -> None:
    call = Span(2 * MS, 8 * MS, 10, "zeModuleCreate")
    host = host_of(process(launch(0, MS), launch(9 * MS, 10 * MS), calls=(call,)))
    assert host.gaps[0].cause == "zeModuleCreate"


def test_gap_of_a_kernel_that_is_compiled_says_so() -> None:
    call = Span(2 * MS, 8 * MS, 10, "zeCommandListAppendLaunchKernel")
    spans = [Span(2 * MS, 7 * MS, 10)]
    made = process(launch(0, MS), launch(9 * MS, 10 * MS), calls=(call,), compilations=spans)
    assert host_of(made).gaps[0].cause == COMPILING


def test_code_that_counts_is_no_gap_and_no_time_of_a_call() -> None:
    name = "zeCommandListAppendLaunchKernel"
    call = Span(MS, 9 * MS, 10, name)
    spans = [Span(MS, 9 * MS - 500, 10, is_counting=True)]
    made = process(launch(0, MS), launch(9 * MS, 10 * MS), calls=(call,), compilations=spans)
    made.functions = {name: (2, 8 * MS + 1000, 8 * MS)}
    host = host_of(made)
    assert host.gaps == []
    assert host.functions[name][:2] == (2, 1500)


@pytest.mark.parametrize(("destination", "overlaps"), [(A, 0), (B, 1)])
def test_copy_could_overlap_with_kernels_that_do_not_use_it(
    destination: int, overlaps: int
) -> None:
    work = (launch(0, MS, A), copy(2 * MS, 3 * MS, destination), launch(4 * MS, 5 * MS, A))
    assert len(host_of(process(*work)).alone) == overlaps


def test_copy_beside_a_kernel_overlaps_already() -> None:
    assert host_of(process(launch(0, 4 * MS, A), copy(2 * MS, 3 * MS, B))).alone == []


def test_time_of_a_counted_launch_is_that_of_its_other_groups() -> None:
    made = process(launch(0, 10 * MS), launch(20 * MS, 30 * MS))
    for each in made.launches:
        each.counted_groups, each.plain, each.plain_groups = 2, 6 * MS, 6
    (kernel,) = document([made], None)["kernels"]
    assert (kernel["ms"], kernel["is_slowed"]) == (16, False)


def test_many_short_launches_are_said_to_be_short() -> None:
    made = process(*(launch(each * MS, each * MS + 2000) for each in range(200)))
    (kernel,) = document([made], None)["kernels"]
    assert kernel["reasons"][0].startswith("200 launches of 2.0 us each")


def test_few_groups_leave_workers_idle() -> None:
    made = process(launch(0, 50 * MS))
    made.launches[0].groups = (1, 1, 1)
    (kernel,) = document([made], None)["kernels"]
    assert kernel["reasons"][0].startswith("too few groups: 1 group for 2 workers")


def test_file_that_is_no_profile_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"x" * 4096):
        (tmp_path / "1.profile").write_bytes(content)
        with pytest.raises(recorded.NotAProfileError):
            recorded.read(tmp_path / "1.profile")
    assert recorded.read_folder(tmp_path) == []
