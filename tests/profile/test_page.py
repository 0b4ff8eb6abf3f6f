"""The page of a profile, in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest

from groundstate.profiler import html
from tests.capture.views.devtools import Page
from tests.profile.conftest import Profiled

HOSTILE = '</script><img src=x onerror="window.bad=1">`x'
DRAWN = "document.querySelectorAll('#roofline .dot').length"
SHOWN = "[...document.querySelectorAll('#flame button')].filter((e) => !e.hidden).length"


@pytest.fixture(scope="module")
def page(profiled: Profiled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with Page(profiled.folder / "profile.html", tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def test_page_shows_each_kernel(page: Page, profiled: Profiled) -> None:
    rows = page.run("[...document.querySelectorAll('#kernels tr a')].map((e) => e.textContent)")
    assert rows == [each["name"] for each in profiled.report["kernels"]]
    assert page.problems == []


def test_roofline_has_the_kernels_with_operations(page: Page, profiled: Profiled) -> None:
    counted = [each["counted"] for each in profiled.report["kernels"]]
    assert page.run(DRAWN) == sum(each["gflops"] > 0 for each in counted)


def test_dots_lie_inside_of_the_picture(page: Page) -> None:
    script = """[...document.querySelectorAll('#roofline .dot')].every((dot) => {
        const box = document.getElementById('roofline').getBoundingClientRect();
        const own = dot.getBoundingClientRect();
        return own.left >= box.left && own.right <= box.right && own.top >= box.top;
    })"""
    assert page.run(script)


def test_click_on_a_frame_zooms_and_back(page: Page) -> None:
    width = "document.querySelectorAll('#flame button')[1].getBoundingClientRect().width"
    before = page.run(width)
    page.run("document.querySelectorAll('#flame button')[1].click()")
    whole = page.run("document.getElementById('flame').clientWidth")
    assert page.run(width) == pytest.approx(whole, abs=2)
    page.run("document.querySelectorAll('#flame button')[0].click()")
    assert page.run(width) == pytest.approx(before, abs=2)


def test_page_loads_nothing(page: Page) -> None:
    assert page.run("performance.getEntriesByType('resource').length") == 0


def test_dark_page_has_a_dark_background(page: Page) -> None:
    scheme = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.send("Emulation.setEmulatedMedia", features=scheme)
    colour = page.run("getComputedStyle(document.body).backgroundColor")
    page.send("Emulation.setEmulatedMedia", features=[])
    assert max(int(each) for each in colour.strip("rgb()").split(",")) < 60


def test_hostile_names_stay_text(profiled: Profiled, tmp_path: Path) -> None:
    report: dict[str, Any] = {**profiled.report, "command": [HOSTILE], "advice": [HOSTILE]}
    kernel = {**report["kernels"][0], "name": HOSTILE, "reasons": [HOSTILE]}
    report["kernels"] = [kernel]
    file = tmp_path / "hostile.html"
    file.write_text(html.page(report), encoding="utf-8")
    assert escape(HOSTILE) in file.read_text(encoding="utf-8")
    with Page(file, tmp_path / "browser") as page:
        assert page.run("window.bad") is None
        assert page.run("document.querySelectorAll('img').length") == 0
        assert page.run("document.querySelector('#kernels tr a').textContent") == HOSTILE
        assert page.problems == []
