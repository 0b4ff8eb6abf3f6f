"""Which parts of a machine get a worker."""

from __future__ import annotations

import pytest

from groundstate.dask import Part, find_parts, nanny_options


@pytest.fixture(autouse=True)
def no_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ZE_AFFINITY_MASK", raising=False)


def test_each_sub_device_is_a_part_with_its_share_of_the_memory() -> None:
    parts = find_parts(topology="2x4", memory="8G")
    assert [part.mask for part in parts] == [f"{d}.{s}" for d in range(2) for s in range(4)]
    assert {part.memory_bytes for part in parts} == {1 << 30}
    assert dict(parts[6].environment) == {
        "ZE_AFFINITY_MASK": "1.2",
        "ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE",
        "GROUNDSTATE_TOPOLOGY": "2x4",
        "GROUNDSTATE_MEMORY": "8G",
    }


def test_a_device_without_sub_devices_is_one_part() -> None:
    assert [part.mask for part in find_parts(topology="2")] == ["0", "1"]


def test_chosen_devices_and_those_of_the_mask_are_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = find_parts("1, 0.1", topology="2x2")
    assert [part.mask for part in chosen] == ["1.0", "1.1", "0.1"]
    monkeypatch.setenv("ZE_AFFINITY_MASK", "1,0.1")
    monkeypatch.setenv("ZE_FLAT_DEVICE_HIERARCHY", "FLAT")
    assert find_parts(topology="2x2") == chosen


@pytest.mark.parametrize(
    ("devices", "sentence"),
    [
        ("2", "there is no device 2; there is 0.0, 0.1, 1.0, 1.1"),
        ("0.7", "there is no device 0.7"),
        ("first", "'first' is not a device such as 0"),
        (",", "there is no device for a worker"),
    ],
)
def test_a_wrong_choice_is_explained(
    devices: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundstate.dask.parts._list_devices", lambda shape: [(8, [4, 4])] * 2)
    with pytest.raises(ValueError, match=sentence):
        find_parts(devices, topology="2x2")


def test_wrong_shape_of_the_machine_is_explained() -> None:
    """The driver would take the machine as it is, and each worker all of it."""
    with pytest.raises(ValueError, match=r"GROUNDSTATE_TOPOLOGY.*such as 2x4"):
        find_parts(topology="x")
    with pytest.raises(ValueError, match="GROUNDSTATE_MEMORY"):
        find_parts(memory="much")
    with pytest.raises(TypeError, match="devices is a list as a str"):
        find_parts(5)  # type: ignore[arg-type]


def test_a_driver_that_does_not_start_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_LIBRARY", "/nowhere/libze.so")
    with pytest.raises(RuntimeError, match=r"cannot be listed: .*libze"):
        find_parts()


def test_memory_limit_is_that_of_the_part_unless_given() -> None:
    part = Part("0", 2 << 30, (("ZE_AFFINITY_MASK", "0"),))
    assert nanny_options(part, {})["memory_limit"] == 2 << 30
    assert nanny_options(part, {"memory_limit": "1GB"})["memory_limit"] == "1GB"
    env = nanny_options(part, {"env": {"MINE": "1", "ZE_AFFINITY_MASK": "7"}})["env"]
    assert (env["MINE"], env["ZE_AFFINITY_MASK"]) == ("1", "0")
