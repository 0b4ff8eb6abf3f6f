"""What the programs of this folder are made of: cases with a label, run in one process.

`python -m tests.check.host.wrong_calls` runs the cases of that file and prints, as JSON, what was
found in each. A case is a function of a workbench, which it leaves as it found it.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from groundstate import findings, ze
from groundstate.compiler.opencl import frontend
from tests.conftest import check
from tests.driver.kernels import KernelBench

Case = Callable[[KernelBench], None]
SECOND = 1_000_000_000
COPY = """
kernel void copy(global uint *to, global const uint *from) {
    to[get_global_id(0)] = from[get_global_id(0)];
}
"""


class Cases:
    """The cases of a file, with the kinds of findings that are expected of each."""

    def __init__(self) -> None:
        self.all: dict[str, Case] = {}
        self.expected: dict[str, list[str]] = {}

    def expect(self, *kinds: str) -> Callable[[Case], Case]:
        """Labels a case: the kinds that are to be found, none for a program that is right."""

        def enter(case: Case) -> Case:
            name = case.__name__
            self.all[name], self.expected[name] = case, sorted(kinds)
            return case

        return enter

    def run_one_by_one(self) -> None:
        """Runs one case after the other, and prints what was found in each."""
        output = os.environ["GROUNDSTATE_CHECK_OUTPUT"]
        found = {}
        for number, (name, case) in enumerate(self.all.items()):
            with open(output, "wb") as file:  # so that everything is told anew
                file.write(findings.GENERATION + f'{number:08}"}}\n'.encode())
            with bench() as made:
                case(made)
                if not self.expected[
                    name
                ]:  # what is right ends by itself; its bench signals all events
                    made.settle_all(SECOND)
            found[name] = findings_in(output)
        json.dump(found, sys.stdout)

    def run_together(self) -> None:
        """Runs all cases at once, as most of them wait, and prints what was found."""
        failures: list[BaseException] = []

        def run(case: Case, made: KernelBench) -> None:
            try:
                case(made)
            except BaseException as problem:
                failures.append(problem)

        benches = [new_bench() for _ in self.all]
        threads = [
            threading.Thread(target=run, args=pair)
            for pair in zip(self.all.values(), benches, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for made in benches:
            made.close()
        if failures:
            raise failures[0]
        found = findings_in(os.environ["GROUNDSTATE_CHECK_OUTPUT"])
        apart = {name: [each for each in found if name in calls_of(each)] for name in self.all}
        json.dump(apart, sys.stdout)


def findings_in(output: str) -> list[dict[str, Any]]:
    """The findings in a file, which also tells which checkers are on."""
    with open(output, encoding="utf-8") as lines:
        return [each for each in map(json.loads, lines) if "kind" in each]


def calls_of(finding: dict[str, Any]) -> list[str]:
    """The functions that led to a finding."""
    return [place["beside"].removesuffix("()") for place in finding["places"]]


def new_bench() -> KernelBench:
    check(ze.zeInit(0))
    driver, device, one = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint32(1)
    check(ze.zeDriverGet(ctypes.byref(one), ctypes.byref(driver)))
    check(ze.zeDeviceGet(driver, ctypes.byref(one), ctypes.byref(device)))
    assert driver.value is not None
    assert device.value is not None
    return KernelBench(driver.value, device.value)


@contextmanager
def bench() -> Iterator[KernelBench]:
    made = new_bench()
    yield made
    made.close()


def copy_kernel(made: KernelBench, *arguments: object) -> int:
    """The kernel `copy`, with these arguments."""
    module = made.module_of(frontend.compile_opencl(COPY))
    return made.kernel_in(module, "copy", *arguments, size=(4, 1, 1))
