"""The reference library, shared by the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.dnn.reference.client import Session
from tests.dnn.reference.contender import contender
from tests.dnn.reference.worker import Reference, ReferenceMissing


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
