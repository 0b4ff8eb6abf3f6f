"""The timeline's page works in a real browser, also with many spans and with hostile names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundstate.capture.views.page import page_of
from groundstate.capture.views.spans import Process, Span, Timeline, Track
from groundstate.capture.views.timeline import timeline_of
from tests.capture.stream.streams import example, work
from tests.capture.views.devtools import Page

MANY = 100_000
HOSTILE = "</script><img src=x onerror=document.title='hurt'>"


def open_page(found: Timeline, folder: Path) -> Page:
    (folder / "t.html").write_text(page_of(found), encoding="utf-8")
    return Page(folder / "t.html", folder / "profile")


def many_spans() -> Timeline:
    """A hundred thousand calls and kernels, some with names that would like to be HTML."""
    names = ["zeEventQueryStatus", "zeCommandListAppendLaunchKernel", HOSTILE]
    calls = [Span(k * 1000, k * 1000 + 600, names[k % 3], "call", "") for k in range(MANY // 2)]
    kernels = [
        Span(k * 1000 + 200, k * 1000 + 900, f"kernel_{k % 7}", "kernel", f"3/1/{k}", k % 2 == 0)
        for k in range(MANY // 2)
    ]
    return Timeline(
        HOSTILE,
        processes=[Process(1, HOSTILE), Process(2, "other")],
        tracks=[Track(1, "thread 0", "thread", calls), Track(2, "queue 1", "queue", kernels)],
        notes=[HOSTILE],
    )


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("small")
    streams = [example(folder / "one.gsstream"), work(folder / "two.gsstream")]
    with open_page(timeline_of(streams, "two programs"), folder) as page:
        yield page
        assert page.problems == []


@pytest.fixture(autouse=True)
def _as_opened(request: pytest.FixtureRequest) -> None:
    if "small" in request.fixturenames:
        page = request.getfixturevalue("small")
        page.run("timeline.find(''); timeline.choose(null); timeline.zoomTo(0, timeline.wholeEnd)")
        page.frame()


def test_nothing_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    text = page_of(timeline_of([work(tmp_path / "w.gsstream")], "w"))
    assert not re.search(r"https?://|src=|@import|url\(", text)
    assert "default-src 'none'" in text


def test_everything_is_there(small: Page) -> None:
    assert small.run("document.title") == "two programs - timeline"
    rows = small.run("timeline.rows.map(r => r.heading || r.lane.track.name)")
    assert rows[0] == "one.gsstream"
    assert "queue 1" in rows
    assert small.run("timeline.spanCount") == small.run(
        "timeline.lanes.reduce((sum, lane) => sum + lane.count, 0)"
    )
    assert small.run("timeline.frames()") > 0
    legend = small.run("document.getElementById('legend').textContent")
    for word in ("calls", "waits", "kernels", "copies", "submissions", "estimated", "failed"):
        assert word in legend


def span_at(page: Page, name: str) -> tuple[float, float]:
    """Where the middle of the first span of that name is on the screen."""
    box = page.run(
        "(() => { for (const lane of timeline.lanes) for (let i = 0; i < lane.count; i++)"
        f" if (timeline.source.names[lane.names[i]] === {name!r}) {{"
        " const c = document.getElementById('picture').getBoundingClientRect();"
        " const x = timeline.xOf((lane.starts[i] + lane.ends[i]) / 2);"
        " return [c.left + x, c.top + timeline.top(lane) + 8]; } })()"
    )
    return box[0], box[1]


def test_a_tooltip_and_the_details_tell_of_a_span(small: Page) -> None:
    x, y = span_at(small, "scale")
    small.mouse("mouseMoved", x, y)
    assert small.run("document.getElementById('tip').hidden") is False
    tip = small.run("document.getElementById('tip').textContent")
    assert tip.startswith("scale20.0 µs")
    assert "groups 4 x 2 x 1" in tip
    small.mouse("mousePressed", x, y, button="left", clickCount=1)
    small.mouse("mouseReleased", x, y, button="left", clickCount=1)
    details = small.run("document.getElementById('details').textContent")
    assert "1 of this name" in details
    assert "measured by the program" in details


def test_wheel_keys_and_drag_move_the_view(small: Page) -> None:
    def view() -> tuple[float, float]:
        start, end = small.run("[timeline.view.from, timeline.view.to]")
        return start, end

    whole = view()
    x, y = span_at(small, "scale")
    at = small.run("(timeline.view.from + timeline.view.to) / 2")
    small.mouse("mouseMoved", x, y)
    small.mouse("mouseWheel", x, y, deltaX=0, deltaY=-300)
    closer = view()
    assert closer[1] - closer[0] < 0.7 * (whole[1] - whole[0])
    assert span_at(small, "scale")[0] == pytest.approx(x, abs=1)  # it stays under the pointer
    small.run("document.getElementById('picture').focus()")
    small.key("+")
    assert view()[1] - view()[0] < closer[1] - closer[0]
    before = view()
    small.key("d")
    assert view()[0] > before[0]
    small.mouse("mousePressed", 700, 400, button="left", clickCount=1)
    small.mouse("mouseMoved", 800, 400, button="left", buttons=1)
    small.mouse("mouseReleased", 800, 400, button="left", clickCount=1)
    assert view()[0] < at
    small.key("0")
    assert view() == whole


def test_search_finds_marks_and_goes_to_spans(small: Page) -> None:
    assert small.run("timeline.find('ADD_up')") == 2
    small.run("document.getElementById('picture').focus()")
    small.key("n")
    chosen = "timeline.source.names[timeline.view.chosen.lane.names[timeline.view.chosen.i]]"
    assert small.run(chosen) == "add_up"
    assert small.run("document.getElementById('matches').textContent") == "1/2"
    small.key("n")
    small.key("n")
    assert small.run("document.getElementById('matches').textContent") == "1/2"
    assert small.run("timeline.find('4,096 bytes')") == 1  # notes are searched, too
    small.key("Escape")
    assert small.run("[timeline.view.chosen, document.getElementById('search').value]") == [
        None,
        "",
    ]


def test_legend_hides_kinds_and_theme_toggles(small: Page) -> None:
    button = (
        "[...document.querySelectorAll('#legend button')].find(b => b.textContent === 'kernels')"
    )
    x, y = span_at(small, "scale")
    small.run(f"{button}.click()")
    small.mouse("mouseMoved", x + 1, y)
    assert small.run("document.getElementById('tip').hidden") is True
    assert small.run("timeline.find('add_up')") == 0
    small.run(f"{button}.click()")
    assert small.run("timeline.find('add_up')") == 2
    back = "getComputedStyle(document.body).backgroundColor"
    colour = small.run(back)
    small.run("document.getElementById('theme').click()")
    assert small.run(back) != colour
    small.run("document.getElementById('theme').click()")


def test_many_spans_and_hostile_names(tmp_path: Path) -> None:
    with open_page(many_spans(), tmp_path) as page:
        assert page.run("timeline.spanCount") == MANY
        assert page.run("document.title") == f"{HOSTILE} - timeline"
        assert page.run("document.images.length") == 0
        assert page.run("document.getElementById('title').textContent") == HOSTILE
        assert page.run("timeline.find('kernel_3')") == len(range(3, MANY // 2, 7))
        # A frame of everything takes as many steps as there are pixels, not spans.
        steps = page.run(
            "(() => { let steps = 0; const g = CanvasRenderingContext2D.prototype;"
            " const fill = g.fillRect;"
            " g.fillRect = function(...a) { steps++; fill.apply(this, a); };"
            " timeline.find(''); timeline.draw(); g.fillRect = fill; return steps; })()"
        )
        assert 0 < steps < 20_000
        assert page.problems == []
