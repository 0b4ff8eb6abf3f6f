"""Tasks and actors of Ray see the devices that Ray gave them (`make test-ray`)."""

from __future__ import annotations

from typing import Any

from tests.clusters.running import ON_THE_DRIVER, ROOT, run

PYTHON = str(ROOT / ".venv" / "ray" / "bin" / "python")


def check(found: dict[str, Any], visible: int) -> None:
    """Four devices: three have an actor each, and the tasks share the fourth."""
    assert found["resources"]["GPU"] == 4
    assert sorted(each["number"] for each in found["actors"]) == [0, 1, 2]
    assert {each["number"] for each in found["tasks"]} == {3}
    both = found["actors"] + found["tasks"]
    assert {each["total"] for each in both} == {2000}
    assert {each["devices"] for each in both} == {visible}
    assert all(each["mask"] == str(each["number"]) for each in both)
    assert len({(each["number"], each["uuid"]) for each in both}) == 4
    assert len({each["uuid"] for each in both}) == 4


def test_tasks_and_actors_mask_all_devices_but_theirs() -> None:
    check(run([PYTHON], "with_ray", "mask", topology="4"), visible=1)


def test_ray_finds_devices_by_dpctl_and_numbers_them() -> None:
    """It sets the mask, too, but after dpctl has started the driver, so all are visible."""
    found = run([*ON_THE_DRIVER, PYTHON], "with_ray", "number", topology="4")
    check(found, visible=4)
    assert any(name.startswith("accelerator_type:Intel-GPU") for name in found["resources"])
