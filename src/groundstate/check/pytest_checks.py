"""What the pytest plugin does in checked mode: each test is asked what its kernels did wrong."""

from __future__ import annotations

import os
from collections.abc import Generator
from fnmatch import fnmatchcase
from typing import Any

import pytest

from groundstate import findings, knobs
from groundstate.check import suppressions
from groundstate.check.collected import Collected
from groundstate.findings import Finding

TITLE = "groundstate check"


class Checks:
    """Reads what the driver finds in this process and its children, test by test."""

    def __init__(self, collected: Collected, changes: dict[str, str]) -> None:
        self._collected = collected
        self._count = 0
        self._before = {name: os.environ.get(name) for name in changes}
        os.environ.update(changes)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._collected.empty()
        return (yield from self._checked(item, "setup"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from self._checked(item, "call"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from self._checked(item, "teardown"))

    def pytest_report_header(self) -> str:
        """What is looked for."""
        return f"groundstate: checked mode, GROUNDSTATE_CHECK={knobs.CHECK.text()}"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """How many findings there were, in this process."""
        if self._count:
            what = "1 finding" if self._count == 1 else f"{self._count} findings"
            terminalreporter.write_line(f"{TITLE}: {what} in these tests", red=True)

    def pytest_unconfigure(self) -> None:
        """What is found from now on, such as leaks at the end of the process, goes to stderr."""
        self._collected.close()
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def _checked(self, item: pytest.Item, phase: str) -> Generator[None, Any, Any]:
        """Fails a phase of a test for what was found in it; one that failed anyway shows it."""
        try:
            result = yield
        except BaseException:
            if text := self._found(item):
                item.add_report_section(phase, TITLE, text)
            raise
        if text := self._found(item):
            pytest.fail(text, pytrace=False)
        return result

    def _found(self, item: pytest.Item) -> str:
        """The reports of what was found since this was last asked."""
        allowed = [kind for mark in item.iter_markers("groundstate_allow") for kind in mark.args]
        self._collected.read()
        told = [each for each in self._collected.findings if not _is_allowed(each, allowed)]
        self._collected.empty()
        self._count += len(told)
        if not told:
            return ""
        reports = [findings.render(each) for each in told]
        return "\n\n".join([*reports, f"{TITLE}: {findings.summary(told)}"])


def make_checks(options: Any) -> Checks:
    """Checks with the options of a command line; UsageError if they make no sense."""
    named = options.groundstate_check
    words = [each.strip() for each in named.split(",")]
    if named != "1" and not set(words) <= set(knobs.CHECK.words):
        known = ", ".join(knobs.CHECK.words)
        raise pytest.UsageError(f"--groundstate-check: '{named}' is not a list of {known}")
    try:
        known_findings = [
            line for path in options.groundstate_suppress for line in suppressions.read(path)
        ]
    except (OSError, ValueError) as problem:
        raise pytest.UsageError(f"--groundstate-suppress: {problem}") from None
    collected = Collected(known_findings)
    return Checks(collected, collected.environment() | {knobs.CHECK.name: named})


def _is_allowed(finding: Finding, kinds: list[str]) -> bool:
    return any(fnmatchcase(finding.kind, kind) for kind in kinds)
