"""Mistakes in scripts are said with their line; nothing is silently ignored."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import Build
from .test_script import hello, scripted

__all__ = ["Build", "hello"]

pytestmark = pytest.mark.usefixtures("headers", "library")

PYTHON = "from groundstate import ze\nfrom groundstate.capture import hook\n"


def said(tmp_path: Path, hello: Path, suffix: str, text: str) -> tuple[int, str]:
    """Status and standard error of a program with a script."""
    path = tmp_path / f"hooks{suffix}"
    path.write_text(text)
    done = scripted(path, hello)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "def zeMemAllocHost(call):\n    return call.proceed()\n",
            r':3: the function zeMemAllocHost is never called: write @hook\("zeMemAllocHost"\)',
        ),
        (
            '@hook("zeInit")\ndef f(call): return call.proceed()\ndef gitsProgramExit(): ...\n',
            r":5: the function gitsProgramExit is never called",
        ),
        ("def zeMemAlocHost(call): ...\n", r":3: .*; did you mean 'zeMemAllocHost'\?"),
        ("def (:\n", r":3: invalid syntax"),
    ],
    ids=["a hook", "an event", "a misspelt one", "syntax"],
)
def test_uncalled_python_hook_fails_before_run(
    hello: Path, tmp_path: Path, text: str, sentence: str
) -> None:
    status, stderr = said(tmp_path, hello, ".py", PYTHON + text)
    assert status == 1
    assert re.fullmatch(r"groundstate script: \S*hooks\.py" + sentence + ".*\n", stderr), stderr


def test_a_python_script_without_hooks_is_refused(hello: Path, tmp_path: Path) -> None:
    status, stderr = said(tmp_path, hello, ".py", "print('hello')\n")
    assert status == 1
    assert 'the script hooks nothing: write @hook("zeFunction")' in stderr
    _, stderr = said(tmp_path, hello, ".py", PYTHON + "helper = 3\n")  # found when it is loaded
    assert 'hooks.py:1: the script hooks nothing: write @hook("zeFunction")' in stderr


def test_lua_syntax_error_fails_before_run(hello: Path, tmp_path: Path) -> None:
    status, stderr = said(tmp_path, hello, ".lua", "x = 1\nfunction (\n")
    assert status == 1
    assert re.fullmatch(r"groundstate script: \S*hooks\.lua:2: .* expected near .*\n", stderr)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("function zeMemAllocHst() end", ":1: .*'zeMemAllocHst'; did you mean 'zeMemAllocHost'?"),
        ("function zeFooBar() end", ":1: there is no function to hook that is called 'zeFooBar'"),
        ("function gitsProgramStrt() end", ":1: there is no event .* 'gitsProgramStart'?"),
        ("local function zeInit() end", " hooks nothing: no global function has the name"),
    ],
)
def test_uncalled_lua_hook_is_an_error(
    hello: Path, tmp_path: Path, text: str, sentence: str
) -> None:
    _, stderr = said(tmp_path, hello, ".lua", text)
    assert re.search(r"hooks\.lua" + sentence.replace("?", r"\?"), stderr), stderr


LUA_MISTAKES = {
    "print(desc.flgs)": "ze_context_desc_t has no field 'flgs'; did you mean 'flags'?",
    "desc.flgs = 3": "ze_context_desc_t has no field 'flgs'; did you mean 'flags'?",
    "desc.flags = 'many'": "flags of ze_context_desc_t must be a number, not a string",
    "desc.flags = {}": "flags of ze_context_desc_t must be a number, not a table",
    "desc.flags = 1.5": "flags of ze_context_desc_t must be a whole number",
    "desc.flags = 1 << 40": "flags of ze_context_desc_t has 32 bits",
    "print(desc[-1])": "structs in a row count from 0; there is no -1",
    "desc.flags = ZE_CONTEXT_FLG_TBD": "no constant 'ZE_CONTEXT_FLG_TBD'; did you mean",
    "return drvl0.zeContextCreat(h, desc, p)": "did you mean 'zeContextCreate'?",
    "print(drvl0.create_ze_device_properties_t().uuid.id[16])": "the elements 0 to 15",
    "drvl0.create_ze_device_properties_t().uuid.id[16] = 1": "the elements 0 to 15",
    "print(drvl0.create_ze_device_properties_t().uuid.idd)": "has no field 'idd'; did you mean",
}


@pytest.mark.parametrize("line", LUA_MISTAKES)
def test_a_mistake_in_lua_names_what_there_is(hello: Path, tmp_path: Path, line: str) -> None:
    text = f"function zeContextCreate(h, desc, p)\n  {line}\nend\n"
    status, stderr = said(tmp_path, hello, ".lua", text)
    assert status == 0
    assert "hooks.lua:2: " in stderr
    assert LUA_MISTAKES[line] in stderr


PYTHON_MISTAKES = {
    "call.arguments.desc.flgs": "ze_context_desc_t has no field 'flgs'; did you mean 'flags'?",
    "call.arguments.desc.flgs = 3": "ze_context_desc_t has no field 'flgs'; did you mean 'flags'?",
    "call.arguments.desc.flags = 'many'": "TypeError",
    "call.arguments.desc.flags = 1 << 40": "flags of ze_context_desc_t has 32 bits",
    "call.arguments.dsc": "there is no argument 'dsc'; there are hDriver, desc, phContext",
    "call.arguments.dsc = 3": "there is no argument 'dsc'; there are hDriver, desc, phContext",
    "call.arguments.hDriver = 'x'": "'hDriver' must be a number, not str",
    "ze.ZE_CONTEXT_FLG_TBD": "ZE_CONTEXT_FLG_TBD",
    "return 'x'": "the hook must return a number, not str",
}


@pytest.mark.parametrize("line", PYTHON_MISTAKES)
def test_a_mistake_in_python_names_what_there_is(hello: Path, tmp_path: Path, line: str) -> None:
    text = f'{PYTHON}@hook("zeContextCreate")\ndef f(call):\n    {line}\n'
    status, stderr = said(tmp_path, hello, ".py", text)
    assert status == 0
    assert PYTHON_MISTAKES[line] in stderr


def test_python_checks_fields_of_nested_structs(hello: Path, tmp_path: Path) -> None:
    text = f"""{PYTHON}
