"""The checker `host` finds what is wrong in each labelled program, and nothing else."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.check.host.cases import calls_of
from tests.check.host.programs import (
    RIGHT,
    ROOT,
    WRONG,
    Found,
    cases_of,
    found_by,
    kinds,
    misjudged,
    run,
)

DEFAULT = "memory,uninit,races,sync,host"
LABELLED = [(program, name) for program in WRONG + RIGHT for name in cases_of(program).all]

found_once = functools.cache(found_by)


@pytest.mark.parametrize(("program", "case"), LABELLED)
def test_each_program_is_judged_as_its_label_says(program: str, case: str) -> None:
    assert kinds(found_once(program)[case]) == cases_of(program).expected[case]


@pytest.mark.parametrize("program", ["wrong_calls", "wrong_orders", "wrong_meetings"])
def test_other_checkers_hide_nothing(program: str) -> None:
    expected = cases_of(program).expected
    for case, findings in found_by(program, check=DEFAULT).items():
        assert set(expected[case]) <= set(kinds(findings)), case


def test_mapped_memory_of_the_device_is_not_the_hosts() -> None:
    assert found_by("right", check=DEFAULT)["virtual_memory_is_given_back"] == []


def test_right_programs_leave_nothing_behind() -> None:
    assert found_once("right")["at the end"] == []


def test_there_are_enough_programs() -> None:
    labels = [cases_of(program).expected[name] for program, name in LABELLED]
    assert sum(map(bool, labels)) >= 20
    assert sum(not label for label in labels) >= 20


def test_a_finding_names_the_calls_that_matter() -> None:
    (finding,) = found_once("wrong_calls")["free_what_a_kernel_uses"]
    assert finding["title"] == (
        "zeMemFree: 4096 bytes are freed while submitted work uses them: kernel 'copy', argument 1"
    )
    assert "free_what_a_kernel_uses" in calls_of(finding)
    assert finding["notes"][0].startswith(
        "allocated by zeMemAllocDevice   tests/driver/support.py:"
    )
    assert finding["notes"][-1].startswith("help: wait for the work")


def test_who_waits_for_whom_is_told() -> None:
    (finding,) = found_once("wrong_waits")["two_queues_wait_for_each_other"]
    notes = [note.split(" made by")[0] for note in finding["notes"] if "made by" in note]
    assert notes == ["the command queue that waits was", "it waits for an event"] * 2
    assert "it is to be signalled by a signal or barrier" in " ".join(finding["notes"])


# --- Broken on purpose ------------------------------------------------------------------------

NOT_TOLD = """
from groundstate.driver.checking import host_findings
host_findings.read = lambda text: None
"""


@pytest.mark.parametrize("broken", [{"check": "0"}, {"before": NOT_TOLD}], ids=["off", "silent"])
def test_a_broken_checker_is_noticed(broken: dict[str, str]) -> None:
    found: Found = found_by("wrong_calls", **broken)
    assert misjudged("wrong_calls", found) == list(cases_of("wrong_calls").all)


RACES_NOT_TOLD = """
from types import SimpleNamespace
from groundstate.driver.checking import command_races
command_races.findings = SimpleNamespace(report=lambda finding: False)
"""


def test_a_broken_checker_of_command_races_is_noticed() -> None:
    found = found_by("wrong_orders", before=RACES_NOT_TOLD)
    assert misjudged("wrong_orders", found) == list(cases_of("wrong_orders").all)


UNORDERED = """
from groundstate import ze
for name in ("zeCommandListAppendBarrier", "zeCommandListAppendWaitOnEvents"):
    setattr(ze, name, lambda *arguments: 0)
