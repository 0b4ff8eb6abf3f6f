"""Sequences of API calls, from one thread and from eight: `tests.fuzz.calls`."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.fuzz.calls import generate
from tests.fuzz.targets.target import Generator, Verdict

MACHINE = Path(__file__).parents[2] / "machines" / "laptop"


class Calls(Generator):
    """What programs may call, in any order and with any arguments."""

    name = "calls"
    summary = "sequences of API calls"
    suffix = ".json"
    threads = 1
    longest = 60
    deadline_s = 30.0
    memory_bytes = 64 << 30  # each kind of object reserves 512 MiB

    @cached_property
    def environment(self) -> dict[str, str]:
        """A copy of a recorded machine stands for this one, which system management can change."""
        self._temporary = tempfile.TemporaryDirectory(prefix="groundstate-fuzz-")
        machine = Path(self._temporary.name) / "machine"
        shutil.copytree(MACHINE, machine)
        return {
            "GROUNDSTATE_CACHE": f"{self._temporary.name}/cache",
            "GROUNDSTATE_KERNEL_LIMIT": "200ms",
            "GROUNDSTATE_MEMORY": "1G",
            "GROUNDSTATE_SYSFS_ROOT": str(machine),
            "GROUNDSTATE_THREADS": "2",
        }

    def generate(self, chance: random.Random) -> bytes:
        calls = generate.sequence(chance, chance.randint(1, self.longest))
        return encode({"threads": self.threads, "calls": calls})

    def prepare(self) -> None:
        from tests.fuzz.calls.bench import Bench

        self._bench = Bench()
        self._bench.run([], 1)

    def run(self, case: bytes) -> Verdict:
        given = json.loads(case)
        wrong = self._bench.run(given["calls"], given["threads"])
        return Verdict("\n".join(wrong), is_spent=not self._bench.is_clean())

    def reductions(self, case: bytes) -> Iterator[bytes]:
        given = json.loads(case)
        calls = given["calls"]
        size = (len(calls) + 1) // 2
        while size and len(calls) > 1:
            for start in range(0, len(calls), size):
                yield encode(given | {"calls": calls[:start] + calls[start + size :]})
            size //= 2
        for number, (name, arguments) in enumerate(calls):
            for parameter, value in arguments.items():
                for simpler in simpler_values(value):
                    changed = [name, {**arguments, parameter: simpler}]
                    yield encode(
                        given | {"calls": [*calls[:number], changed, *calls[number + 1 :]]}
                    )


class Threads(Calls):
    """The same from eight threads, which use and destroy each other's objects."""

    name = "threads"
    summary = "the same from eight threads"
    threads = 8
    longest = 160


def encode(case: dict[str, Any]) -> bytes:
    """A line for each call, so that a case can be read."""
    lines = ",\n".join(json.dumps(call) for call in case["calls"])
    return f'{{"threads": {case["threads"]}, "calls": [\n{lines}\n]}}\n'.encode()


def simpler_values(value: Any) -> Iterator[Any]:
    """What could stand in the place of a value and says less."""
    if not isinstance(value, list):
        if value not in (None, 0):
            yield 0
        return
    if value[0] in ("struct", "inline"):
        for field in value[-1]:
            yield [*value[:-1], {name: each for name, each in value[-1].items() if name != field}]
    elif value[0] in ("live", "dead", "other") and value[1]:
        yield [value[0], 0]
    yield None
