"""A kernel compiled and run, in a process of its own: `python -m groundstate.doctor.trial`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from groundstate import knobs
from groundstate.doctor import metrics
from groundstate.doctor.finding import Finding, State

SECTION = "Device"
COUNT = 4096
RUNS = 10
TIME_LIMIT_S = 120
KERNEL = Path(__file__).with_name("square.spv")
OWN = "groundstate: "
"""How a sentence of the driver begins."""
SOURCE = "kernel void square(global int *n) { int i = get_global_id(0); n[i] = i * i; }"


def check() -> Iterator[Finding]:
    """The devices, and what became of the kernel."""
    command = [sys.executable, "-m", "groundstate.doctor.trial"]
    environment = {**os.environ, knobs.CACHE.name: "0"}  # to see what compiling takes
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT_S
        )
    except subprocess.TimeoutExpired:
        text = f"did not end within {TIME_LIMIT_S} s"
        yield Finding(SECTION, "kernel", State.WRONG, text)
        return
    facts = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    yield from (finding for fact in facts for finding in findings(fact))
    if done.returncode != 0:
        yield Finding(SECTION, "kernel", State.WRONG, reason(done))


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """Why the process has ended before its time."""
    if done.returncode < 0:
        return f"ended by {signal.Signals(-done.returncode).name}"
    said = done.stderr.strip().splitlines()
    own = [line.removeprefix(OWN) for line in said if line.startswith(OWN)]
    return (own or said[-1:] or [f"ended with status {done.returncode}"])[0]


def findings(fact: dict[str, Any]) -> Iterator[Finding]:
    """A fact of the other process, to read."""
    if "device" in fact:
        text = f"{fact['name']}, {fact['cores']} threads, {fact['memory'] / 2**30:.1f} GiB"
        yield Finding(SECTION, f"device {fact['device']}", State.OK, text)
    elif "metrics" in fact:
        yield from metrics.findings(SECTION, fact["metrics"], fact["package"])
    elif fact["wrong"]:
        text = f"{fact['wrong']} of {COUNT} numbers are wrong"
        yield Finding(SECTION, fact["kernel"], State.WRONG, text)
    else:
        text = f"compiled in {fact['compile_s'] * 1e3:.0f} ms, run in {fact['run_s'] * 1e6:.0f} us"
        yield Finding(SECTION, fact["kernel"], State.OK, f"{text}, {COUNT} right numbers")


def main() -> None:
    """The other process: says what it found as soon as it knows."""
    import groundstate as gs

    devices = gs.devices()
    for number, device in enumerate(devices):
        say(device=number, name=device.name, cores=cores(device), memory=device.memory_bytes)
    kinds = {"metrics": metrics.PROCESSOR, "package": metrics.PACKAGE}
    say(**{name: metrics.names_of(devices[0], kind) for name, kind in kinds.items()})
    with gs.Context(devices[0]) as context:
        try_kernel(context, "SPIR-V kernel", spirv=KERNEL.read_bytes())
        if has_opencl():
            try_kernel(context, "OpenCL C kernel", opencl=SOURCE)


def cores(device: Any) -> int:
    """How many hardware threads a device has."""
    facts = device.properties
    return int(facts.num_slices * facts.num_subslices_per_slice * facts.num_eus_per_subslice)


def has_opencl() -> bool:
    """Whether there is a compiler for OpenCL C."""
    from groundstate.compiler.opencl import clang

    try:
        clang.find()
    except clang.ClangMissingError:
        return False
    return True


def try_kernel(context: Any, name: str, **program: Any) -> None:
    """Compiles a kernel, runs it, and compares what it has written."""
    import groundstate as gs

    start = time.perf_counter()
    with (
        gs.Module(context, **program) as module,
        gs.Kernel(module, "square") as kernel,
        gs.CommandList.immediate(context) as commands,
    ):
        numbers = context.alloc_shared(COUNT, "int32")
        kernel(commands, COUNT // 64, 64, numbers)
        commands.synchronize()
        compiled = time.perf_counter()
        fastest = float("inf")
        for _ in range(RUNS):
            start_of_run = time.perf_counter()
            kernel(commands, COUNT // 64, 64, numbers)
            commands.synchronize()
            fastest = min(fastest, time.perf_counter() - start_of_run)
        wrong = sum(value != n * n for n, value in enumerate(numbers.tolist()))
    say(kernel=name, compile_s=compiled - start, run_s=fastest, wrong=wrong)


def say(**facts: object) -> None:
    """Tells the doctor."""
    print(json.dumps(facts), flush=True)


CHECKS = (check,)

if __name__ == "__main__":
    main()
