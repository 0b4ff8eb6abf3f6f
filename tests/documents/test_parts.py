"""What an installation without its parts can do, and what it says about the rest."""

from __future__ import annotations

import re
import subprocess
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from tests.loader_stub import needs_loader

from .installs import Installs, site_of
from .pages import PAGES, ROOT
from .world import World

pytestmark = pytest.mark.timeout(1200)  # many programs run one after the other

FOR_DEVELOPERS = {"bench", "dev", "docs", "test"}


class Reader:
    """Somebody with an environment, in a folder of their own."""

    def __init__(self, place: Path, folder: Path, world: World) -> None:
        self.place, self.folder, self.world = place, folder, world
        self.programs = place / "bin"

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Runs a command with what it names."""
        self.world.provide(command, self.folder, self.programs)
        path = f"{self.programs}:/usr/local/bin:/usr/bin:/bin"
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={"PATH": path, "HOME": str(self.folder), "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
        )


@pytest.fixture
def base(installs: Installs, world: World, tmp_path: Path) -> Reader:
    """Somebody who has installed the package without any part."""
    return Reader(installs.having([]), tmp_path, world)


def extras(installs: Installs) -> set[str]:
    """The parts that the package has, as its metadata says."""
    with zipfile.ZipFile(installs.wheel()) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        headers = HeaderParser().parsestr(archive.read(path).decode())
    return set(headers.get_all("Provides-Extra", []))


def test_a_base_install_plays_what_it_records(base: Reader) -> None:
    recorded = base.run("groundstate record --results -o trace -- ./my_app")
    assert recorded.returncode == 0, recorded.stderr
    played = base.run("groundstate play trace")
    assert (played.returncode, played.stderr) == (0, "")
    assert re.search(r"[1-9]\d* pieces of memory compared, 0 not as recorded", played.stdout)


@pytest.mark.parametrize(
    "command",
    [
        "groundstate stream info trace",
        "groundstate stream calls trace",
        "groundstate stream stats trace --play",
        "groundstate stream timeline trace",
        "groundstate stream dump trace --kernel scale -o out",
        "groundstate stream diff trace --right topology=2",
        "groundstate subcapture trace -o one --kernel scale && groundstate play one",
        "groundstate script count_calls -- ./my_app",
        "groundstate top --once --interval 0",
        "groundstate survey kernels.spv",
        "groundstate dis kernels.spv",
    ],
)
def test_a_base_install_has_everything_for(base: Reader, command: str) -> None:
    done = base.run(command)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("groundstate compile kernels.cl", "pip install 'groundstate[opencl]'"),
        ("groundstate metrics --once", "pip install 'groundstate[monitor]'"),
        ("groundstate stream diff monday tuesday", "pip install numpy"),
        ("python examples/resnet18.py", "pip install 'groundstate[dnn]'"),
    ],
)
def test_missing_part_is_named_with_pip_command(base: Reader, command: str, advice: str) -> None:
    (base.folder / "examples").symlink_to(ROOT / "examples")
    done = base.run(command)
    assert done.returncode != 0
    assert advice in done.stderr
    assert "Traceback" not in done.stderr


def test_all_has_every_other_part(installs: Installs) -> None:
    wanted = sorted(extras(installs) - FOR_DEVELOPERS - {"all"})
    everything = site_of(installs.having(["groundstate[all]"]))
    for part in wanted:
        for entry in site_of(installs.having([f"groundstate[{part}]"])).iterdir():
            assert (everything / entry.name).exists(), (part, entry.name)


def test_parts_that_texts_name_exist(installs: Installs) -> None:
    sources = [*PAGES, *(ROOT / "src").rglob("*.py"), *(ROOT / "examples").rglob("*.py")]
    known = extras(installs) | {"NAME"}
    for source in sources:
        for named in re.findall(r"groundstate\[([\w,]+)\]", source.read_text(encoding="utf-8")):
            assert set(named.split(",")) <= known, source


@needs_loader
def test_missing_libpython_says_what_to_install(
    installs: Installs, world: World, tmp_path: Path
) -> None:
    place = tmp_path / "environment"
    subprocess.run(["cp", "-a", str(installs.having([])), str(place)], check=True)
    site = site_of(place)
    moved = site.parent.rename(site.parent.with_name("python3.99"))  # a Python that nobody has
    native = moved / "site-packages" / "groundstate" / "_native"
    settings = native / "interpreter.cfg"
    if settings.exists():
        settings.unlink()  # it is a link to the file of other environments
        settings.write_text("version=3.99\n")
    world.provide("./my_app", tmp_path, place / "bin")
    driver = native / "libze_groundstate.so.1"
    done = subprocess.run(
        [tmp_path / "my_app"],
        env={"ZE_ENABLE_ALT_DRIVERS": str(driver), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "no libpython3.99.so" in done.stderr
    assert "apt install libpython3.99" in done.stderr


@needs_loader
def test_run_finds_dnnl_library_without_rpath(base: Reader) -> None:
    flags = "$(python -m groundstate.dnnl --cflags)"
    native = site_of(base.place) / "groundstate" / "_native"
    link = f"-L{native} -l:libgroundstate_dnnl.so.3 -lze_loader"
    built = base.run(f"cc program.c {flags} {link} -o program")
    assert built.returncode == 0, built.stderr
    done = base.run("groundstate run -- ./program")
    assert (done.returncode, done.stdout, done.stderr) == (0, "24 bytes\n", "")
