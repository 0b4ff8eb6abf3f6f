"""`with gs.profile():` in the middle of a Python program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import groundstate as gs

SOURCE = """
kernel void twice(global float *a) { a[get_global_id(0)] *= 2; }
kernel void other(global float *a) { a[get_global_id(0)] += 1; }
kernel void longer(global float *a) {
    float v = a[get_global_id(0)];
    for (int k = 0; k < 20000; k++)
        v = v * 0.5f + 1.0f;
    a[get_global_id(0)] = v;
}
"""
COUNT = 4096
SAMPLED_S = 0.5
"""Of the processor's time: the system looks every ten milliseconds or more often."""


@pytest.fixture(scope="module")
def module() -> gs.Module:
    return gs.Module(opencl=SOURCE)


def launch(module: gs.Module, name: str, times: int) -> None:
    numbers = gs.array([1.0] * COUNT, "float32")
    for _ in range(times):
        module[name].launch(numbers, global_size=COUNT, group_size=64)


def test_profile_has_only_what_ran_in_its_block(module: gs.Module) -> None:
    launch(module, "twice", 2)
    with gs.profile(roof=False) as profile:
        launch(module, "twice", 5)
    launch(module, "other", 2)
    (kernel,) = profile.report["kernels"]
    assert (kernel["name"], kernel["launches"]) == ("twice", 5)
    assert kernel["counted"]["per_item"]["bytes"] == 8


def test_second_profile_counts_again(module: gs.Module) -> None:
    for _ in range(2):
        with gs.profile(roof=False) as profile:
            launch(module, "twice", 2)
        assert profile.report["kernels"][0]["counted"]["per_item"]["flops"] == 1


def test_samples_are_in_the_lines_that_take_the_time(module: gs.Module) -> None:
    with gs.profile(roof=False, counters=False) as profile:
        start = time.process_time()
        while time.process_time() < start + SAMPLED_S:
            launch(module, "longer", 1)
    (kernel,) = profile.report["kernels"]
    assert kernel["samples"] > 0
    assert sum(line["share"] for line in kernel["lines"] if line["line"] in (6, 7)) > 0.5


FEWER_SIGNALS = """
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int timer_create(clockid_t clock, struct sigevent *event, timer_t *timer) {
    int number = 0;
    if (event->sigev_signo == SIGRTMAX) {
        errno = EINVAL;
        return -1;
    }
    long result = syscall(SYS_timer_create, clock, event, &number);
    *timer = (timer_t)(ptrdiff_t)number;
    return (int)result;
}
"""


def test_signal_that_timers_cannot_send_is_not_taken(tmp_path: Path) -> None:
    """As under an emulator, which keeps some for itself."""
    (tmp_path / "fewer.c").write_text(FEWER_SIGNALS)
    library, source = tmp_path / "fewer.so", tmp_path / "fewer.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    test = f"{__file__}::{test_samples_are_in_the_lines_that_take_the_time.__name__}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    subprocess.run(command, env={**os.environ, "LD_PRELOAD": str(library)}, check=True)


def test_profiles_do_not_nest() -> None:
    with gs.profile(roof=False), pytest.raises(OSError, match="another one of this process runs"):
        gs.profile(roof=False)


def test_profile_is_read_when_it_has_ended(tmp_path: Path) -> None:
    profile = gs.profile(roof=False)
    assert repr(profile) == "<Profile running>"
    for use in (profile.show, lambda: profile.write_html(tmp_path / "p.html")):
        with pytest.raises(ValueError, match="complete when its with block has ended"):
            use()
    with pytest.raises(ValueError, match="complete"):
        profile.write_trace(tmp_path / "trace.json")
    assert list(tmp_path.iterdir()) == []
    profile.close()
    profile.close()
    with pytest.raises(gs.ClosedError, match=r"gs\.profile\(\) begins another"):
        profile.__enter__()


def test_forgotten_profile_ends() -> None:
    kept = [gs.profile(roof=False)]
    with pytest.warns(ResourceWarning):
        kept.clear()
    with gs.profile(roof=False) as another:
        pass
    assert repr(another) == "<Profile of 0 kernels>"


def test_launch_that_is_counted_computes_the_same(module: gs.Module) -> None:
    numbers = gs.array([1.0] * COUNT, "float32")
    with gs.profile(roof=False):
        module["twice"].launch(numbers, global_size=COUNT, group_size=64)
        module["twice"].launch(numbers, global_size=COUNT, group_size=64)
    assert numbers.tolist() == [4.0] * COUNT


def test_profile_is_written_as_page_and_trace(module: gs.Module, tmp_path: Path) -> None:
    with gs.profile(roof=False) as profile:
        launch(module, "twice", 1)
    profile.write_html(tmp_path / "profile.html")
    profile.write_trace(tmp_path / "trace.json")
    assert "twice" in (tmp_path / "profile.html").read_text()
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [each["name"] for each in events if each.get("cat") == "kernel"] == ["twice"]
