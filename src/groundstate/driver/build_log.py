"""Build and link logs: objects that keep a text until the caller has read it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

from groundstate.driver import native
from groundstate.driver.api import Handles, handler, read_u64, write_pointer, write_u64

_KIND = "ze_module_build_log_handle_t"

_texts: Handles[bytes] = Handles(_KIND)


def write(address: int, lines: Iterable[str]) -> None:
    """Makes a log of some lines and writes its handle, if the caller asked for one."""
    if not address:
        return
    handle = native.object_new(_KIND)
    _texts[handle] = "\n".join(line.rstrip() for line in lines if line.strip()).encode()
    write_pointer(address, handle)


@handler
def zeModuleBuildLogDestroy(hModuleBuildLog: int) -> None:
    _texts.take(hModuleBuildLog)
    native.object_end(hModuleBuildLog)


@handler
def zeModuleBuildLogGetString(hModuleBuildLog: int, pSize: int, pBuildLog: int) -> None:
    answer_text(_texts[hModuleBuildLog], pSize, pBuildLog)


def answer_text(text: bytes, size_address: int, text_address: int) -> None:
    """Answers with a string: its size with the final zero, and as much of it as fits."""
    room = read_u64(size_address)
    write_u64(size_address, len(text) + 1)
    if text_address and room:
        ctypes.memmove(text_address, text[: room - 1] + b"\0", min(room, len(text) + 1))
