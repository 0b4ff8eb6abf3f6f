"""A profile as one document of plain values: what `--json` prints, and what is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from groundstate.profiler.counted import shares
from groundstate.profiler.host import Host, host_of
from groundstate.profiler.kernels import KernelProfile, kernels_of
from groundstate.profiler.reasons import reasons
from groundstate.profiler.recorded import Recorded
from groundstate.profiler.roof import Roof

MOST_LINES = 5
MOST_STACKS = 200
LEAST_SHARE = 0.05
"""Of the time, from which on something of the host is worth a sentence."""


def document(
    processes: Sequence[Recorded], roof: Roof | None, command: Sequence[str] = ()
) -> dict[str, Any]:
    """Everything that is known, the kernel with the most time first."""
    kernels = kernels_of(processes)
    hosts = [host_of(each) for each in processes]
    total = sum(each.total for each in kernels)
    return {
        "command": list(command),
        "workers": max((each.workers for each in processes), default=0),
        "roof": asdict(roof) if roof is not None else None,
        "wall_ms": _ms(max((each.wall for each in hosts), default=0)),
        "kernel_ms": _ms(total),
        "samples": sum(len(each.samples) for each in kernels),
        "dropped": sum(each.dropped for each in processes),
        "kernels": [_kernel(each, total, roof) for each in kernels],
        "processes": [_process(each) for each in hosts],
        "advice": [sentence for each in hosts for sentence in advice(each)],
    }


def _ms(nanoseconds: float) -> float:
    return round(nanoseconds / 1e6, 6)


def _kernel(of: KernelProfile, total: float, roof: Roof | None) -> dict[str, Any]:
    times = [of.nanoseconds(each) for each in of.timed]
    largest = max(of.launches, key=lambda each: each.group_count)
    made: dict[str, Any] = {
        "name": of.name,
        "group_size": list(of.group_size),
        "groups": list(largest.groups),
        "launches": len(of.launches),
        "ms": _ms(of.total),
        "share": of.total / total if total else 0.0,
        "mean_us": sum(times) / len(times) / 1e3,
        "shortest_us": min(times) / 1e3,
        "longest_us": max(times) / 1e3,
        "is_slowed": of.is_slowed,
        "utilisation": of.utilisation,
        "reuse": of.reuse,
        "reasons": reasons(of, roof),
        "samples": len(of.samples),
        "lines": [asdict(each) for each in of.hot_lines[:MOST_LINES]],
        "stacks": _stacks(of),
        "counted": None,
    }
    work = of.work
    if work is not None:
        made["counted"] = _counted(of, roof)
    return made


def _stacks(of: KernelProfile) -> list[dict[str, Any]]:
    return [
        {"frames": [list(frame) for frame in frames], "samples": number}
        for frames, number in of.stacks().most_common(MOST_STACKS)
    ]


def _counted(of: KernelProfile, roof: Roof | None) -> dict[str, Any]:
    work = of.work
    assert work is not None
    flops, moved = of.amount("flops"), of.amount("bytes")
    gflops, gbs = of.rate("flops"), of.rate("bytes")
    per_item = ("instructions", "flops", "bytes", "atomics", "barriers")
    outer = [each for each in work.sites if each.space != "local"]
    return {
        "groups": work.groups,
        "of_groups": work.all_groups,
        "gflops": gflops,
        "gbs": gbs,
        "of_gflops": gflops / roof.gflops if roof else None,
        "of_gbs": gbs / roof.gbs if roof else None,
        "flops_per_byte": flops / moved if moved else None,
        "lanes": work.lanes,
        "lanes_active": work.lanes_active,
        "per_item": {name: of.per_item(name) for name in per_item},
        "loads": shares([each for each in outer if each.words == "read"]),
        "stores": shares([each for each in outer if each.words == "write"]),
        "local_bytes_per_item": of.per_item("local_loaded") + of.per_item("local_stored"),
        "private_bytes_per_item": of.per_item("private_loaded") + of.per_item("private_stored"),
        "sites": [
            {
                "expression": each.expression,
                "file": each.place[0] if each.place else "",
                "line": each.place[1] if each.place else 0,
                "access": each.words,
                "kind": each.kind,
                "memory": each.space,
                "bytes_per_item": each.items * each.size / (work.groups * of.items_of_group),
            }
            for each in sorted(work.sites, key=lambda each: -each.items * each.size)
            if each.items
        ],
    }


def _process(of: Host) -> dict[str, Any]:
    calls = sorted(of.functions.items(), key=lambda each: -each[1][1])
    copies = [each for each in of.copies if not each.is_fill]
    fills = [each for each in of.copies if each.is_fill]
    return {
        "pid": of.pid,
        "wall_ms": _ms(of.wall),
        "device_busy_ms": _ms(of.device),
        "before_first_command_ms": _ms(of.first),
        "idle_ms": _ms(of.idle),
        "gaps": len(of.gaps),
        "longest_gap_ms": _ms(max((each.time for each in of.gaps), default=0)),
        "idle_by_cause_ms": {name: _ms(time) for name, time in of.causes().most_common()},
        "calling_ms": _ms(of.calling),
        "waiting_ms": _ms(of.waiting),
        "compiling_ms": _ms(of.compiling),
        "counting_ms": _ms(of.counting),
        "calls": [
            {"name": name, "calls": number, "ms": _ms(time), "longest_ms": _ms(longest)}
            for name, (number, time, longest) in calls
        ],
        "copies": _copies([(each.end - each.start, each.size) for each in copies]),
        "fills": _copies([(each.end - each.start, each.size) for each in fills]),
        "copies_that_could_overlap": _copies([(e.end - e.start, e.size) for e in of.alone]),
    }


def _copies(all_of_them: list[tuple[int, int]]) -> dict[str, Any]:
    time = sum(each for each, _ in all_of_them)
    size = sum(each for _, each in all_of_them)
    rate = size / time if time else 0.0
    return {"number": len(all_of_them), "ms": _ms(time), "bytes": size, "gbs": rate}


def advice(of: Host) -> list[str]:
    """What the host could do better, in sentences."""
    found = []
    span = of.device + of.idle
    if of.device == 0:
        return ["the process used no device"] if of.functions else []
    if of.idle > LEAST_SHARE * span:
        (cause, time), *_ = of.causes().most_common(1)
        found.append(
            f"the device was idle for {of.idle / span:.0%} of the time from its first command to "
            f"its last ({_words(of.idle)} in {_count(len(of.gaps), 'gap')}): for {_words(time)} "
            f"of that the host was in {cause}"
        )
    if of.compiling > LEAST_SHARE * of.wall:
        found.append(
            f"kernels were compiled or loaded for {_words(of.compiling)}, "
            f"{of.compiling / of.wall:.0%} of the time: the second run of a program finds most "
            "of them in the kernel cache"
        )
    if of.alone:
        time = sum(each.end - each.start for each in of.alone)
        if time > LEAST_SHARE * span:
            found.append(
                f"{_count(len(of.alone), 'copy', 'copies')} of {_words(time)} could overlap with "
                "kernels that do not use their memory: give them a queue of their own"
            )
    if of.calling > of.device and of.calling > LEAST_SHARE * of.wall:
        own = {n: v for n, v in of.functions.items() if "Synchronize" not in n}
        name, (number, time, _) = max(own.items(), key=lambda each: each[1][1])
        found.append(
            f"calls took {_words(of.calling)}, more than the device worked: most of it "
            f"{name} ({_count(number, 'call')}, {_words(time)})"
        )
    return found


def _words(nanoseconds: float) -> str:
    """A time for a sentence.

    >>> _words(1_500), _words(2_500_000), _words(3_210_000_000)
    ('1.5 us', '2.5 ms', '3.21 s')
    """
    if nanoseconds < 1e6:
        return f"{nanoseconds / 1e3:.1f} us"
    return f"{nanoseconds / 1e6:.1f} ms" if nanoseconds < 1e9 else f"{nanoseconds / 1e9:.2f} s"


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
