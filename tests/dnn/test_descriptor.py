"""Memory descriptors: layouts, sizes, views, and what is refused."""

from __future__ import annotations

import pytest

from groundstate.dnn import Descriptor, DnnError, Status
from groundstate.dnn.layout import parse, tag_name, tag_value
from groundstate.dnn.tags import NAMES


def test_every_tag_names_each_dimension_once() -> None:
    for name in NAMES[2:]:
        order = parse(name).order
        assert sorted(order) == list(range(len(order))), name


def test_aliases_are_other_names_of_layouts() -> None:
    assert tag_name(tag_value("nChw16c") or 0) == "aBcd16b"
    assert tag_value("nchw") == tag_value("abcd")


@pytest.mark.parametrize(
    ("tag", "strides", "padded", "size_bytes"),
    [
        ("abcd", (500, 25, 5, 1), (2, 20, 5, 5), 4000),
        ("acdb", (500, 1, 100, 20), (2, 20, 5, 5), 4000),
        ("aBcd16b", (800, 400, 80, 16), (2, 32, 5, 5), 6400),
        ("ABcd16b16a", (12800, 6400, 1280, 256), (16, 32, 5, 5), 51200),
    ],
)
def test_layouts(
    tag: str, strides: tuple[int, ...], padded: tuple[int, ...], size_bytes: int
) -> None:
    made = Descriptor.tagged((2, 20, 5, 5), "f32", tag)
    assert made.strides == strides
    assert made.padded_dims == padded
    assert made.size_bytes() == size_bytes


def test_strides_of_ones_do_not_matter() -> None:
    one = Descriptor.plain((1, 4), "f32", (4, 1))
    assert one.same_as(Descriptor.plain((1, 4), "f32", (100, 1)))
    assert not one.same_as(Descriptor.plain((1, 4), "f32", (8, 2)))


def test_views() -> None:
    whole = Descriptor.plain((4, 6))
    assert whole.part((2, 3), (1, 2)).offset == 8
    assert whole.permuted((1, 0)).strides == (1, 6)
    assert whole.reshaped((2, 2, 6)).strides == (12, 6, 1)
    assert whole.reshaped((4, 1, 6)).strides == (6, 6, 1)
    blocked = Descriptor.tagged((1, 32, 4, 4), "f32", "nChw16c")
    assert blocked.part((1, 16, 4, 4), (0, 16, 0, 0)).offset == 256
    assert blocked.reshaped((32, 4, 4)).inner_blocks == ((16, 0),)


@pytest.mark.parametrize(
    ("dims", "tag"),
    [((-1, 4), "ab"), ((2, 3), "abc"), ((1,) * 13, "any"), ((1 << 62, 1 << 62), "ab")],
)
def test_what_is_wrong_is_refused(dims: tuple[int, ...], tag: str) -> None:
    with pytest.raises(DnnError) as caught:
        Descriptor.tagged(dims, "f32", tag)
    assert caught.value.status == Status.invalid_arguments


def test_elements_must_not_overlap() -> None:
    with pytest.raises(DnnError, match="overlap"):
        Descriptor.plain((4, 4), "f32", (2, 1))
    assert Descriptor.plain((4, 4), "f32", (0, 1)).size_bytes() == 16
