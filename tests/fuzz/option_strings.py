"""Options for builds as a stranger might write them."""

from __future__ import annotations

import random

WORDS = (
    "-ze-opt-level",
    "-ze-opt-level=2",
    "-ze-opt-disable",
    "-cl-std=CL3.0",
    "-cl-std=",
    "-cl-mad-enable",
    "-D",
    "-DX=1",
    "-I",
    "-I/",
    "-W",
    "-Wall",
    "-Wp,-MD,/dev/null",
    "-O0",
    "-g",
    "@/etc/passwd",
    "--",
    "-",
    "=",
    ",",
    "'",
    '"',
    "\\",
    "\x1b[2J",
    "\n",
    "\ud800",
    "ß",
    "x" * 300,
    "-" + "y" * 300,
)


def options(random: random.Random) -> str:
    """Some words, in any order, with anything between them."""
    count = random.choice((0, 1, 2, 3, 8, 40))
    between = (" ", ",", "", "\t", "=")
    return "".join(random.choice(WORDS) + random.choice(between) for _ in range(count))
