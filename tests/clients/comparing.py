"""Puts what became of tests on our device beside what became of them on the peer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from .devices import PEER
from .running import DIED, FAILED, PASSED, SKIPPED, FileResult


@dataclass
class FileComparison:
    """The tests of one file on every device that they ran on."""

    name: str
    results: dict[str, FileResult] = field(default_factory=dict)

    def passed(self, device: str) -> set[str]:
        return self.with_result(device, PASSED)

    def with_result(self, device: str, *kinds: str) -> set[str]:
        """The tests that ended this way on a device."""
        result = self.results.get(device, FileResult())
        return {name for name, outcome in result.tests.items() if outcome.result in kinds}

    def worse(self, device: str) -> dict[str, str]:
        """Tests that pass on the peer and fail here, with the reason that they give."""
        lost = self.with_result(device, FAILED, DIED)
        return self._reasons(device, lost & self.passed(PEER.name))

    def failing(self, device: str) -> dict[str, str]:
        """All tests that fail on a device, with the reason that they give."""
        return self._reasons(device, self.with_result(device, FAILED, DIED))

    def only_skipped_here(self, device: str) -> dict[str, str]:
        """Tests that pass on the peer and are skipped here, with the reason that they give."""
        skipped = self.with_result(device, SKIPPED)
        return self._reasons(device, skipped & self.passed(PEER.name))

    def _reasons(self, device: str, names: set[str]) -> dict[str, str]:
        """The reasons that some tests give."""
        return {name: self.results[device].tests[name].reason for name in sorted(names)}

    def share(self, device: str) -> tuple[int, int]:
        """How many tests pass, of those that pass on the peer and were run here."""
        here = self.with_result(device, PASSED, FAILED, DIED) & self.passed(PEER.name)
        return len(here & self.passed(device)), len(here)


def total_share(files: list[FileComparison], device: str) -> tuple[int, int]:
    """The same over all files."""
    shares = [each.share(device) for each in files]
    return sum(passing for passing, _ in shares), sum(there for _, there in shares)


def reasons(tests: dict[str, str]) -> Counter[str]:
    """How many tests give which reason."""
    return Counter(tests.values())
