"""Scripts are found by file name and by the name of a bundled one, and what is missing is said."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from groundstate import knobs
from groundstate.capture import hook, place
from groundstate.capture.scripting import script as scripts
from groundstate.capture.scripting.hooks import HOOKS, parameters_of


def test_files_come_before_bundled_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hooks.lua").write_text("")
    assert scripts.find("hooks.lua") == Path("hooks.lua")
    assert scripts.find("performance") == scripts.BUNDLED / "performance.lua"
    (tmp_path / "performance").write_text("")
    assert scripts.find("performance") == scripts.BUNDLED / "performance.lua"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("missing.lua", "missing.lua: no such file"),
        ("preformance", "did you mean 'performance'?"),
        ("zzz", "the bundled ones are count_calls, "),
        ("plain.txt", "must end with .lua or .py"),
    ],
)
def test_what_cannot_be_found_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.txt").write_text("")
    with pytest.raises(scripts.ScriptError, match=r"there is no|is not a|no such") as raised:
        scripts.find(name)
    assert sentence in str(raised.value)


def test_lua_needs_lupa_and_python_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (tmp_path / "hooks.py").write_text("from groundstate.capture import hook\n")
    assert scripts.find(str(tmp_path / "hooks.py"))
    with pytest.raises(scripts.ScriptError, match="pip install lupa"):
        scripts.find("performance")


def test_variables_of_a_script(tmp_path: Path) -> None:
    script = scripts.Script(tmp_path / "a.lua", "-x", tmp_path / "out", stop_on_error=True)
    set_for_play = place.player_environment("libze_loader.so.1", None, script)
    assert set_for_play == {
        "GROUNDSTATE_CAPTURE_NEXT": "libze_loader.so.1",
        "GROUNDSTATE_CAPTURE_OUT": "",
        "GROUNDSTATE_SCRIPT": str(tmp_path / "a.lua"),
        "GROUNDSTATE_SCRIPT_ARGUMENTS": "-x",
        "GROUNDSTATE_SCRIPT_OUT": str(tmp_path / "out"),
        "GROUNDSTATE_SCRIPT_STREAM": "",
        "GROUNDSTATE_SCRIPT_STOP": "1",
        "GROUNDSTATE_SCRIPT_SANDBOX": "0",
    }
    assert {knob.name for knob in knobs.KNOBS} >= set(set_for_play)


def test_hooks_are_registered_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def ignore(call: object) -> int:
        return 0

    monkeypatch.setitem(HOOKS, "zeMemFree", ignore)
    assert hook("zeMemFree")(ignore) is ignore
    assert HOOKS["zeMemFree"] is ignore
    for wrong in ("zeMemFre", "zeGetMemProcAddrTable", "nothing"):
        with pytest.raises(ValueError, match="there is no function"):
            hook(wrong)
    names = [parameter.name for parameter in parameters_of("zeMemFree")]
    assert names == ["hContext", "ptr"]
