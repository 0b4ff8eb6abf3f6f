"""The readers of /sys and /proc, on recorded machines and against psutil."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from groundstate import zes
from groundstate.driver.api import Unsupported
from groundstate.driver.sysman.system import files as files_module
from groundstate.driver.sysman.system.files import Files, Gauge
from groundstate.driver.sysman.system.machine import System

TREES = Path(__file__).parents[1] / "machines"
NOBODY = 65534


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    yield Tree(tmp_path / "machine")
    gc.collect()


class Tree:
    """A machine that a test writes file by file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()

    def write(self, path: str, *texts: object, **named: object) -> None:
        for text in texts:
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text}\n")
        for name, text in named.items():
            self.write(f"{path}/{name}", text)

    def copy(self, name: str) -> Tree:
        shutil.copytree(TREES / name, self.root, dirs_exist_ok=True)
        return self

    def system(self, cpus: int = 2, subdevices: tuple[range, ...] = ()) -> System:
        return System(str(self.root), range(cpus), subdevices)


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


# --- Files ----------------------------------------------------------------------------------------


def test_a_gauge_stays_open_and_reads_again(tree: Tree) -> None:
    tree.write("sys/value", 41)
    gauge = Files(str(tree.root)).gauge("sys/value")
    assert gauge is not None
    before = open_descriptors()
    readings = [gauge.number()]
    tree.write("sys/value", -7)
    readings.append(gauge.number())
    assert readings == [41, -7]
    assert open_descriptors() == before + 1
    del gauge
    assert open_descriptors() == before


def test_only_so_many_gauges_stay_open(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "MAX_KEPT_OPEN", Gauge._kept_open + 3)
    for index in range(8):
        tree.write(f"value{index}", index)
    gauges = [Gauge(str(tree.root / f"value{index}")) for index in range(8)]
    before = open_descriptors()
    for _ in range(2):
        assert [gauge.number() for gauge in gauges] == list(range(8))
    assert open_descriptors() == before + 3


def test_gauge_survives_closing_all_descriptors(tree: Tree) -> None:
    tree.write("value", 5)
    gauge = Gauge(str(tree.root / "value"))
    assert gauge.number() == 5
    descriptor = gauge._descriptor
    tree.write("other", 6)
    other = os.open(tree.root / "other", os.O_RDONLY)
    os.dup2(other, descriptor)  # closes ours, and something else gets the number
    assert gauge.number() == 5
    assert os.pread(descriptor, 10, 0) == b"6\n"
    os.close(descriptor)
    assert gauge.number() == 5
    os.close(other)


def test_a_gauge_that_says_nothing_says_why(tree: Tree) -> None:
    tree.write("value", "<unsupported>")
    gauge = Gauge(str(tree.root / "value"))
    with pytest.raises(Unsupported, match="no number but '<unsupported>'"):
        gauge.number()
    with pytest.raises(Unsupported, match="No such file"):
        Gauge(str(tree.root / "missing")).number()