@hook("zeDeviceGetProperties")
def f(call):
    result = call.proceed()
    found = call.arguments.pDeviceProperties
    assert isinstance(found, ze.ze_device_properties_t)
    found.uuid.id[0] = 7
    assert found.uuid.id[0] == 7
    found.uuid.idd = 3
"""
    _, stderr = said(tmp_path, hello, ".py", text)
    assert "ze_device_uuid_t has no field 'idd'; did you mean 'id'?" in stderr


SEED = """
local fields = {}
function zeContextCreate(hDriver, desc, phContext)
  for name, value in pairs(desc) do fields[name] = value end
  assert(type(desc) == "table" and rawget(desc, "_self") == desc._self)
  assert(desc._self == desc.__self and fields._self == desc._self and fields.__self == desc._self)
  local own = drvl0.create_ze_context_desc_t()
  assert(own.stype == ZE_STRUCTURE_TYPE_CONTEXT_DESC and own._self ~= desc._self)
  local view = drvl0.create_ze_context_desc_t(desc._self)
  view.flags = 0
  assert(view._self == desc._self and desc.flags == 0)
  drvl0.free(own)
  assert(own._self == gits.nullUdt())
  print("seen")
  return drvl0.zeContextCreate(hDriver, desc, phContext)
end
"""


def test_struct_address_is_its_self_field(hello: Path, tmp_path: Path) -> None:
    path = tmp_path / "seed.lua"
    path.write_text(SEED)
    done = scripted(path, hello)
    assert done.stderr == ""
    assert done.stdout.startswith("seen\n")
