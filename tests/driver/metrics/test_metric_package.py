"""What packages count of themselves: found in files of another machine, and read by streamers."""

import json
import shutil
from pathlib import Path

import pytest

from groundstate.driver.metrics import package, table
from groundstate.driver.metrics.package import CountedEvent, CountedFile
from tests.driver.metrics.support import TIME
from tests.driver.processes import run

SERVER = Path(__file__).parents[2] / "machines" / "server"
PMUS = "sys/bus/event_source/devices"
ZONE = "sys/class/powercap/intel-rapl"
READ, WRITTEN = 0x0304, 0x0C04
"""The configurations of the events of Intel's memory controllers."""
TURN = 262_143_328_850

STREAM = """
import json, os, pathlib
from tests.driver.metrics.support import *
from tests.driver.metrics.test_metric_streamers import SECOND, marker

root = pathlib.Path(os.environ["GROUNDSTATE_SYSFS_ROOT"])
metrics = Metrics(first_driver(), device.value, Metrics.find(device.value))
commands = metrics.immediate(in_order=True)
group = metrics.active("Package", TIME)
zone = root / "sys/class/powercap/intel-rapl:0/energy_uj"

def report(streamer, value):
    marker(commands, streamer, value)
    finish(commands)
    raw = read(streamer)[1]
    return [each for each in calculate(group, raw) if each["StreamMarker"] == value][0]

marker(commands, metrics.streamer(group, SECOND), 1)  # opens what stays open
finish(commands)
files = len(os.listdir("/proc/self/fd"))
streamer = metrics.streamer(group, 100 * SECOND)
found = []
for value, energy in enumerate(sys.argv[1:], 1):
    zone.write_text(energy)
    found.append(report(streamer, value))
opened = len(os.listdir("/proc/self/fd")) - files
metrics.end(streamer)
left = len(os.listdir("/proc/self/fd")) - files
say(json.dumps([found, opened, left]))
metrics.close()
"""


@pytest.fixture
def server(tmp_path: Path) -> Path:
    return shutil.copytree(SERVER, tmp_path / "server")


def streamed(root: Path, counters: str, *energies: int) -> list[dict[str, float]]:
    """The report after each of these energies was written; the streamer has closed its files."""
    said = run(STREAM, *map(str, energies), GROUNDSTATE_SYSFS_ROOT=str(root), LD_PRELOAD=counters)
    found, opened, left = json.loads(said)
    assert opened > 0
    assert left == 0
    return list(found)


def first_choices(root: Path, cpus: range) -> dict[str, object]:
    """For each word the counters that are taken if all can be read."""
    found: dict[str, object] = {}
    for word, counters in package.choices(str(root), cpus):
        found.setdefault(word, list(counters))
    return found


def test_counters_are_those_of_the_packages_of_the_cpus() -> None:
    energy = [CountedFile(f"{SERVER / ZONE}:{package}/energy_uj", TURN) for package in (0, 1)]
    both, second = first_choices(SERVER, range(8)), first_choices(SERVER, range(4, 8))
    assert both["package_energy"] == energy
    assert second["package_energy"] == energy[1:]
    assert both["memory_read"] == [
        CountedEvent(type_, READ, cpu, 64) for type_ in (14, 15) for cpu in (0, 4)
    ]
    assert second["memory_written"] == [CountedEvent(type_, WRITTEN, 4, 64) for type_ in (14, 15)]
    assert set(both) == set(table.PACKAGE_WORDS)


def test_halves_of_memory_controllers_are_added(server: Path) -> None:
    for number in (0, 1):
        events = server / PMUS / f"uncore_imc_{number}" / "events"
        for half in ("_sch0", "_sch1"):
            (events / f"cas_count_read{half}").write_text(
                f"event=0x0{5 + int(half[-1])},umask=0xcf"
            )
            for fact in (".scale", ".unit"):
                shutil.copy(
                    events / f"cas_count_read{fact}", events / f"cas_count_read{half}{fact}"
                )
        (events / "cas_count_read").unlink()
    assert first_choices(server, range(4))["memory_read"] == [
        CountedEvent(type_, config, 0, 64) for type_ in (14, 15) for config in (0xCF05, 0xCF06)
    ]