@contextmanager
def somebody_else() -> Iterator[None]:
    """File modes count for everybody but root, who the tests may be."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_what_one_may_not_read() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        tree = Tree(Path(folder) / "machine").copy("laptop")
        debug = tree.root / "sys/kernel/debug"
        debug.chmod(0)
        (tree.root / "sys/class/powercap/intel-rapl:0/energy_uj").chmod(0)
        for limit in tree.root.glob("sys/devices/system/cpu/cpufreq/policy*/scaling_m*"):
            limit.chmod(0o444)
        with somebody_else():
            system = tree.system(8)
            assert len(system.powers) == 3  # it is there all the same
            with pytest.raises(PermissionError):
                system.powers[0].energy_uj()
            [scheduler] = system.schedulers
            assert not scheduler.can_control
            with pytest.raises(PermissionError):
                scheduler.timeslice_us()
            with pytest.raises(PermissionError, match="scaling_min_freq may not be written"):
                system.frequencies[0].set_range(1000, 2000)
        debug.chmod(0o700)


def test_changes_are_all_made_or_none(tree: Tree) -> None:
    tree.write("a", 1)
    tree.write("b", 2)
    files = Files(str(tree.root))
    files.write_all([("a", "10"), ("b", "20")])
    assert (files.number("a"), files.number("b")) == (10, 20)
    with pytest.raises(Unsupported, match="cannot be changed"):
        files.write_all([("a", "11"), ("b", "21"), ("missing/c", "31")])
    assert (files.number("a"), files.number("b")) == (10, 20)


def test_numbers_in_names_are_numbers(tree: Tree) -> None:
    for index in (10, 9, 1):
        tree.write(f"mc/mc{index}", "")
    tree.write("mc/power", "")
    assert Files(str(tree.root)).names("mc", r"mc\d+") == ["mc1", "mc9", "mc10"]


# --- Machines that were not recorded --------------------------------------------------------------


def test_a_machine_that_tells_nothing(tree: Tree) -> None:
    system = tree.system()
    assert not system.frequencies
    assert not system.temperatures
    assert not system.powers
    assert not system.fans
    assert not system.supplies
    assert not system.errors
    assert not system.schedulers
    assert not system.firmwares
    assert system.ecc_is_enabled() is None


def test_thermometers_of_amd(tree: Tree) -> None:
    for cpu in range(4):
        tree.write(f"sys/devices/system/cpu/cpu{cpu}/topology", physical_package_id=cpu // 2)
    for chip, heat in enumerate((50, 60)):
        folder = f"sys/class/hwmon/hwmon{chip}"
        tree.write(folder, name="k10temp", temp1_label="Tctl", temp1_input=heat * 1000)
        for ccd in range(2):
            named = {f"temp{3 + ccd}_label": f"Tccd{ccd + 1}"}
            tree.write(folder, **named, **{f"temp{3 + ccd}_input": (heat - 9 + ccd) * 1000})
    system = tree.system(4, (range(2), range(2, 4)))
    found = [(each.type, each.subdevice, each.celsius()) for each in system.temperatures]
    whole, chiplets = zes.ZES_TEMP_SENSORS_GLOBAL, zes.ZES_TEMP_SENSORS_GPU
    assert found == [(whole, 0, 50), (chiplets, 0, 42), (whole, 1, 60), (chiplets, 1, 52)]


def test_thermal_zones_where_hwmon_knows_no_cpu(tree: Tree) -> None:
    zone = "sys/class/thermal/thermal_zone"
    tree.write(f"{zone}0", type="gpu-thermal", temp=90000)
    tree.write(f"{zone}1", type="cpu-thermal", temp=48200)
    tree.write(f"{zone}1", trip_point_0_type="passive", trip_point_0_temp=80000)
    tree.write(f"{zone}1", trip_point_1_type="critical", trip_point_1_temp=95000)
    [sensor] = tree.system().temperatures
    assert (sensor.celsius(), sensor.critical_celsius) == (48.2, 95)


def test_core_switched_off_has_no_temperature(tree: Tree) -> None:
    tree.copy("laptop")
    hottest = tree.root / "sys/class/hwmon/hwmon2/temp3_input"
    sensors = tree.system(8).temperatures
    hottest.write_text("")
    assert sensors[1].celsius() == 58
    for core in range(2, 6):
        (tree.root / f"sys/class/hwmon/hwmon2/temp{core}_input").write_text("")
    with pytest.raises(Unsupported):
        sensors[1].celsius()


def test_reset_energy_counter_never_goes_back(tree: Tree) -> None:
    zone = "sys/class/powercap/intel-rapl:0"
    tree.write(zone, name="package-0", energy_uj=5000)
    [power] = tree.system().powers
    readings = []
    for counter in (5000, 6000, 100, 300):
        tree.write(f"{zone}/energy_uj", counter)
        readings.append(power.energy_uj()[0])
    assert readings == [5000, 6000, 6100, 6300]


def test_device_reports_only_packages_of_its_cpus(tree: Tree) -> None:
    tree.copy("server")
    system = System(str(tree.root), range(4, 8))
    assert [each.state().actual_mhz for each in system.frequencies] == [3600]
    assert [each.energy_uj()[0] for each in system.powers] == [3_000_000, 45_000_000_000]
    assert [sum(each.counts().values()) for each in system.errors] == [0, 1]
    assert [each.celsius() for each in system.temperatures] == [71, 71, 43.5]


def test_clocks_of_cores_that_differ(tree: Tree) -> None:
    """A big core and a small one: each is limited by what it can do."""
    policy = "sys/devices/system/cpu/cpufreq/policy"
    for cpu, highest in enumerate((5000000, 3800000)):
        tree.write(f"{policy}{cpu}", related_cpus=cpu, scaling_cur_freq=1000000 * (cpu + 1))
        tree.write(f"{policy}{cpu}", cpuinfo_min_freq=800000, cpuinfo_max_freq=highest)
        tree.write(f"{policy}{cpu}", scaling_min_freq=800000, scaling_max_freq=highest)
    [clock] = tree.system().frequencies
    assert (clock.minimum_mhz, clock.maximum_mhz) == (800, 5000)
    clock.set_range(4000, 4500)
    limits = [
        [
            int((tree.root / f"{policy}{cpu}/scaling_{end}_freq").read_text())
            for end in ("min", "max")
        ]
        for cpu in range(2)
    ]
    assert limits == [[4000000, 4500000], [3800000, 3800000]]
    assert clock.available_mhz() == [800, 5000]


def test_large_machine_samples_its_clocks(tree: Tree) -> None:
    policy = "sys/devices/system/cpu/cpufreq/policy"
    for cpu in range(128):
        tree.write(f"{policy}{cpu}", related_cpus=cpu, scaling_cur_freq=1000000 + 1000 * cpu)
    [clock] = tree.system(128).frequencies
    assert len(clock._sample) == 16  # type: ignore[attr-defined]
    assert clock.state().actual_mhz == 1000 + sum(range(0, 128, 8)) / 16


# --- psutil ---------------------------------------------------------------------------------------

ASK_PSUTIL = """
import builtins, glob, json, os, sys
root, real_open, real_glob, real_exists = sys.argv[1], open, glob.glob, os.path.exists
def moved(path):
    inside = isinstance(path, str) and path.startswith(("/sys/", "/proc/cpuinfo"))
    return root + path if inside else path