"""


@pytest.mark.parametrize("program", ["wrong_orders", "wrong_touches", "wrong_meetings"])
def test_races_are_not_found_by_a_checker_that_is_off(program: str) -> None:
    assert misjudged(program, found_by(program, check="0")) == list(cases_of(program).all)


def test_orders_without_their_barriers_are_wrong() -> None:
    found = found_by("right_orders", before=UNORDERED)
    assert set(misjudged("right_orders", found)) >= {
        "a_barrier_between",
        "a_barrier_that_waits_for_the_writer",
        "a_wait_that_holds_up_what_follows",
    }


def test_race_between_commands_shows_both() -> None:
    (finding,) = found_once("wrong_orders")["halves_that_share_an_element"]
    assert finding["title"] == (
        "race between kernel 'some' and kernel 'some': write and write of the same bytes"
    )
    labels = [place["label"] for place in finding["places"]]
    assert labels == ["write by work-item (32, 0, 0)"] * 2
    calls = [note for note in finding["notes"] if "appended by zeCommandListAppendLaunch" in note]
    assert len(calls) == 2
    assert all("halves_that_share_an_element()" in "".join(finding["notes"]) for _ in calls)


def test_race_names_the_work_item_where_vectors_are_shorter_than_lines() -> None:
    before = "import os; os.environ['GROUNDSTATE_MAX_ISA'] = 'sse4'"
    (finding,) = found_by("wrong_orders", before=before)["halves_that_share_an_element"]
    labels = [place["label"] for place in finding["places"]]
    assert labels == ["write by work-item (32, 0, 0)"] * 2


def test_race_with_the_host_shows_both() -> None:
    (finding,) = found_once("wrong_meetings")["the_second_time"]
    assert finding["title"] == (
        "race between the program itself and kernel 'add': write and write of the same byte"
    )
    assert finding["work_item"] == [2, 0, 0]
    places = finding["places"]
    assert "the_second_time()" in [place["beside"] for place in places]
    assert places[-1]["label"] == "write by work-item (2, 0, 0)"
    assert finding["notes"][-1].startswith("nothing orders the two: wait for the command before")


def test_race_with_a_copy_names_the_copy() -> None:
    (finding,) = found_once("wrong_orders")["a_copy_reads_what_a_kernel_writes"]
    assert finding["title"].startswith("race between a copy of 256 bytes from ")
    calls, kernels = finding["places"][:-1], finding["places"][-1:]
    assert calls[0]["label"] == "read by a copy of 256 bytes"
    assert "a_copy_reads_what_a_kernel_writes()" in [place["beside"] for place in calls]
    assert [place["beside"] for place in kernels] == ["kernel 'put'"]


# --- Leaks ------------------------------------------------------------------------------------


def test_what_is_left_at_the_end_is_told_with_the_call_that_made_it() -> None:
    _, found = run("leaks")
    by_title = {each["title"]: calls_of(each) for each in found}
    assert {title: LEAKS.get(title) in calls for title, calls in by_title.items()} == dict.fromkeys(
        LEAKS, True
    )


LEAKS = {
    "a context was never destroyed": "new_bench",
    "a command queue was never destroyed": "fence",
    "3 command lists that were made here were never destroyed": "command_list",
    "an event pool was never destroyed": "pool",
    "an event was never destroyed": "events",
    "a fence was never destroyed": "fence",
    "a module was never destroyed": "copy_kernel",
    "a kernel was never destroyed": "copy_kernel",
    "2000 bytes that zeMemAllocDevice gave were never freed": "device_memory",
    "24 bytes that zeMemAllocHost gave were never freed": "host_memory",
    "an image was never destroyed": "image",
    "a sampler was never destroyed": "sampler",
    "a block of physical memory was never destroyed": "physical_memory",
    "2097152 bytes that zeVirtualMemReserve gave were never freed": "virtual_memory",
    "77 bytes that zeMemAllocDevice gave were never freed": "memory_of_a_context_that_is_gone",
}
"""With one of the functions that led to what was left; the last queue is that of the fence."""


@pytest.mark.parametrize("end", ["_exit", "crash"])
def test_a_program_that_does_not_come_to_its_end_leaks_nothing(end: str) -> None:
    assert run("leaks", end)[1] == []


# --- Programs in C ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def c_program(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler: apt-get install gcc")
    path = tmp_path_factory.mktemp("host") / "program"
    source = Path(__file__).parent / "program.c"
    options = ["-g", f"-I{ROOT / 'native'}", "-o", str(path), str(source), str(library)]
    subprocess.run([compiler, *options, f"-Wl,-rpath,{library.parent}"], check=True)
    return path


def run_c(program: Path, word: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, word],
        cwd=ROOT,
        env={"GROUNDSTATE_CHECK": "host", **settings},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


def test_c_program_leaks(c_program: Path) -> None:
    said = run_c(c_program, "leak").stderr
    assert "error: 300 bytes that zeMemAllocDevice gave were never freed" in said
    assert "program.c:37   upload" in said or "upload+" in said
    assert "its context was destroyed while it was there" in said
    assert "groundstate: 1 finding: 1 leaked allocation (3 times)" in said


@pytest.mark.parametrize("word", ["late-handler", "early-handler", "fork"])
def test_c_program_that_cleans_up_late_leaks_nothing(c_program: Path, word: str) -> None:
    assert run_c(c_program, word).stderr == ""


def test_c_program_uses_what_it_destroyed(c_program: Path) -> None:
    said = run_c(c_program, "use-after-destroy").stderr
    assert "error: zeEventHostSignal: hEvent is an event that was destroyed" in said
    assert "destroyed by zeEventDestroy" in said


def test_a_wait_without_end_is_stopped_if_asked_for(c_program: Path) -> None:
    done = run_c(c_program, "hang", GROUNDSTATE_CHECK_STOP="1")
    assert done.stdout == "0x70000001\n"  # ZE_RESULT_ERROR_DEVICE_LOST
    assert "no command was ever given this event to signal" in done.stderr
