"""The documentation site builds without a warning, is complete, and needs no network."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import groundstate as gs
from groundstate import dnn, errors, sysman
from groundstate.cli.command_tree import command_tree
from groundstate.cli.commands import make_parser
from groundstate.compiler.instrument.passes import ALL_PASSES as PASSES

from .pages import ROOT

InventoryFile = pytest.importorskip("sphinx.util.inventory").InventoryFile

DOCS = ROOT / "docs"
LOADED = re.compile(
    r"""<(?:script|img|iframe)[^>]*\bsrc=["'](?:https?:)?//[^"']+"""
    r"""|<link(?![^>]*rel=["']canonical)[^>]*\bhref=["'](?:https?:)?//[^"']+"""
    r"""|url\(\s*["']?(?:https?:)?//[^)]+|@import\s+["'](?:https?:)?//[^"']+"""
)
"""What a browser would load from elsewhere without being asked to."""
MODULES = {
    "groundstate": set(gs.__all__) - {"__version__", "errors", "LevelZeroError"},
    "groundstate.errors": set(errors.__all__),
    "groundstate.sysman": set(sysman.__all__),
    "groundstate.dnn": set(dnn.__all__),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from nothing."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    done = subprocess.run(
        [
            *command,
            "--builder",
            "html",
            "--doctree-dir",
            folder / "doctrees",
            DOCS,
            folder / "html",
        ],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


def test_site_loads_nothing_from_elsewhere(site: Path) -> None:
    files = [path for path in site.rglob("*") if path.suffix in (".html", ".css", ".svg")]
    assert len(files) > 50
    loaded = {path.name: LOADED.findall(path.read_text(encoding="utf-8")) for path in files}
    assert {name: found for name, found in loaded.items() if found} == {}


@pytest.mark.parametrize("module", MODULES)
def test_reference_has_every_public_name(site: Path, module: str) -> None:
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    listed = {
        name
        for kind in ("py:class", "py:exception", "py:function")
        for name in inventory.data.get(kind, {})
    }
    assert {f"{module}.{name}" for name in MODULES[module]} <= listed


def test_reference_has_every_command(site: Path) -> None:
    text = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    ids = set(re.findall(r'<section id="([^"]+)"', text))
    commands = command_tree(make_parser()).all()
    wanted = {"-".join(command.words) for command in commands if len(command.words) > 1}
    assert wanted <= ids


def test_pipeline_picture_has_every_pass(site: Path) -> None:
    text = (site / "internals" / "compiler-pipeline.html").read_text(encoding="utf-8")
    assert set(PASSES) <= set(re.findall(r'class="pass-name"[^>]*>([^<]+)<', text))


def test_every_example_is_shown() -> None:
    pages = [*(DOCS / "tutorial").glob("*.md"), *(DOCS / "howto").glob("*.md")]
    shown = "".join(page.read_text(encoding="utf-8") for page in pages)
    examples = [path.name for path in (ROOT / "examples").glob("*.*")]
    helpers = {"png.py", "report.py"}
    assert [name for name in examples if name not in shown and name not in helpers] == []


def test_folders_stay_small() -> None:
    folders = [DOCS, *(path for path in DOCS.rglob("*") if path.is_dir())]
    assert {
        folder.name: len(list(folder.iterdir()))
        for folder in folders
        if len(list(folder.iterdir())) > 25
    } == {}
