"""The pytest plugin: `pytest --groundstate-check` fails the test whose kernels or calls were wrong.

pytest imports this wherever the package is installed, so it imports next to nothing before it is
asked to check something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from groundstate.check.pytest_checks import Checks

CHECKS = "groundstate-checks"
OPTION = "--groundstate-check"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("groundstate", "checked mode of the Level Zero device")
    group.addoption(
        OPTION,
        metavar="LIST",
        nargs="?",
        const="1",
        help="fail tests whose kernels or calls are wrong; =LIST looks only for these mistakes, "
        "such as memory,host",
    )
    group.addoption(
        "--groundstate-suppress",
        metavar="FILE",
        action="append",
        default=[],
        help="do not report what the lines of this file name",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Switches checked mode on, before anything is imported that may start the driver."""
    options = early_config.known_args_namespace
    _leave_next_argument(options, args)
    if getattr(options, "groundstate_check", None):
        early_config.pluginmanager.register(_make(options), CHECKS)


def _leave_next_argument(options: Any, args: list[str]) -> None:
    """Without `=LIST`, the option takes nothing: what follows it is the name of a test."""
    if OPTION in args:
        if options.groundstate_check not in (None, "1"):
            options.file_or_dir.insert(0, options.groundstate_check)
        options.groundstate_check = "1"
        args[:] = [f"{OPTION}=1" if each == OPTION else each for each in args]


def pytest_configure(config: pytest.Config) -> None:
    """Does so, too, where pytest was started without a command line of its own."""
    config.addinivalue_line(
        "markers",
        "groundstate_allow(*kinds): do not fail the test for findings of these kinds, such as "
        "'out-of-bounds-*'",
    )
    if config.option.groundstate_check and not config.pluginmanager.hasplugin(CHECKS):
        config.pluginmanager.register(_make(config.option), CHECKS)


def _make(options: Any) -> Checks:
    from groundstate.check.pytest_checks import make_checks

    return make_checks(options)
