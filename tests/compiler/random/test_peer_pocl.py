"""PoCL agrees with what the cases say of themselves, so that comparing with it has a meaning."""

from __future__ import annotations

import pytest

from tests.compiler.cases import CASES
from tests.compiler.kernels import Case
from tests.compiler.random.peer_pocl import Peer, check

POCL_HAS = {"int64_atomics"}
CHECKED = [case for case in CASES if (case.expect or case.prints) and case.needs <= POCL_HAS]


@pytest.fixture(scope="module")
def peer() -> Peer:
    try:
        return Peer()
    except LookupError as problem:
        pytest.skip(str(problem))


@pytest.mark.parametrize("case", CHECKED, ids=lambda case: case.identity)
def test_pocl(peer: Peer, case: Case) -> None:
    assert not peer.lacks(case)
    assert check(case, peer.run(case)) == []
