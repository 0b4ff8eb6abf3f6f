"""The targets of the fuzzer, by name."""

from __future__ import annotations

from tests.fuzz.targets import libfuzzer, modules
from tests.fuzz.targets.activity import Activity
from tests.fuzz.targets.calls import Calls, Threads
from tests.fuzz.targets.ipc import Ipc
from tests.fuzz.targets.kernels import Kernels
from tests.fuzz.targets.streams import Streams
from tests.fuzz.targets.target import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Calls(),
        Threads(),
        *modules.TARGETS,
        Kernels(),
        Streams(),
        Ipc(),
        Activity(),
        *libfuzzer.TARGETS,
    )
}
