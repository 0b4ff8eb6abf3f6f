"""Prints the lowest versions that pyproject.toml allows, as constraints for pip.

    python tools/lowest_versions.py [EXTRA...] > constraints.txt

What Groundstate needs, and what the named extras need: `rich>=13,<16` becomes `rich==13`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"

_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(?:\[(?P<extras>[^\]]*)\])?(?P<versions>[^;]*)(?:;(?P<marker>.*))?"
)
_LOWEST = re.compile(r"(?:>=|==)\s*([\w.]+)")


def requirements(project: dict[str, Any], extras: list[str]) -> list[str]:
    """The requirements of a project and of some of its extras, which may name further extras."""
    found = list(project["dependencies"])
    for extra in extras:
        for requirement in project["optional-dependencies"][extra]:
            name, nested, _ = parts(requirement)
            found += requirements(project, nested) if name == project["name"] else [requirement]
    return list(dict.fromkeys(found))


def parts(requirement: str) -> tuple[str, list[str], str]:
    """The name, the extras and the versions of a requirement.

    >>> parts("rich[jupyter]>=13,<16; python_version > '3'")
    ('rich', ['jupyter'], '>=13,<16')
    """
    match = _REQUIREMENT.fullmatch(requirement)
    assert match is not None, requirement
    extras = [extra.strip() for extra in (match["extras"] or "").split(",") if extra.strip()]
    return match["name"], extras, match["versions"].strip()


def lowest(requirement: str) -> str:
    """The constraint that leaves only the lowest version.

    >>> lowest("rich>=13,<16")
    'rich==13'
    """
    name, _, versions = parts(requirement)
    match = _LOWEST.search(versions)
    if match is None:
        raise ValueError(f"{requirement} has no lower bound")
    return f"{name}=={match[1]}"


def main(extras: list[str]) -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    for requirement in requirements(project, extras):
        print(lowest(requirement))


if __name__ == "__main__":
    main(sys.argv[1:])
