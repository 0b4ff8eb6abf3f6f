"""The targets of the fuzzer, by name."""

from __future__ import annotations

from tests.fuzz.targets.calls import Calls, Threads
from tests.fuzz.targets.target import Target

TARGETS: dict[str, Target] = {target.name: target for target in (Calls(), Threads())}
