"""The Level Zero library whose handles are meant: the program's own if it has one, else ours."""

from __future__ import annotations

from collections.abc import Iterator

from groundstate import _raw
from groundstate.core import libraries
from groundstate.core.api import SUCCESS, Api
from groundstate.dnn import native


def _opened() -> Iterator[_raw.Library]:
    """The libraries that a handle may be from, each initialised."""
    linked = native.library().gs_ze_of_program()
    if linked:
        library = _raw.Library(linked.decode())
        if library.zeInit(0) == SUCCESS:
            yield library
    yield libraries.own()
    loader = libraries.system()
    if loader is not None:
        yield loader


def apis() -> Iterator[Api]:
    """Each driver of each library; a driver that two libraries know comes once."""
    seen: set[int] = set()
    for library in _opened():
        for driver in Api(library, 0).handles("zeDriverGet"):
            if driver not in seen:
                seen.add(driver)
                yield Api(library, driver)


def api_of(driver: int) -> Api | None:
    """The functions for the handles of a driver; None if no library knows it."""
    return next((api for api in apis() if api.driver == driver), None)


def devices() -> list[tuple[Api, int]]:
    """All devices, with the functions for them.

    A program that is linked with a Level Zero library means the devices of that one only.
    """
    linked = native.library().gs_ze_of_program()
    meant = [api for api in apis() if not linked or api.library.path == linked.decode()]
    return [(api, device) for api in meant for device in api.handles("zeDeviceGet", api.driver)]
