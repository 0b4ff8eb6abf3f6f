"""The logic of the benchmarks: ratios, tables, checks of results. Nothing is measured here."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import peers, report, speed_up, wide
from benchmarks.figures import LIMIT, OURS, Benchmark, Figure, Measure, Options, Plan
from benchmarks.jax import speed as jax
from benchmarks.kernels.cases import CASES, EMPTY, SCALING_CASES, SMALL_CASES, Array, Case
from benchmarks.kernels.catalogue import find
from benchmarks.kernels.irregular import IRREGULAR_CASES, SMALL_IRREGULAR_CASES
from benchmarks.kernels.irregular import speed as irregular
from benchmarks.kernels.large import LARGE, large_source
from benchmarks.kernels.race import Race
from benchmarks.kernels.runtimes import Prepared
from benchmarks.kernels.team import Member, Team
from benchmarks.kernels.worker import Worker
from benchmarks.machine import Machine
from benchmarks.programs import MeasuringError, Session, build
from benchmarks.sycl import cases as sycl_cases
from benchmarks.sycl.devices import SyclTeam
from groundstate import knobs
from groundstate.compiler.opencl import clang

HERE = Machine("Some CPU", 2, 2000, 8, "6.1", "glibc 2.36", "3.11.7", "cc 12")


def figure(
    peer: str, ours: float, theirs: float | None, unit: str = "GB/s", case: str = "add"
) -> Figure:
    measured = None if theirs is None else Measure(theirs, theirs)
    return Figure(case, unit, Measure(ours, ours), peer, measured, goal=1.0)


def benchmark(is_wide: bool) -> Benchmark:
    return Benchmark("b", "Title", "What it is.", lambda options: Plan([], list), is_wide, 1.5)


# --- Figures --------------------------------------------------------------------------------------


def test_samples_give_best_median_and_worst() -> None:
    assert Measure.of_times([4000.0, 1000.0, 2000.0], "µs") == Measure(1.0, 2.0, 4.0)
    assert Measure.of_rate([4.0, 1.0, 2.0], 8.0) == Measure(8.0, 4.0, 2.0)


@pytest.mark.parametrize(("unit", "ratio"), [("GB/s", 2.0), ("Mpixel/s", 2.0), ("ms", 0.5)])
def test_ratio_above_one_means_ahead_in_any_unit(unit: str, ratio: float) -> None:
    assert figure("peer", 10.0, 5.0, unit).best_ratio == ratio


def test_cases_are_chosen_by_name() -> None:
    known = {"a": 1, "b": 2}
    assert Options().choose(known) == [1, 2]
    assert Options(cases=("b",)).choose(known) == [2]
    assert Options(cases=("c", "a")).choose({"a": 1, "c-1": 2, "c-2": 3, "cc-1": 4}) == [2, 3, 1]
    with pytest.raises(ValueError, match="there are a, b"):
        Options(cases=("c",)).choose(known)


# --- Wide tables ----------------------------------------------------------------------------------


def test_row_compares_with_best_peer_not_limit() -> None:
    figures = [figure("slow", 10.0, 2.0), figure("fast", 10.0, 8.0), figure(LIMIT, 10.0, 40.0)]
    (row,) = wide.rows(figures)
    assert row.ratio() == 1.25
    assert row.reached
    assert wide.header(figures)[2:7] == [OURS, "slow", "fast", LIMIT, wide.OF_LIMIT]
    assert wide.mean_cells([row], wide.peers_in(figures), 2.0)[6:] == ["0.250", "1.25", "", "2"]
    assert wide.cells(row, wide.peers_in(figures))[2:8] == [
        "10.0 (10.0)",
        "2.00 (2.00)",
        "8.00 (8.00)",
        "40.0",
        "0.250",
        "1.25",
    ]


def test_the_mean_treats_twice_and_half_alike() -> None:
    rows = wide.rows([figure("peer", 2.0, 1.0, case="a"), figure("peer", 1.0, 2.0, case="b")])
    assert wide.mean_ratio(rows) == pytest.approx(1.0)


def test_a_peer_that_is_missing_is_no_peer() -> None:
    (row,) = wide.rows([figure("gone", 10.0, None), figure("there", 10.0, 20.0)])
    assert row.ratio() == 0.5
    assert not row.reached
    assert wide.cells(row, ["gone", "there"])[3] == "not measured"
    assert wide.rows([figure("gone", 10.0, None)])[0].reached is None


def test_a_failure_of_our_own_has_no_ratio() -> None:
    (row,) = wide.rows([Figure("add", "GB/s", None, OURS, goal=1.0, note="wrong")])
    assert row.ratio() is None
    assert wide.cells(row, [])[2] == "failed"


# --- Records --------------------------------------------------------------------------------------


def test_speed_ups_are_columns_beside_one_thread() -> None:
    one = Measure(10.0, 10.0)
    failed = Figure("add", "GB/s", None, "4 threads", one, note="wrong")
    figures = [figure("2 threads", 18.0, 10.0), failed]
    assert speed_up.header(figures)[2:] == ["1 thread", "2 threads", "4 threads", "best"]
    (row,) = speed_up.table(figures)
    assert row[2:] == ["10.0 (10.0)", "1.80", "", "18.0"]


def test_kernels_without_clang_are_kept_spirv(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise clang.ClangMissingError("none")

    monkeypatch.setattr(clang, "find", missing)
    folder = Path(peers.direct().env[knobs.PREBUILT_SPIRV.name])
    assert (folder / "core" / "test_benchmark_kernels.zip").exists()


@pytest.mark.parametrize("is_wide", [False, True])
def test_what_is_recorded_is_printed_as_markdown(tmp_path: Path, is_wide: bool) -> None:
    figures = [figure("slow", 10.0, 2.0), figure("fast", 10.0, None)]
    figures.append(Figure("broken", "GB/s", None, OURS, note="wrong"))
    path = tmp_path / "results.json"
    report.write(path, HERE, {"b": report.as_json(benchmark(is_wide), figures, 0.25)})
    text = report.as_markdown(path)
    assert "### Title" in text
    assert "Some CPU, 2 cores" in text
    rows = [line for line in text.splitlines() if line.startswith("| add")]
    assert len(rows) == (1 if is_wide else 2)
    assert "10.0 (10.0)" in rows[0]
    assert "5.00" in rows[0]
    assert "| broken | " in text
    assert ("geometric mean" in text) == is_wide


def test_results_of_other_benchmarks_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    for name in ("first", "second"):
        report.write(path, HERE, {name: report.as_json(benchmark(False), [], 0.0)})
    assert list(json.loads(path.read_text())["benchmarks"]) == ["first", "second"]


def test_document_replaces_older_results(tmp_path: Path) -> None:
    results, document = tmp_path / "results.json", tmp_path / "page.md"
    report.write(results, HERE, {"b": report.as_json(benchmark(True), [], 0.0)})
    document.write_text(f"# Page\n\n{report.MARKER}\nold\n")
    report.update(document, results)
    assert document.read_text() == f"# Page\n\n{report.MARKER}\n{report.as_markdown(results)}"
    document.write_text("# Page\n")
    with pytest.raises(MeasuringError, match="has no line"):
        report.update(document, results)


# --- Kernels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*CASES, *IRREGULAR_CASES])
def test_cases_have_sources_and_groups_that_fit(name: str) -> None:
    small = {**SMALL_CASES, **SMALL_IRREGULAR_CASES}
    for case in (find(name), small[name]):
        assert f"void {case.name}(" in case.source
        assert all(items % size == 0 for items, size in zip(case.items, case.group, strict=True))


@pytest.mark.parametrize(
    "case",
    [*SMALL_CASES.values(), *SMALL_IRREGULAR_CASES.values(), LARGE],
    ids=lambda case: case.id,
)
def test_numpy_check_accepts_right_rejects_wrong(case: Case) -> None:
    given: list[Any] = case.arguments()
    expected = case.expected(given)
    assert expected.shape == given[case.result].shape
    assert case.mistake(expected, expected) == ""
    assert "wrong" in case.mistake(expected, expected + 1)
    if case.strays == 0 and not case.unordered:
        spoilt = expected.astype(np.float64)
        spoilt.flat[-1] = np.nan
        assert f"at {spoilt.size - 1}" in case.mistake(expected, spoilt)


@pytest.mark.parametrize("name", [name for name, case in IRREGULAR_CASES.items() if case.limit])
def test_hand_written_limit_computes_the_same(name: str) -> None:
    assert len(irregular.times_of_limit(SMALL_IRREGULAR_CASES[name], runs=1)) == 1


def test_order_of_an_unordered_result_is_free() -> None:
    case = SMALL_IRREGULAR_CASES["hash_build-skewed"]
    expected = case.expected(case.arguments())
    assert case.mistake(expected, expected[::-1]) == ""
    assert "wrong" in case.mistake(expected, np.append(expected[1:], expected[0] + 1))


def test_every_case_is_found_by_name() -> None:
    assert find("nbody") is CASES["nbody"]
    assert all(find(name).id == name for name in IRREGULAR_CASES)
    assert find("empty") is EMPTY
    assert [find(name).items for name in SCALING_CASES] == [(1024 * 10**n,) for n in range(6)]


def test_large_kernels_repeat_and_vary_by_number() -> None:
    assert large_source("k", 50, 3) == large_source("k", 50, 3)
    assert large_source("k", 50, 3) != large_source("k", 50, 4)


# --- Measuring ------------------------------------------------------------------------------------


class Still(Prepared):
    """A kernel that counts its launches."""

    launches = 0

    def launch(self) -> None:
        self.launches += 1

    def result(self, like: Array) -> Array:
        return like


def test_first_launch_is_warmup_unless_only_one() -> None:
    worker = Worker.__new__(Worker)
    worker.prepared = still = Still()
    assert len(worker.measure(0.0)["times"]) == 1
    assert still.launches == 1
    times = worker.measure(0.01)["times"]
    assert len(times) == still.launches - 2


class Spoken(Member):
    """A member that answers from a list."""

    def __init__(self, name: str, answers: list[dict[str, object]]) -> None:
        self.name = name
        self.answers = iter(answers)

    def ask(self, do: str, **values: object) -> dict[str, object]:
        return next(self.answers)

    def close(self) -> None:
        assert next(self.answers, None) is None


def test_members_take_turns_except_wrong_ones() -> None:
    right: list[dict[str, object]] = [{"mistake": ""}, {"times": [10]}, {"times": [5]}, {}]
    race = Race(Team([Spoken(OURS, right), Spoken("peer", [{"mistake": "off"}, {}])]))
    for step in [*race.steps("empty", 2, 0.1), race.end()]:
        step.run()
    (row,) = race.figures("empty", "title", "ns", lambda times: Measure.of_times(times, "ns"))
    assert (row.ours, row.theirs, row.note) == (Measure(5.0, 7.5, 10.0), None, "off")


def test_our_own_mistake_is_a_figure_without_ours() -> None:
    race = Race(Team([Spoken(OURS, [{"error": "crashed"}, {}]), Spoken("peer", [{"mistake": ""}])]))
    race.steps("empty", 0, 0.1)[0].run()
    (row,) = race.figures("empty", "title", "ns", lambda times: Measure.of_times(times, "ns"))
    assert (row.ours, row.note) == (None, "crashed")


def test_a_crashed_member_is_asked_and_closed() -> None:
    member = Member(OURS, "kind", {}, worker="benchmarks.nothing")
    assert "ended" in str(member.ask("prepare")["error"])
    assert "ended" in str(member.ask("drop")["error"])  # stays in the pipe's buffer
    member.close()


# --- dpnp -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["where-f4-1000000", "argsort-i4", "pi", "black-scholes", "mask"])
def test_numpy_does_what_dpnp_is_asked_to(name: str) -> None:
    case = sycl_cases.CASES[name]
    arrays = case.arrays()
    expected = np.asarray(case.operate(np, *arrays))
    assert case.mistake(expected, expected) == ""
    assert case.mistake(expected + 1, expected) != ""


def test_a_result_of_another_shape_is_wrong() -> None:
    assert "shape" in sycl_cases.compare(np.zeros(3), np.zeros(4), 1e-4)


def test_sycl_devices_report_their_mistakes() -> None:
    said = [{"mistake": ""}], [{"error": "crashed"}]
    team = SyclTeam([Spoken(OURS, said[0]), Spoken("peer", said[1])])
    assert team.prepare("sum") == {"peer": "crashed"}


# --- Programs -------------------------------------------------------------------------------------


ASKED = """
for line in iter(input, "0"):
    print("one 1.5\\n" * int(line), flush=True)
