"""The dispatch tables, asked for as loaders of all ages do, and the driver-DDI handles."""

from __future__ import annotations

import subprocess
from pathlib import Path

from registry.load import load

from .conftest import ROOT, TIMEOUT, Build, table_getters


def run(program: Path, *arguments: str) -> str:
    """The output of a program that has to end well, in an empty environment."""
    done = subprocess.run(
        [str(program), *arguments], env={}, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_table_in_every_version(build: Build, library: Path, tmp_path: Path) -> None:
    tables = [table for table in load().tables.values() if table.getter is not None]
    rows = []
    for table in tables:
        minors = [str(entry.since[1]) for entry in table.fields if entry.since is not None]
        assert len(minors) == len(table.fields) == table.size // 8
        rows.append(f'{{"{table.getter}", {len(minors)}, {{{", ".join(minors)}}}}},\n')
    (tmp_path / "tables_now.inc").write_text("".join(rows), encoding="utf-8")
    program = build("tables_now", f"-I{tmp_path}", "-ldl")
    assert run(program, str(library)) == f"{len(tables)} tables\n"


def test_tables_are_as_long_as_headers_say(
    build: Build, library: Path, headers: Path, tmp_path: Path
) -> None:
    getters = table_getters(headers)
    assert len(getters) > 45
    rows = [f"TABLE({getter}, {table})\n" for getter, table in getters]
    (tmp_path / "tables_then.inc").write_text("".join(rows), encoding="utf-8")
    link = (f"-L{library.parent}", f"-l:{library.name}", f"-Wl,-rpath,{library.parent}")
    program = build("tables_then", f"-I{tmp_path}", *link)
    assert run(program).startswith(f"{len(getters)} tables of version 1.")


def test_handles_lead_to_their_tables(build: Build, library: Path) -> None:
    program = build("ddi_handles", f"-I{ROOT / 'native'}", "-ldl")
    assert run(program, str(library)) == "1 devices\n"
