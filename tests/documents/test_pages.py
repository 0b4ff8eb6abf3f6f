"""What the pages tell a reader to type works, in an environment with what they say is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from .exceptions import UNRUN
from .installs import Installs
from .pages import LANGUAGES, PAGES, fenced_blocks, name_of, parts
from .sessions import Session
from .world import World

pytestmark = pytest.mark.timeout(1200)  # many programs run one after the other


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_names_its_language(page: Path) -> None:
    for block in fenced_blocks(page):
        known = block.is_directive or block.language in LANGUAGES
        assert known, f"{block.place}: see tests/documents/pages.py"


def test_exceptions_are_needed() -> None:
    for each in UNRUN:
        texts = [
            block.text for page in PAGES if name_of(page) == each.page for block in parts(page)
        ]
        assert any(each.text in text for text in texts), each


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_says_runs(
    page: Path, installs: Installs, world: World, tmp_path: Path
) -> None:
    session = Session(page, tmp_path / "reader", installs, world)
    session.run()
    assert not session.failures, "\n\n".join(session.failures)
