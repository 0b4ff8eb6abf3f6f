"""`device.sysman` on this machine, and on recorded ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import groundstate as gs
from groundstate import sysman
from groundstate.sysman import EngineGroup

MACHINES = Path(__file__).parents[1] / "machines"


def run_on(machine: Path, program: str, **environment: str) -> Any:
    """What a program prints as JSON on a recorded machine; it has `device` and `watched`."""
    start = (
        "import json, groundstate as gs\nfrom groundstate import sysman\ndevice = gs.devices()[0]\n"
    )
    if "watched" in program:
        start += "watched = device.sysman\n"
    done = subprocess.run(
        [sys.executable, "-c", start + program],
        env={**os.environ, "GROUNDSTATE_SYSFS_ROOT": str(machine), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def snapshots() -> dict[str, Any]:
    """A snapshot of each recorded machine, as JSON has it."""
    program = "print(watched.snapshot().as_json())"
    return {name: run_on(MACHINES / name, program) for name in ("laptop", "server", "vm")}


@pytest.fixture
def laptop(tmp_path: Path) -> Path:
    """A laptop whose settings can be changed."""
    return Path(shutil.copytree(MACHINES / "laptop", tmp_path / "laptop", symlinks=True))


# --- This machine ---------------------------------------------------------------------------------


def test_device_and_sysman_refer_to_each_other(gpu: gs.Device) -> None:
    assert gpu.sysman is gpu.sysman
    assert gpu.sysman.device is gpu
    assert gpu.sysman in gs.sysman_devices()
    assert gpu.sysman.name == gpu.name
    assert gpu.sysman.uuid == gpu.uuid


def test_engines_count_what_was_computed(ctx: gs.Context, gpu: gs.Device) -> None:
    whole = gpu.sysman.engines[0]
    assert whole.group == EngineGroup.ALL
    before = whole.activity
    memory = ctx.alloc_device(1 << 24)
    with gs.CommandList.immediate(ctx) as commands:
        commands.fill(memory, b"\1")
    after = whole.activity
    memory.close()
    assert before is not None
    assert after is not None
    assert after.active_us >= before.active_us
    share = after.since(before)
    assert share is None or 0 <= share <= 1


def test_used_memory_includes_allocations(ctx: gs.Context, gpu: gs.Device) -> None:
    module = gpu.sysman.memory[0]
    before, size = module.state, 1 << 26
    with ctx.alloc_device(size):
        during = module.state
    assert before is not None
    assert during is not None
    assert during.size_bytes == before.size_bytes == gpu.memory_bytes
    assert during.used_bytes >= size


def test_own_process_is_among_device_processes(ctx: gs.Context, gpu: gs.Device) -> None:
    size = 1 << 26
    with ctx.alloc_device(size) as memory:
        before = gpu.sysman.snapshot()
        with gs.CommandList.immediate(ctx) as commands:
            commands.fill(memory, b"\1")
        after = gpu.sysman.snapshot()
        own = {each.pid: each for each in after.processes or ()}[os.getpid()]
    assert own.memory_bytes >= size
    assert sysman.EngineFlag.COMPUTE in own.engines
    assert own.active_us is not None
    assert own.active_us > 0
    assert own.command is not None
    assert (
        own.command.split()[0] == Path("/proc/self/cmdline").read_text().split("\0")[0].split()[0]
    )
    shares = {each.pid: each.utilization for each in after.since(before).processes or ()}
    assert (shares[os.getpid()] or 0) > 0


def test_properties_are_those_of_the_device(gpu: gs.Device) -> None:
    facts = gpu.sysman.properties
    assert facts.core == gpu.properties
    assert (facts.uuid, facts.type, facts.flags) == (gpu.uuid, gpu.type, gpu.properties.flags)
    assert facts.subdevice_count == len(gpu.sub_devices) == len(gpu.sysman.subdevices)
    assert facts.driver_version == gs.__version__
    assert facts.serial_number != "unknown"


def test_a_device_that_works_needs_no_reset(ctx: gs.Context, gpu: gs.Device) -> None:
    state = gpu.sysman.state
    assert state is not None
    assert not state.reset_reasons
    with pytest.raises(gs.errors.HandleObjectInUse, match="processes use the device"):
        gpu.sysman.reset()
    ctx.check_status()


def test_waiting_for_what_does_not_happen_ends(gpu: gs.Device) -> None:
    events = gpu.sysman.events
    events.register(sysman.SysmanEvent.DEVICE_DETACH)
    assert events.registered == sysman.SysmanEvent.DEVICE_DETACH
    with pytest.raises(TimeoutError, match="nothing happened"):
        events.wait(timeout=0.01)
    with pytest.raises(ValueError, match="one or more devices"):
        sysman.wait_for_events([])
    events.register(sysman.SysmanEvent(0))


def test_a_snapshot_has_everything_and_is_json(gpu: gs.Device) -> None:
    watched = gpu.sysman
    snapshot = watched.snapshot()
    assert len(snapshot.engines) == len(watched.engines)
    assert len(snapshot.memory) == len(watched.memory)
    assert json.loads(snapshot.as_json()) == snapshot.as_dict()
    later = watched.snapshot()
    change = later.since(snapshot)
    assert change.seconds > 0
    assert len(change.engines) == len(watched.engines)
    assert all(each.utilization is None or 0 <= each.utilization <= 1 for each in change.engines)
    assert json.dumps(change.as_dict())


def test_threads_take_snapshots_at_once(gpu: gs.Device) -> None:
    with ThreadPoolExecutor(4) as threads:
        taken = list(threads.map(lambda _: gpu.sysman.snapshot(), range(40)))
    active = sorted(
        (each.engines[0].timestamp_us or 0, each.engines[0].active_us) for each in taken
    )
    assert [count for _, count in active] == sorted(count or 0 for _, count in active)
    assert all(each.refused == {} for each in taken)


def test_unsettable_state_raises_level_zero_error(gpu: gs.Device) -> None:
    with pytest.raises(gs.LevelZeroError):
        gpu.sysman.ecc.set_state(sysman.EccState.ENABLED)


# --- Recorded machines ----------------------------------------------------------------------------


def test_a_laptop_tells_its_clock_heat_and_power(snapshots: dict[str, Any]) -> None:
    laptop = snapshots["laptop"]
    clock = laptop["frequency"][0]
    assert (clock["minimum_mhz"], clock["maximum_mhz"]) == (400, 4800)
    assert clock["range_mhz"] == [400, 4800]
    assert clock["volts"] is None
    assert {each["type"] for each in laptop["temperature"]} >= {"GLOBAL", "GPU"}
    power = {each["domain"]: each for each in laptop["power"]}
    assert power["PACKAGE"]["energy_uj"] == 98765432100
    assert power["PACKAGE"]["limits"][0]["limit"] == 28000
    assert power["GPU"]["limits"] == []
    assert laptop["fans"][0]["rpm"] == 2913
    assert laptop["fans"][0]["maximum_rpm"] is None
    assert laptop["psus"][1]["celsius"] == 31
    assert laptop["firmware"][0] == {
        "subdevice": None, "can_control": False, "name": "microcode", "version": "0xb6"
    }  # fmt: skip


def test_server_counts_errors_and_has_two_of_each(snapshots: dict[str, Any]) -> None:
    server = snapshots["server"]
    assert len(server["frequency"]) == 2
    packages = [each for each in server["power"] if each["domain"] == "PACKAGE"]
    assert len(packages) == 2
    counts = [(each["type"], each["counts"]["MEMORY_ERRORS"]) for each in server["ras"]]
    assert ("CORRECTABLE", 12) in counts
    assert server["fans"][2]["rpm"] == 0, "a fan that stands still is not one that nobody knows"


def test_a_bare_machine_has_none_of_it(snapshots: dict[str, Any]) -> None:
    bare = snapshots["vm"]
    for noun in ("temperature", "power", "fans", "psus", "ras", "schedulers"):
        assert bare[noun] == []
    assert bare["frequency"][0]["maximum_mhz"] is None
    assert bare["memory"][0]["bandwidth"] is None


def test_a_clock_is_limited_and_let_go(laptop: Path) -> None:
    told = run_on(
        laptop,
        "clock = watched.frequency[0]\n"
        "before = clock.range_mhz\n"
        "clock.range_mhz = (800, 2000)\n"
        "limited = clock.range_mhz\n"
        "clock.range_mhz = None\n"
        "print(json.dumps([before, limited, clock.range_mhz]))\n",
    )
    assert told == [[400, 4800], [800, 2000], [400, 4800]]


def test_a_power_limit_is_set(laptop: Path) -> None:
    told = run_on(
        laptop,
        "package = watched.power[0]\n"
        "package.limit_mw = 15000\n"
        "package.set_limit(40000, sysman.PowerLevel.BURST)\n"
        "print(json.dumps([each.limit_mw for each in package.limits]))\n",
    )
    assert told[:2] == [15000, 40000]


def test_watts_come_from_two_readings_of_energy(laptop: Path) -> None:
    told = run_on(
        laptop,
        "import os\n"
        "from pathlib import Path\n"
        "root = Path(os.environ['GROUNDSTATE_SYSFS_ROOT'])\n"
        "before = watched.snapshot()\n"
        "for file in root.rglob('energy_uj'):\n"
        "    file.write_text(str(int(file.read_text()) + 5_000_000))\n"
        "after = watched.snapshot()\n"
        "package = [s.power[0] for s in (before, after)]\n"
        "change = after.since(before)\n"
        "elapsed = package[1].timestamp_us - package[0].timestamp_us\n"
        "print(json.dumps([change.power[0].watts * elapsed, change.watts is not None]))\n",
    )
    assert told[0] == pytest.approx(5_000_000)
    assert told[1] is True


def test_a_threshold_is_read_back(laptop: Path) -> None:
    told = run_on(
        laptop,
        "sensor = watched.temperature[0]\n"
        "sensor.config = sysman.TemperatureConfig(threshold1=sysman.Threshold(80.0))\n"
        "print(json.dumps(sensor.config.as_dict()))\n",
    )
    assert told["threshold1"] == {"celsius": 80.0, "rising": True, "falling": False}
    assert told["threshold2"]["rising"] is False


def test_a_threshold_that_is_crossed_is_an_event(laptop: Path) -> None:
    told = run_on(
        laptop,
        "import os, threading, time\n"
        "from pathlib import Path\n"
        "root = Path(os.environ['GROUNDSTATE_SYSFS_ROOT'])\n"
        "sensor = watched.temperature[0]\n"
        "sensor.config = sysman.TemperatureConfig(threshold1=sysman.Threshold(80.0))\n"
        "watched.events.register(sysman.SysmanEvent.TEMP_THRESHOLD1)\n"
        "def heat():\n"
        "    for file in root.glob('sys/class/hwmon/*/temp*_input'):\n"
        "        file.write_text('90000')\n"
        "timer = threading.Timer(0.1, heat)\n"
        "timer.start()\n"
        "happened = watched.events.wait(timeout=30)\n"
        "timer.join()\n"
        "print(json.dumps([happened.name, sensor.celsius]))\n",
    )
    assert told == ["TEMP_THRESHOLD1", 90.0]


def test_unreadable_energy_is_refused_with_reason(laptop: Path) -> None:
    told = run_on(
        laptop,
        "import os\n"
        "from pathlib import Path\n"
        "for file in Path(os.environ['GROUNDSTATE_SYSFS_ROOT']).rglob('energy_uj'):\n"
        "    file.chmod(0)\n"
        "package = watched.power[0]\n"
        # Python may be out of reach for that user: whatever is imported late is imported now.
        "gs.sysman_devices(), device.name, watched.properties, package.properties\n"
        "watched.processes, watched.pci, [each.activity for each in watched.engines]\n"
        "if os.getuid() == 0:\n"
        "    os.seteuid(65534)\n"
        "try:\n"
        "    package.energy\n"
        "except gs.errors.InsufficientPermissions as problem:\n"
        "    sentence = problem.description\n"
        "taken = watched.snapshot()\n"
        "noted = taken.refused['power[0].energy']\n"
        "print(json.dumps([sentence, noted, taken.power[0].energy_uj]))\n",
    )
    sentence, noted, energy = told
    assert "energy_uj may not be used by this user" in sentence
    assert noted == sentence
    assert energy is None


def test_values_that_make_no_sense_are_errors(laptop: Path) -> None:
    told = run_on(
        laptop,
        "def problem(change):\n"
        "    try:\n"
        "        change()\n"
        "    except (gs.LevelZeroError, ValueError) as problem:\n"
        "        return type(problem).__name__\n"
        "clock, package = watched.frequency[0], watched.power[0]\n"
        "print(json.dumps([\n"
        "    problem(lambda: setattr(clock, 'range_mhz', (3000, 1000))),\n"
        "    problem(lambda: package.set_limit(1000, sysman.PowerLevel.INSTANTANEOUS)),\n"
        "    problem(lambda: package.set_energy_event(-1.0)),\n"
        "    problem(lambda: watched.fans[0].set_speed(50)),\n"
        "]))\n",
    )
    assert told == ["InvalidArgument", "ValueError", "InvalidArgument", "UnsupportedFeature"]


# --- Divided machines -----------------------------------------------------------------------------


def test_sub_devices_share_sysman_of_their_device() -> None:
    told = run_on(
        MACHINES / "server",
        "groups = [(each.group.name, each.subdevice) for each in watched.engines]\n"
        "print(json.dumps([\n"
        "    [each.sysman is watched for each in device.sub_devices],\n"
        "    [str(each.uuid) for each in device.sub_devices],\n"
        "    [str(each.uuid) for each in watched.subdevices],\n"
        "    [group for group in groups if group[0] == 'ALL'],\n"
        "    [each.subdevice for each in watched.snapshot().memory],\n"
        "]))\n",
        GROUNDSTATE_TOPOLOGY="1x2",
        ZE_FLAT_DEVICE_HIERARCHY="COMPOSITE",
    )
    same, uuids, known, groups, memories = told
    assert same == [True, True]
    assert uuids == known
    assert groups == [["ALL", None], ["ALL", 0], ["ALL", 1]]
    assert memories == [0, 1]


def test_flat_hierarchy_devices_share_one_sysman() -> None:
    told = run_on(
        MACHINES / "server",
        "whole = gs.sysman_devices(include_system=False)\n"
        "found = [each.sysman for each in gs.devices(include_system=False)]\n"
        "print(json.dumps([len(whole), [each is whole[0] for each in found], whole[0].device]))\n",
        GROUNDSTATE_TOPOLOGY="1x2",
        ZE_FLAT_DEVICE_HIERARCHY="FLAT",
    )
    assert told == [1, [True, True], None]


# --- Devices that can only be watched -------------------------------------------------------------


def test_a_gpu_of_another_maker_is_watched_too(tmp_path: Path) -> None:
    root = Path(shutil.copytree(MACHINES / "server", tmp_path / "machine", symlinks=True))
    sign = root / "proc/driver/nvidia/version"
    sign.parent.mkdir(parents=True)
    sign.write_text("a sign that NVIDIA's kernel driver is there\n")
    told = run_on(
        root,
        "import sys\n"
        f"sys.path[:0] = [{str(MACHINES.parents[1])!r}]\n"
        "from tests.machines.nvml.fake import Fake\n"
        "sys.modules['pynvml'] = library = Fake()\n"
        "own, gpu = gs.sysman_devices(include_system=False)\n"
        "seen = gpu.snapshot()\n"
        "for answers in library.answers.values():\n"
        "    answers.update({asked: {'error': 15} for asked in answers})\n"
        "lost = gpu.snapshot()\n"
        "change = lost.since(seen)\n"
        "print(json.dumps([own.device.name == own.name, gpu.device, seen.as_dict(),\n"
        "                  lost.as_dict(), change.as_dict()]))\n",
        GROUNDSTATE_NVIDIA="1",
    )
    has_core, core, seen, lost, change = told
    assert (has_core, core, seen["name"]) == (True, None, "NVIDIA H200")
    assert seen["refused"] == {}
    assert seen["temperature"][0]["celsius"] > 0
    assert seen["power"][0]["energy_uj"] > 0
    assert seen["memory"][0]["size_bytes"] > 100 << 30
    assert lost["temperature"][0]["celsius"] is None
    assert "temperature[0].celsius" in lost["refused"]
    assert change["power"][0]["watts"] is None
