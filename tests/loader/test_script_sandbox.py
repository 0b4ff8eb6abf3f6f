"""Scripts of strangers in the sandbox: they look on, and what people try to get out fails."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Build
from .test_record import LINK, succeeded
from .test_script import GROUNDSTATE, TIMEOUT, scripted
from .test_script_lua import REFUSED

pytestmark = pytest.mark.usefixtures("headers", "library")

Run = Callable[..., subprocess.CompletedProcess[str]]
Check = Callable[[str], str]


@pytest.fixture
def run(build: Build, tmp_path: Path) -> Run:
    """Runs a program with a script in the sandbox."""
    program = build("hooked", *LINK)

    def run_text(text: str, *options: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "stranger.lua"
        path.write_text(text, encoding="utf-8")
        return scripted(path, program, options=("--sandbox", *options))

    return run_text


@pytest.fixture
def check(run: Run) -> Check:
    """The same for a script that checks itself; hands back what was written on standard error."""

    def run_text(text: str) -> str:
        done = run(REFUSED + text, "--stop-on-error")
        assert succeeded(done).endswith("hooked ok\n"), done.stderr
        return done.stderr

    return run_text


def test_what_reaches_out_is_not_there(check: Check) -> None:
    check("""
    for _, name in ipairs {"os", "io", "package", "debug", "coroutine", "load", "loadfile", "warn",
                           "loadstring", "dofile", "collectgarbage", "python", "lupa", "ffi"} do
      assert(rawget(_G, name) == nil, name)
    end
    assert(string.dump == nil and ("").dump == nil and getmetatable("").__index.dump == nil)
    assert(require "l0Constants")
    refused("nothing to require", require, "os")
    refused("nothing to require", require, "lupa")
    refused("nothing to require", require)
    """)


def test_sandbox_has_only_side_effect_free_parts(check: Check) -> None:
    """A list of all that there is, so that another version of Lua brings nothing unseen."""
    check("""
    local known = {}
    for name in ([[_VERSION assert error getmetatable ipairs next pairs pcall print rawequal rawget
        rawlen rawset require select setmetatable tonumber tostring type xpcall _G drvl0 gits math
        string table utf8 ZE_BIT ZE_MAKE_VERSION refused]]):gmatch("%S+") do
      known[name] = true
    end
    for name, value in next, _G do
      assert(known[name] or (name:find("ZE", 1, true) == 1 and type(value) ~= "table"), name)
    end
    for name, value in next, gits do
      assert(name:sub(1, 3) ~= "set" and name:sub(1, 5) ~= "alloc" and name ~= "systemLog", name)
    end
    for name in next, drvl0 do
      assert(name:sub(1, 2) == "ze", name)
    end
    """)


def test_bytecode_is_not_loaded(tmp_path: Path, build: Build, run: Run) -> None:
    path = tmp_path / "bytes.lua"
    path.write_bytes(b"\x1bLua\x54\0\x19" + bytes(60))
    done = scripted(path, build("hooked", *LINK), options=("--sandbox",))
    assert done.returncode == 1
    assert "bytecode; scripts are text" in done.stderr


def test_library_refuses_to_load_bytecode_too(tmp_path: Path, build: Build) -> None:
    """The file may change after the command has looked at it."""
    path, program = tmp_path / "later.lua", build("hooked", *LINK)
    path.write_text("print('text')\n")
    swap = f"printf '\\033Lua' > {path}; exec {program}"
    done = scripted(path, "sh", "-c", swap, options=("--sandbox",))
    assert "attempt to load a binary chunk" in done.stderr
    assert succeeded(done).endswith("hooked ok\n")


ESCAPES = {
    "the metatable of strings": """
        local found = getmetatable("").__index
        assert(found == string and found.dump == nil and not found.execute)
        found.find = function() return "mine" end  -- its own strings only
    """,
    "metamethods with other values": """
        local globals = getmetatable(_G)
        refused("a name and a value", globals.__newindex, 5, "x", 1)
        refused("a name and a value", globals.__newindex, 1.5, print, print)
        refused("a name and a value", globals.__newindex)
        assert(globals.__index(5, "x") == nil)
    """,
    "methods of structs with other values": """
        function zeContextCreate(driver, desc, context)
          local methods = getmetatable(desc)
          for _, name in ipairs {"__index", "__newindex"} do
            refused("must be a table", methods[name], 5, "flags", 1)
            refused("must be a table", methods[name], 1.5, "_self", 1)
            refused("must be a table", methods[name])
          end
          refused("not a table without _self", methods.__tostring, {})
          refused("must be", methods.__tostring, print)
          local step = pairs(desc)
          pcall(step, 5, "flags"); pcall(step, {}, 7); pcall(step)
        end
    """,
    "finalizers": """
        refused("no finalizers", setmetatable, {}, {__gc = function() while true do end end})
        refused("no finalizers", setmetatable, {}, {__gc = true})
        local later = {}
        setmetatable({}, later)
        later.__gc = function() while true do end end
        refused("no finalizers", setmetatable, {}, later)
        for _ = 1, 1e4 do local _ = {} end
    """,
    "searches that never end": """
        local text = ("a"):rep(5000)
        for _, name in ipairs {"find", "match", "gmatch", "gsub"} do
          refused("could take too long", string[name], text, ("a*"):rep(30) .. "b", "")
        end
        refused("could take too long", text.find, ("x"):rep(2^20), ".-b")
        refused("could take too long", text.find, ("("):rep(1e6), "%b()")
        assert(("name = value"):match("^(%w+)%s*=%s*(%w+)$") == "name")
        assert(("[a-z]"):find("[]%-]") == 3)
    """,
    "loops inside of C": """
        refused("no more than", string.rep, "", 1e15)
        refused("no more than", table.move, {}, 1, 1 << 53, 2)
        refused("no more than", table.move, {}, math.mininteger, math.maxinteger, 2)
        local endless = setmetatable({}, {__len = function() return 1 << 53 end})
        for _, name in ipairs {"insert", "remove", "concat", "unpack", "sort"} do
          refused("without a metatable", table[name], endless, 1, 1)
        end
        refused("without a metatable", table.move, {}, 1, 2, 3, endless)
        assert(table.concat({1, 2, 3}, ",") == "1,2,3" and select("#", table.unpack({1, 2})) == 2)
    """,
    "more memory than there is": """
        local done, message = pcall(function()
          local text = "x"
          while true do text = text .. text end
        end)
        assert(not done and message:find("not enough memory", 1, true), message)
        refused("not enough memory", string.rep, ("x"):rep(1 << 20), 1 << 10)
        done = pcall(function()
          local all = {}
          while true do all[#all + 1] = {} end
        end)
        assert(not done)
    """,
    "writing memory": """
        assert(gits.setByte == nil and gits.allocBytes == nil and gits.freeBytes == nil)
        assert(not rawget(drvl0, "create_ze_context_desc_t") and not rawget(drvl0, "free"))
        function zeDeviceGetModuleProperties(device, properties)
          local same = function() return properties end
          refused("change memory", function() same().flags = 1 end)
          refused("change memory", function() same().nativeKernelSupported.id[0] = 1 end)
          refused("change memory", function() same().pNext.fp32Flags = 7 end)
        end
    """,
    "calls of its own": """
        refused("that the program has not made", drvl0.zeInit, 0)
        function zeContextDestroy(context)
          refused("that the program has not made", drvl0.zeInit, 0)
          refused("change the arguments", drvl0.zeContextDestroy, gits.nullUdt())
          refused("change the arguments", drvl0.zeContextDestroy, 4096)
          assert(drvl0.zeContextDestroy(context) == ZE_RESULT_SUCCESS)
          refused("twice", drvl0.zeContextDestroy, context)
        end
        function zeDeviceGetModuleProperties(device, properties)
          rawset(properties, "flags", 1)
          refused("change the arguments", drvl0.zeDeviceGetModuleProperties, device, properties)
          rawset(properties, "flags", nil)
          rawset(properties, "_self", gits.nullUdt())
          refused("change the arguments", drvl0.zeDeviceGetModuleProperties, device, properties)
        end
    """,
}


@pytest.mark.parametrize("how", ESCAPES)
def test_an_escape_fails(check: Check, how: str) -> None:
    assert "script: failed" not in check(ESCAPES[how])


def test_a_handler_of_errors_gets_them(check: Check) -> None:
    check("""
    local function same(done, ...) return done and select("#", ...) == 2 and ... == "a" end
    assert(same(xpcall(function(...) return ... end, error, "a", nil)))
    local done, one, two = xpcall(error, function(text) return text .. "!", 7 end, "oh", 0)
    assert(not done and one == "oh!" and two == 7)
    refused("a function and a handler", xpcall, error)
    refused("handler too", xpcall, error, function() error("handler too") end)
    """)


ENDLESS = {
    "a loop": "while true do end",
    "a loop that catches errors": "while true do pcall(function() while true do end end) end",
    "handlers of errors": "while true do xpcall(error, function() while true do end end) end",
    "errors that describe themselves": """
        error(setmetatable({}, {__tostring = function() while true do end end}))
    """,
    "texts that describe themselves": """
        getmetatable("").__tostring = function() while true do end end
        while true do end
    """,
    "nested catches": """
        local function deeper(level)
          while true do pcall(level > 0 and deeper or error, level - 1) end
        end
        deeper(100)
    """,
    "closing variables": """
        local function close() while true do end end
        local closed = {__close = close}
        while true do pcall(function() local x <close> = setmetatable({}, closed) end) end
    """,
    "a search with callbacks": "('x'):gsub('.', function() while true do end end)",
    "an order": "table.sort({3, 2, 1}, function() while true do end end)",
    "names of millions of letters": """
        local name = "ZE_" .. ("x"):rep(1 << 24)
        while true do pcall(function() return _G[name] end) end
    """,
    "slow instructions": """
        local text = ("x"):rep(1 << 24)
        local other = text .. "y"
        while true do local _ = text < other end
    """,
}


@pytest.mark.parametrize("how", ENDLESS)
def test_a_script_without_end_is_given_up(run: Run, how: str) -> None:
    done = run(f"function zeContextCreate() {ENDLESS[how]} end")
    assert succeeded(done).endswith("hooked ok\n")
    assert "has taken too long for the sandbox and is not called any more" in done.stderr


def test_endless_script_load_is_given_up(run: Run) -> None:
    done = run("while true do end")
    assert succeeded(done).endswith("hooked ok\n")
    assert "has taken too long" in done.stderr


def test_the_program_gets_what_the_driver_answers(run: Run) -> None:
    """Neither a false answer nor a call that is left out reaches it."""
    lies = """
    for name in pairs(drvl0) do
      _G[name] = function(...) return ZE_RESULT_ERROR_UNKNOWN end
    end
    """
    plain = run("function gitsProgramExit() end")
    assert succeeded(run(lies)) == succeeded(plain)


def test_a_script_may_look_on(run: Run) -> None:
    done = run("""
    local calls = 0
    for name, call_on in pairs(drvl0) do
      _G[name] = function(...)
        calls = calls + 1
        return call_on(...)
      end
    end
    function zeContextCreate(driver, desc, context)
      assert(desc.stype == ZE_STRUCTURE_TYPE_CONTEXT_DESC and desc.flags == 0)
      local result = drvl0.zeContextCreate(driver, desc, context)
      assert(result == ZE_RESULT_SUCCESS and gits.getUdt(context, 0) ~= gits.nullUdt())
      gits.log(4, "made a context")
      return result
    end
    function gitsProgramExit() print("calls", calls > 5) end
    """)
    assert "calls\ttrue\n" in succeeded(done)
    assert "warning: made a context" in done.stderr
    assert "failed" not in done.stderr


def test_script_output_controls_no_terminal(run: Run) -> None:
    done = run(r"""
    local hostile = "\27[2J\27]0;title\7 \u{202e}rev \u{9b}2J \u{e9}\tx"
    print(hostile, "\xff")
    gits.log(5, hostile)
    function gitsProgramStart() error(hostile) end
    """)
    for text in (succeeded(done), done.stderr):
        assert "\\x1b[2J\\x1b]0;title\\x07 " in text
        assert "é\tx" in text
        assert not set(text) & set("\x1b\x07\u202e\x9b")


def test_a_script_in_python_is_refused(tmp_path: Path, build: Build) -> None:
    path, program = tmp_path / "hooks.py", build("hooked", *LINK)
    path.write_text("from groundstate.capture import hook\nprint('I ran')\n")
    done = scripted(path, program, options=("--sandbox",))
    assert done.returncode == 1
    assert "there is no sandbox for Python" in done.stderr
    assert "I ran" not in done.stdout


def test_the_variable_alone_refuses_python_too(tmp_path: Path, build: Build) -> None:
    path, program = tmp_path / "hooks.py", build("hooked", *LINK)
    path.write_text("from groundstate.capture import hook\nprint('I ran')\n")
    wrapped = ["env", "GROUNDSTATE_SCRIPT_SANDBOX=true", program]
    done = scripted(path, *wrapped)
    assert succeeded(done).endswith("hooked ok\n")
    assert "I ran" not in done.stdout
    assert "there is no sandbox for scripts in Python" in done.stderr


def test_recordings_are_made_and_played_with_it(tmp_path: Path, build: Build) -> None:
    script, out = tmp_path / "stranger.lua", tmp_path / "trace"
    script.write_text("function zeContextCreate() print(os == nil) end\n")
    options = ["--script", str(script), "--sandbox"]
    for command in (
        ["record", *options, "-o", str(out), "--", str(build("hooked", *LINK))],
        ["play", *options, str(out)],
    ):
        done = subprocess.run(
            [*GROUNDSTATE, *command], capture_output=True, text=True, timeout=TIMEOUT
        )
        assert "true\n" in succeeded(done)