builtins.open = lambda path, *rest, **named: real_open(moved(path), *rest, **named)
glob.glob = lambda path: [each.removeprefix(root) for each in real_glob(moved(path))]
os.path.exists = lambda path: real_exists(moved(path))
import psutil
print(json.dumps([psutil.cpu_freq(), psutil.sensors_temperatures(), psutil.sensors_fans()]))
"""


@pytest.mark.parametrize("name", ["laptop", "server", "vm"])
def test_psutil_agrees_on_recorded_machines(name: str) -> None:
    child = subprocess.run(
        [sys.executable, "-c", ASK_PSUTIL, str(TREES / name)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    (clock, low, high), temperatures, fans = json.loads(child.stdout)
    system = System(str(TREES / name), range(2 if name == "vm" else 8))
    states = [each.state().actual_mhz or 0 for each in system.frequencies]
    assert sum(states) / len(states) == pytest.approx(clock)
    if high:
        assert {each.range_mhz() for each in system.frequencies} == {(low, high)}
    cores = [each[1] for each in temperatures.get("coretemp", ()) if each[0].startswith("Core")]
    kind = zes.ZES_TEMP_SENSORS_GPU
    ours = [each.celsius() for each in system.temperatures if each.type == kind]
    assert max(ours, default=None) == max(cores, default=None)
    speeds = [current for chip in fans.values() for _, current in chip]
    assert sorted(each.rpm() or 0 for each in system.fans) == sorted(speeds)


def test_psutil_reads_the_same_of_this_machine() -> None:
    system = System("/", sorted(os.sched_getaffinity(0)))
    theirs = psutil.cpu_freq()
    assert bool(system.frequencies) == (theirs is not None)
    if theirs is not None and not theirs.max:  # without cpufreq the clock stands still
        assert system.frequencies[0].state().actual_mhz == pytest.approx(theirs.current, rel=0.05)
    if theirs is not None and theirs.max:
        limits = [each.range_mhz() for each in system.frequencies]
        assert max(high for _, high in limits) >= theirs.max
    if not psutil.sensors_fans():
        assert not system.fans
    if not psutil.sensors_temperatures():
        assert not system.temperatures


def test_many_readers_at_once(tree: Tree) -> None:
    """Counters only go up for each reader, and each file is opened once."""
    tree.copy("laptop")
    system = tree.system(8)
    power, clock = system.powers[0], system.frequencies[0]
    counter = tree.root / "sys/class/powercap/intel-rapl:0/energy_uj"
    start, step = 98_765_432_100, 500_000_000
    before = open_descriptors()
    wrong: list[object] = []

    def read() -> None:
        last = (0, 0)
        for _ in range(100):
            now = power.energy_uj()
            if now < last or clock.state().actual_mhz != 1586.75:
                wrong.append((last, now))
            last = now

    readers = [threading.Thread(target=read) for _ in range(16)]
    for reader in readers:
        reader.start()
    descriptor = os.open(counter, os.O_WRONLY)
    for count in range(200):
        os.pwrite(descriptor, f"{start + count * step:<20}\n".encode(), 0)
    os.close(descriptor)
    for reader in readers:
        reader.join()
    assert not wrong
    assert open_descriptors() <= before + 20
    assert power.energy_uj()[0] == start + 199 * step
