"""What pyproject.toml asks for: every requirement has both bounds, and CI takes the newest."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SCRIPT = REPOSITORY / "tools" / "lowest_versions.py"
PYPROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
REQUIREMENTS = {
    requirement
    for requirements in (
        PYPROJECT["build-system"]["requires"],
        PROJECT["dependencies"],
        *PROJECT["optional-dependencies"].values(),
    )
    for requirement in requirements
    if not requirement.startswith(PROJECT["name"])
}


@pytest.mark.parametrize("requirement", sorted(REQUIREMENTS))
def test_requirement_has_lower_and_upper_bound(requirement: str) -> None:
    versions = requirement.partition(";")[0]
    assert "==" in versions or (">=" in versions and "<" in versions)


@pytest.mark.parametrize("requirement", sorted(REQUIREMENTS))
def test_package_has_one_range_everywhere(requirement: str) -> None:
    """Two ranges of one package would make the lowest version of one of them a mistake."""
    name = requirement.partition(">=")[0].partition("==")[0]
    assert [each for each in REQUIREMENTS if each.startswith((f"{name}>", f"{name}="))] == [
        requirement
    ]


def lowest_versions(*extras: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, SCRIPT, *extras], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_lowest_versions_are_those_of_pyproject() -> None:
    found = lowest_versions("test")
    for requirement in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["opencl"]):
        name, version = requirement.partition(",")[0].split(">=")
        assert f"{name}=={version}" in found


def test_lowest_versions_follow_extras_of_extras() -> None:
    """`test` asks for the extras of the features, whose packages it does not name again."""
    names = {line.partition("==")[0] for line in lowest_versions("test")}
    assert {"lupa", "prometheus-client", "textual", "zstandard", "pytest"} <= names
    assert "groundstate" not in names


def test_ci_takes_the_newest_versions() -> None:
    """In an environment that is there already, pip would be content with older ones."""
    script = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    assert "PIP_UPGRADE=1" in script
    assert "PIP_UPGRADE_STRATEGY=eager" in script
    install = (REPOSITORY / "Makefile").read_text(encoding="utf-8").partition("# --- Setting up")[2]
    assert "--constraint" not in install


OPTION = re.compile(
    r"--(?:platform|dest|target|python-version|only-binary|requirement|constraint) \S+|--\S+"
)


def test_makefile_packages_have_upper_bounds() -> None:
    text = re.sub(r"\\\n\s*", "", (REPOSITORY / "Makefile").read_text(encoding="utf-8"))
    commands = re.findall(r"-m pip (?:install|download) ([^|;\n]*)", text)
    commands += re.findall(r"^CLIENT_TESTS = (.*)", text, re.MULTILINE)
    words = [word for each in commands for word in shlex.split(OPTION.sub("", each))]
    packages = [word for word in words if not word.startswith((".[", "$("))]
    assert "dpctl==0.22.*" in packages
    assert [each for each in packages if not re.search("==|<", each)] == []
