"""Portability: schedules that vary by a seed, and limits of named GPUs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from groundstate import knobs
from groundstate.driver.checking.gpus import GPUS

KERNELS = """
kernel void order(global int *out) {
    if (get_local_id(0) == 0) out[atomic_inc(out + 256)] = get_group_id(0);
}
kernel void subgroups(global int *out) {
    if (get_sub_group_local_id() == 0) out[atomic_inc(out + 256)] = get_sub_group_id();
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (get_sub_group_local_id() == 0) out[atomic_inc(out + 256)] = get_sub_group_id();
    out[128] = get_max_sub_group_size();
}
kernel void contents(global int *out, local int *scratch) {
    out[get_global_id(0)] = scratch[get_local_id(0)];
}
kernel void sums(global int *out) {
    local int own[64];
    own[get_local_id(0)] = get_global_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        int sum = 0;
        for (int i = 0; i < 64; i++) sum += own[i];
        out[get_group_id(0)] = sum;
    }
}
"""
PROGRAM = f"""
import json, sys
import groundstate as gs
context = gs.default_context()
out = context.alloc_shared(512, "int32")
fresh = out.numpy()[:4].tolist()
commands, module = context.default_list(), gs.Module(context, opencl='''{KERNELS}''')
found = {{"fresh": fresh}}
for name, groups, more in (("order", 13, ()), ("subgroups", 1, ()), ("sums", 13, ()),
                           ("contents", 1, (gs.Local(256),))):
    out.numpy()[:] = 0
    module[name](commands, groups, 64, out, *more)
    commands.synchronize()
    count = int(out.numpy()[256])
    found[name] = out.numpy()[: count or 13].tolist()
    found["size"] = found.get("size") or int(out.numpy()[128])
print(json.dumps(found))
"""


def run(seed: int, before: str = "", **more: str) -> dict[str, Any]:
    """What the kernels above leave with a seed."""
    ended = subprocess.run(
        [sys.executable, "-c", before + PROGRAM],
        env=os.environ | {"GROUNDSTATE_CHECK_VARY": str(seed), "GROUNDSTATE_THREADS": "1"} | more,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_order_of_groups_follows_from_the_seed() -> None:
    usual, first, again, second = run(0), run(1), run(1), run(2)
    assert usual["order"] == list(range(13))
    assert sorted(first["order"]) == sorted(second["order"]) == usual["order"]
    assert first["order"] != usual["order"]
    assert second["order"] not in (usual["order"], first["order"])
    assert first == again
    assert first["sums"] == usual["sums"]


def test_subgroups_vary_in_size_and_order() -> None:
    assert [run(seed)["size"] for seed in (2, 3)] == [32, 8]
    found = [run(seed) for seed in (1, 4, 7, 10)]
    assert {each["size"] for each in found} == {16}
    orders = {tuple(each["subgroups"]) for each in found}
    assert len(orders) == 4
    for order in orders:
        assert sorted(order[:4]) == sorted(order[4:]) == [0, 1, 2, 3]


def test_undefined_contents_follow_from_the_seed() -> None:
    usual, first, second = run(0), run(1), run(2)
    assert set(usual["fresh"]) == {0}
    for name in ("fresh", "contents"):
        assert 0 not in first[name]
        assert first[name] != second[name]


def test_checkers_work_while_schedules_vary() -> None:
    assert run(5, GROUNDSTATE_CHECK="memory,races,sync,arithmetic")["sums"] == run(0)["sums"]


# --- The command ----------------------------------------------------------------------------------


def check(*arguments: str, program: str = PROGRAM) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "groundstate", "check", *arguments, "--"]
    return subprocess.run(
        [*command, sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )


def test_one_seed_is_named_in_the_summary() -> None:
    ended = check("--only", "races", "--vary", "3")
    assert ended.returncode == 0, ended.stderr
    assert "no findings (races checked); schedules varied by seed 3" in ended.stderr


def test_seeds_that_change_the_output_are_named() -> None:
    ended = check("--only", "memory", "--vary", "1..2")
    assert ended.returncode == 86
    assert ended.stdout.count("\n") == 1
    assert "groundstate check: seed 1: line 1 of the output is" in ended.stderr
    assert "2 of seeds 1 to 2 ended or printed something else" in ended.stderr


STEADY = "import os; print('same'); raise SystemExit(4 * (os.environ[%r] == '2'))"


def test_seed_that_changes_the_exit_status_is_named(tmp_path: Path) -> None:
    report = tmp_path / "check.json"
    program = STEADY % knobs.CHECK_VARY.name
    ended = check("--json", "-o", str(report), "--vary", "1..3", program=program)
    assert ended.returncode == 86
    values = json.loads(report.read_text())
    assert values["seeds"] == [1, 2, 3]
    assert values["differences"] == ["seed 2: the exit status is 4 instead of 0"]


@pytest.mark.parametrize("text", ["0", "x", "3..1", "1..", "1..2000"])
def test_seed_that_is_none_is_refused(text: str) -> None:
    ended = check("--vary", text)
    assert ended.returncode == 2
    assert "seed" in ended.stderr


# --- Named GPUs -----------------------------------------------------------------------------------

LARGE = """
import sys
import groundstate as gs
source = '''
kernel void plain(global int *out) { out[get_global_id(0)] = 1; }
kernel void tiled(global int *out, local int *tile) {
    tile[get_local_id(0)] = 1;
    out[get_global_id(0)] = tile[get_local_id(0)];
}
__attribute__((intel_reqd_sub_group_size(8))) kernel void narrow(global int *out) {
    out[get_global_id(0)] = get_sub_group_size();
}'''
context = gs.default_context()
out = context.alloc_shared(1024, "int32")
commands, module = context.default_list(), gs.Module(context, opencl=source)
module["plain"](commands, 1, int(sys.argv[1]), out)
module["tiled"](commands, 1, 64, out, gs.Local(int(sys.argv[2])))
module[sys.argv[3]](commands, 1, 64, out)
commands.synchronize()
"""


def limits(device: str, *arguments: str, before: str = "") -> set[str]:
    command = [sys.executable, "-m", "groundstate", "check", "--json", "--device", device, "--"]
    ended = subprocess.run(
        [*command, sys.executable, "-c", before + LARGE, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return {each["kind"] for each in json.loads(ended.stdout)["findings"]}


def test_gpu_has_the_names_of_its_knob() -> None:
    assert ("none", *GPUS) == knobs.CHECK_DEVICE.choices


def test_launches_that_a_gpu_could_not_run_are_reported() -> None:
    group, memory = "oversized-group", "oversized-local-memory-use"
    assert limits("uhd-630", "512", "66000", "narrow") == {group, memory}
    assert limits("uhd-770", "512", "65536", "narrow") == set()
    assert limits("max-1550", "1024", "66000", "narrow") == {"unsupported-sub-group-size"}
    assert limits("max-1550", "1024", "66000", "plain") == set()


# --- Broken on purpose ----------------------------------------------------------------------------

NO_LIMITS = """
from groundstate.driver.checking import portability
portability._device = lambda: None
"""
STEADY_TARGET = """
from groundstate.driver.checking import portability
portability.varied_target = lambda: None
"""


def test_broken_checker_reports_no_limits() -> None:
    assert limits("uhd-630", "512", "66000", "plain", before=NO_LIMITS) == set()


def test_broken_seed_varies_no_subgroups() -> None:
    assert run(2, GROUNDSTATE_CACHE="0")["size"] == 32
    steady = run(2, before=STEADY_TARGET, GROUNDSTATE_CACHE="0")
    assert steady["size"] == run(0)["size"]
