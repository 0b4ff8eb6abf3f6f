"""What profiles need to know of kernels that only Python knows: lines, and what blocks do.

It goes into the profile as JSON, beside the records of the native half (native/profile/).
"""

from __future__ import annotations

import os

from groundstate import knobs
from groundstate.driver.api import request
from groundstate.driver.module import EntryPoint, all_entry_points
from groundstate.driver.native import _call
from groundstate.driver.native_kernel import COUNTS

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from groundstate.compiler.program import KernelCode
    from groundstate.driver.native_kernel import Size

MOST_LINE_CHARACTERS = 200


def start(folder: str) -> None:
    """Begins the profile of this process in a folder: GROUNDSTATE_PROFILE."""
    path = os.path.join(folder, f"{os.getpid()}.profile")
    counts = knobs.PROFILE_COUNTERS.get()
    if not _call("gs_profile_start", os.fsencode(path), counts):
        text = f"groundstate: no profile can be written into {folder} (GROUNDSTATE_PROFILE)\n"
        os.write(2, text.encode("utf-8", "replace"))


def is_written() -> bool:
    """Whether there is a profile."""
    return bool(_call("gs_profile_is_written"))


def tell_lines(entry_point: EntryPoint, size: Size, code: KernelCode) -> None:
    """The places in the source that code comes from."""
    if code.lines is None:
        return
    locations = code.lines.locations
    _tell(
        kind="lines",
        run=code.address,
        entry_point=entry_point.address,
        size=size,
        width=code.width,
        locations=locations,
        texts=_texts(entry_point, (each[:2] for each in locations)),
    )


def tell_counting(entry_point: EntryPoint, size: Size, code: KernelCode) -> None:
    """What the blocks of code that counts do, and where."""
    table: dict[str, Any] = next((each for each in code.sites if each["checker"] == COUNTS), {})
    _tell(
        kind="counting",
        entry_point=entry_point.address,
        size=size,
        costs=table.get("costs", []),
        accesses=table.get("accesses", []),
        branches=table.get("branches", []),
        barriers=table.get("barriers", []),
        places=table.get("places", []),
        texts=_texts(entry_point, (each[:2] for each in table.get("places", []))),
    )


@request
def describe_kernels() -> None:
    """Describes all code that there is, for a profile that begins now."""
    for entry_point in all_entry_points():
        for size, codes in list(entry_point.variants.items()):
            for code in list(codes):
                tell_lines(entry_point, size, code)
        for size, code in list(entry_point.counting_codes.items()):
            tell_counting(entry_point, size, code)


def _texts(entry_point: EntryPoint, lines: Iterable[Any]) -> list[tuple[str, int, str]]:
    """The lines of the source, as far as they can be had."""
    texts = entry_point.module.program.source_texts
    found = []
    for file, number in dict.fromkeys((file, number) for file, number in lines):
        text = texts.line(file, number)
        if text is not None:
            found.append((file, number, text.rstrip()[:MOST_LINE_CHARACTERS]))
    return found


def _tell(**values: object) -> None:
    import json

    text = json.dumps(values).encode()
    _call("gs_profile_text", text, len(text))
