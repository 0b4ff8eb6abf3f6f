"""Puts the capture library where programs look for the Level Zero loader."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from pathlib import Path

from groundstate import knobs, standin
from groundstate.capture.scripting.script import Script
from groundstate.capture.stream.formats import HEADER_SIZE
from groundstate.capture.stream.layout import SUFFIX, Header, StreamError

LOADER = "libze_loader.so.1"


def driver() -> Path:
    """The driver's library, also in a program that is being recorded."""
    path = standin.library()
    recorded = path.name == standin.CAPTURE_NAME
    return path.with_name("libze_groundstate.so.1") if recorded else path


def library() -> Path:
    """The capture library, which lies beside the driver."""
    path = driver().with_name(standin.CAPTURE_NAME)
    if not path.is_file():
        raise standin.LibraryMissing(f"{path} is missing. Build it with 'make native'.")
    return path


def environment(
    current: Mapping[str, str],
    out: Path | None,
    *,
    real_loader: bool = False,
    tools: bool = False,
    results: bool = False,
    times: bool = True,
    pages: str = knobs.CAPTURE_PAGES.default,
    script: Script | None = None,
) -> dict[str, str]:
    """The variables that make a program's calls be recorded into the folder `out`, if there is one,
    and be hooked by a script."""
    following = machine_loader() if real_loader else driver()
    changes = {"ZE_ENABLE_ALT_DRIVERS": str(driver())}
    changes |= standin.in_front(standin.folder_for(library()), current)
    changes |= standin.opencl_compiler(current)
    changes[knobs.LIBRARY.name] = str(library())  # where this package's own bindings look
    changes[knobs.CAPTURE_NEXT.name] = str(following)
    changes[knobs.CAPTURE_OUT.name] = str(out.resolve()) if out is not None else ""
    changes[knobs.CAPTURE_TOOLS.name] = str(int(tools))
    changes[knobs.CAPTURE_RESULTS.name] = str(int(results))
    changes[knobs.CAPTURE_TIMES.name] = str(int(times))
    changes[knobs.CAPTURE_PAGES.name] = pages
    if out is not None and knobs.SYSTEM_MEMORY.name not in current:
        changes[knobs.SYSTEM_MEMORY.name] = "0"
    return changes | (script.environment() if script is not None else {knobs.SCRIPT.name: ""})


def player_environment(following: str, out: Path | None, script: Script | None) -> dict[str, str]:
    """The variables for a capture library in this process that passes calls on to `following`."""
    return {
        knobs.CAPTURE_NEXT.name: following,
        knobs.CAPTURE_OUT.name: str(out.resolve()) if out is not None else "",
        **(script.environment() if script is not None else {knobs.SCRIPT.name: ""}),
    }


def machine_loader() -> Path:
    """The path of the machine's own loader, which a program must be given by its full name."""
    try:
        ctypes.CDLL(LOADER)
    except OSError:
        raise standin.LibraryMissing(
            f"there is no {LOADER} on this machine; on Debian: apt-get install libze1"
        ) from None
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    found = re.search(r"(/\S*/libze_loader\.so\S*)$", maps, re.MULTILINE)
    assert found is not None
    return Path(found[1])


def streams_in(place: Path) -> list[Path]:
    """The streams of a recording, in the order in which their processes began them.

    There is at least one: what is no recording raises `StreamError`, or `OSError` if it cannot be
    read.
    """
    found = [place] if place.is_file() else streams_of_folder(place)
    if not found:
        raise StreamError(f"there is no recording in this folder (no file *{SUFFIX})")
    return found


def streams_of_folder(folder: Path) -> list[Path]:
    """The streams in a folder, which may have none."""
    if folder.exists() and not folder.is_dir():
        raise StreamError("this is neither a recording nor a folder")
    found = [each for each in folder.iterdir() if each.name.endswith(SUFFIX)]
    return sorted(found, key=lambda path: (_start_of(path), path.name))


def _start_of(stream: Path) -> int:
    """When a stream began; 0 if it does not even say that."""
    try:
        with stream.open("rb") as file:
            return Header.unpack(file.read(HEADER_SIZE)).start
    except (StreamError, OSError):  # whoever reads it will say so
        return 0