raise SystemExit("that is nothing")
"""


def test_a_program_measures_when_it_is_asked_to() -> None:
    with Session(Path(sys.executable), "-c", ASKED, env={}) as session:
        assert session.measure(2) == {"one": [1.5, 1.5]}
        assert session.measure(1) == {"one": [1.5]}
        with pytest.raises(MeasuringError, match="that is nothing"):
            session.measure(0)


@pytest.mark.parametrize("name", ["calls", "counters", "start"])
def test_programs_compile_with_the_driver_as_it_is(name: str) -> None:
    assert build(name).is_file()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="Intel's runtime is for x86-64")
def test_intel_runtime_gets_the_limit_of_instruction_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libintelocl.so").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    _, free = peers.opencl_peers()
    _, limited = peers.opencl_peers("avx2")
    assert isinstance(free, peers.Target)
    assert isinstance(limited, peers.Target)
    assert free.name == peers.INTEL
    assert peers.INTEL_LIMIT not in free.env
    assert limited.name == f"{peers.INTEL}, avx2"
    assert limited.env[peers.INTEL_LIMIT] == "core-avx2"


def test_jax_that_is_missing_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JAX_PYTHON", "/nowhere/bin/python")
    plan = jax.plan(Options())
    (note,) = plan.notes
    assert "/nowhere/bin/pip install 'jax-oneapi-plugin[with-oneapi]==" in note
    assert not plan.steps
    assert not plan.figures()
    with pytest.raises(ValueError, match="there is no case 'sine'; there are gelu, sum"):
        jax.plan(Options(cases=("sine",)))
