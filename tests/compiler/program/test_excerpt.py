"""Excerpts of the source, as text."""

from __future__ import annotations

from groundstate.excerpt import Place, render, render_places

LINE = "    out[i + 1] = sum / 3.0f;"


def test_report_has_source_caret_and_notes() -> None:
    place = Place("blur.cl", 17, 9, LINE, "kernel blur, work-item (1024, 0, 0)", "argument 1 'out'")
    assert render("out-of-bounds write", [place], ["allocated by zeMemAllocDevice"]) == (
        "error: out-of-bounds write\n"
        "  --> blur.cl:17:9   kernel blur, work-item (1024, 0, 0)\n"
        "   17 |     out[i + 1] = sum / 3.0f;\n"
        "      |         ^ argument 1 'out'\n"
        "  allocated by zeMemAllocDevice"
    )


def test_place_without_source_is_one_line() -> None:
    assert render_places([Place("a.cl", 3, 0)]) == ["  --> a.cl:3"]


def test_line_without_column_has_no_caret() -> None:
    assert render_places([Place("a.cl", 3, 0, "x = y;")]) == ["  --> a.cl:3", "   3 | x = y;"]


def test_numbers_of_several_places_are_aligned() -> None:
    places = [Place("a.cl", 8, 1, "f();", "in k"), Place("a.cl", 1234, 1, "g();", "in f")]
    assert render_places(places) == [
        "  --> a.cl:8:1   in k",
        "      8 | f();",
        "        | ^",
        "  ::: a.cl:1234:1   in f",
        "   1234 | g();",
        "        | ^",
    ]


def test_caret_stands_behind_tabs_and_wide_letters() -> None:
    source = "\ta = größe中+b;"
    column = len(source[: source.index("+")].encode()) + 1
    text, caret = render_places([Place("a.cl", 1, column, source)])[1:]
    assert text.endswith("| " + source)
    assert caret.endswith("| \t" + " " * (len("a = größe") + 2) + "^")


def test_long_line_is_cut_around_the_column() -> None:
    source = "x" * 500 + "!" + "y" * 500
    text, caret = render_places([Place("a.cl", 1, 501, source)])[1:]
    assert len(text) < 120
    assert text[caret.index("^")] == "!"
    assert text.count("...") == 2


def test_column_behind_the_line_has_no_caret() -> None:
    assert len(render_places([Place("a.cl", 1, 99, "short")])) == 2


def test_strange_characters_are_escaped() -> None:
    place = Place("\x1b[2J.cl", 1, 2, "a\x07b", "in \x9b", "\x1b[1m")
    assert all(line.replace("\t", "").isprintable() for line in render_places([place]))


def test_colours_change_no_letters() -> None:
    place = Place("blur.cl", 17, 9, LINE, "kernel blur", "here")
    coloured = render("wrong", [place], ["note"], colour=True)
    plain = coloured
    for code in ("\x1b[1;31m", "\x1b[1;34m", "\x1b[1m", "\x1b[0m"):
        assert code in coloured
        plain = plain.replace(code, "")
    assert plain == render("wrong", [place], ["note"])
