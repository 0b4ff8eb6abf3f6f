"""For pytest: tests that compile OpenCL C run without the compiler, with the kept SPIR-V.

A test whose SPIR-V is not kept is skipped there, with a reason that says what to install.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

from groundstate import knobs
from tests import prebuilt

REASON = "OpenCL C cannot be compiled here: install ziglang (pip install 'groundstate[opencl]')"
NOT_KEPT = f"the SPIR-V of a kernel is not kept, and {REASON}"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "needs_compiler: compiles OpenCL C that is not kept as SPIR-V: it is made by chance, or "
        "the compiler itself is tested",
    )
    if prebuilt.missing_compiler():
        os.environ[knobs.PREBUILT_SPIRV.name] = str(prebuilt.FOLDER)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("needs_compiler") and prebuilt.missing_compiler():
        pytest.skip(REASON)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, Any]:
    report = yield
    missing = prebuilt.missing_compiler() if report.failed else ""
    if missing:
        said = "\n".join([report.longreprtext, *(text for _, text in report.sections)])
        if missing in said:  # the front end's sentence, wherever it came out
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {NOT_KEPT}")
    return report