def test_energy_is_asked_of_the_pmu_last() -> None:
    found = [each for word, each in package.choices(str(SERVER), range(8)) if "package" in word]
    assert found[1] == [CountedEvent(12, 2, cpu, 1e6 / 2**32) for cpu in (0, 4)]


def test_memory_controllers_without_events_of_their_own_are_known(tmp_path: Path) -> None:
    pmu = tmp_path / PMUS / "amd_umc_0"
    (pmu / "format").mkdir(parents=True)
    (pmu / "type").write_text("20\n")
    (pmu / "cpumask").write_text("0\n")
    (pmu / "format/event").write_text("config:0-7\n")
    assert first_choices(tmp_path, range(2)) == {}
    (pmu / "format/rdwrmask").write_text("config:8-9\n")
    assert first_choices(tmp_path, range(2)) == {
        "memory_read": [CountedEvent(20, 0x10A, 0, 64)],
        "memory_written": [CountedEvent(20, 0x20A, 0, 64)],
    }


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("events/cas_count_read", "event=0x04,new=1"),
        ("events/cas_count_read", "event=four"),
        ("events/cas_count_read.unit", "pages"),
        ("events/cas_count_read.scale", ""),
        ("format/umask", "config1:0-7"),
        ("type", "none"),
        ("cpumask", ""),
    ],
)
def test_what_is_not_understood_is_not_counted(server: Path, file: str, text: str) -> None:
    for number in (0, 1):
        (server / PMUS / f"uncore_imc_{number}" / file).write_text(text)
    assert "memory_read" not in first_choices(server, range(8))


def test_streamers_report_energy_and_traffic(server: Path, counters: str) -> None:
    files = [server / f"{ZONE}:{number}/energy_uj" for number in (0, 1)]
    before = int(files[0].read_text())
    energies = (before + 5_000_000, TURN - 1000, 500)
    found = streamed(server, counters, *energies)
    used = [each["PackageEnergy"] for each in found]
    assert used == [5_000_000, TURN - 1000 - energies[0], 1500]
    assert found[0]["PackagePower"] == pytest.approx(1000 * used[0] / found[0]["GpuTime"], rel=1e-5)
    for each in found:
        assert each["MemoryBytesRead"] == 10 * 2 * 64 * 4
        assert each["MemoryBytesWritten"] == 10 * 2 * 64 * 4
        rate = each["MemoryBytesRead"] / each["GpuTime"]
        assert each["MemoryReadBandwidth"] == pytest.approx(rate, rel=1e-5)
        assert each["MemoryEnergy"] == 0


def test_energy_that_files_do_not_tell_is_that_of_the_pmu(server: Path, counters: str) -> None:
    (server / f"{ZONE}:1/energy_uj").write_text("")
    (server / PMUS / "power/events/energy-pkg.scale").write_text("0.5")
    (found,) = streamed(server, counters, 0)
    assert found["PackageEnergy"] == 10 * 2 * 2 * 500_000


def test_machines_that_count_nothing_have_no_group() -> None:
    vm = SERVER.with_name("vm")
    assert list(package.choices(str(vm), range(2))) == []
    assert table.package_groups(()) == ()
    (group,) = table.package_groups(["memory_read"])
    names = [each.name for each in group.metrics]
    assert names[-2:] == ["MemoryBytesRead", "MemoryReadBandwidth"]
    assert (group.sampling, len(group.metrics)) == (TIME, 6)
    assert table.package_words_of(names) == ["memory_read"]


def test_each_word_has_its_place() -> None:
    first = table.NAMES.index(table.PACKAGE_WORDS[0])
    assert table.NAMES[first : first + len(table.PACKAGE_WORDS)] == table.PACKAGE_WORDS
