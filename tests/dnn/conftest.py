"""The reference library, shared by the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from groundstate import knobs
from groundstate.dnn.kernels import products
from tests.dnn.reference.client import Session
from tests.dnn.reference.contender import contender
from tests.dnn.reference.worker import Reference, ReferenceMissing


@pytest.fixture(scope="session", autouse=True)
def same_kernels_on_every_machine() -> Iterator[None]:
    """Where SPIR-V is kept, or taken from what was kept, it must not depend on this CPU's cores."""
    with pytest.MonkeyPatch.context() as patch:
        if knobs.PREBUILT_SPIRV.get():
            patch.setattr(products, "tile_of", lambda engine: products.Tile(16, 6, 8))
        yield


@pytest.fixture(scope="session")
def reference() -> Iterator[Reference]:
    """oneDNN's CPU library in a process of its own."""
    try:
        library = Reference()
    except ReferenceMissing as missing:
        pytest.skip(str(missing))
    yield library
    library.close()


@pytest.fixture(scope="session")
def ours() -> Iterator[Session]:
    """Our library, by its Python functions."""
    session = contender("python")
    yield session
    session.close()
