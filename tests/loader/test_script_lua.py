"""What Lua scripts can do besides calling on: memory, structs, constants, messages, events.

The scripts check themselves: an assertion that fails stops the program.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Build
from .test_record import LINK, succeeded
from .test_script import scripted

pytestmark = pytest.mark.usefixtures("headers", "library")

Check = Callable[..., str]

REFUSED = """
local function refused(sentence, action, ...)
  local done, message = pcall(action, ...)
  assert(not done, "should have been refused: " .. sentence)
  assert(message:find(sentence, 1, true), message)
end
"""


@pytest.fixture
def check(build: Build, tmp_path: Path) -> Check:
    """Runs a program with a script that checks itself; hands back what the script wrote."""
    program = build("hooked", *LINK)

    def run(text: str, options: tuple[str, ...] = ()) -> str:
        path = tmp_path / "check.lua"
        path.write_text(REFUSED + text, encoding="utf-8")
        done = scripted(path, program, options=("--stop-on-error", *options))
        assert succeeded(done).endswith("hooked ok\n"), done.stderr
        return "".join(
            line for line in done.stderr.splitlines(True) if " hooks nothing: " not in line
        )

    return run


def test_memory_by_index(check: Check) -> None:
    check("""
    local memory = gits.allocBytes(64)
    for name, values in pairs {
      Byte = {0, 255}, Int = {-1, 0x7fffffff}, Int64 = {-1, math.mininteger, math.maxinteger},
      SizeT = {(1 << 53) + 1, -1}, Float = {0.5, -2.0}, Udt = {gits.nullUdt(), memory},
    } do
      for index, value in ipairs(values) do
        gits["set" .. name](memory, index, value)
        assert(gits["get" .. name](memory, index) == value, name)
      end
    end
    gits.setInt(memory, 0, 0xffffffff)
    assert(gits.getInt(memory, 0) == -1 and gits.getByte(memory, 3) == 255)
    assert(math.type(gits.getInt64(memory, 0)) == "integer")
    gits.freeBytes(memory)
    refused("was not allocated by the script, or is freed", gits.freeBytes, memory)
    refused("there is no memory at", gits.getInt, gits.nullUdt(), 0)
    refused("there is no memory at", gits.getInt, 0x1234567000, 0)
    refused("read-only or not there", gits.setInt, 0x1234567000, 0, 1)
    refused("takes 2 arguments, not 1", gits.getInt, memory)
    refused("a string is no array", gits.setByte, "text", 0, 1)
    refused("8 bits; 256 does not fit", gits.setByte, gits.allocBytes(1), 0, 256)
    """)


def test_all_64_bits(check: Check) -> None:
    check("""
    local exact = (1 << 53) + 1
    assert(gits.udtToInt(gits.nullUdt()) == 0)
    assert(gits.isInt64InRange(exact, 16, exact + 15))
    assert(not gits.isInt64InRange(exact, 16, exact + 16))
    assert(gits.isInt64InRange(-16, 16, -1))
    local desc = drvl0.create_ze_module_desc_t()
    desc.inputSize = exact
    assert(desc.inputSize == exact)
    desc.inputSize = 0xffffffffffffffff
    assert(desc.inputSize == -1)
    desc.inputSize = 2.0 ^ 63
    assert(desc.inputSize == math.mininteger)
    refused("must be a whole number of 64 bits", function() desc.inputSize = 0.5 end)
    refused("must be a whole number of 64 bits", function() desc.inputSize = 2.0 ^ 64 end)
    local result = drvl0.create_ze_kernel_timestamp_result_t()
    result.global.kernelStart = exact
    assert(result.global.kernelStart == exact and result.context.kernelStart == 0)
    assert(ZES_SCHED_WATCHDOG_DISABLE == -1)
    """)


def test_strings(check: Check) -> None:
    check("""
    local text = gits.allocUdtFromStr("one two")
    assert(gits.udtToStr(text) == "one two" and gits.cStrToLuaStr(text) == "one two")
    assert(gits.udtToStr(gits.luaStrToCStr("three")) == "three")
    assert(gits.udtToStr("four") == "four" and gits.udtToStr(gits.nullUdt()) == nil)
    refused("there is no string at", gits.udtToStr, 0x1234567000)
    gits.freeBytes(text)
    local desc = drvl0.create_ze_module_desc_t()
    desc.pBuildFlags = "-g " .. "-x"
    collectgarbage()
    assert(gits.udtToStr(desc.pBuildFlags) == "-g -x")
    """)


def test_structs_that_were_freed_are_errors(check: Check) -> None:
    """Whatever shows a part of them knows it, also when something else is at their address."""
    said = check("""
    local result = drvl0.create_ze_kernel_timestamp_result_t()
    local nested, pointer = result.global, result.__self
    local view = drvl0.create_ze_kernel_timestamp_result_t(pointer)
    nested.kernelStart = 5
    local uuid = drvl0.create_ze_device_uuid_t()
    local bytes = uuid.id
    refused("was not allocated by the script", drvl0.free, result.context)
    result.context.kernelEnd = 6
    drvl0.free(result)
    drvl0.free(uuid)
    local others = {}
    for each = 1, 100 do others[each] = drvl0.create_ze_kernel_timestamp_result_t() end

    assert(result.global.kernelStart == 5 and result.context.kernelEnd == 6)
    refused("memory of this struct was freed", drvl0.free, result)
    refused("memory of this struct was freed", drvl0.free, view)
    refused("memory of this struct was freed", function() result.global = nested end)
    refused("memory of this struct was freed", function() nested.kernelStart = 7 end)
    refused("memory of this struct was freed", function() return nested.kernelStart end)
    refused("memory of this struct was freed", function() return view.context end)
    refused("memory of this struct was freed", function() return view[1] end)
    refused("memory of this struct was freed", function() bytes[0] = 1 end)
    refused("memory of this struct was freed", function() return tostring(bytes) end)
    refused("memory of this struct was freed", function() for _ in pairs(view) do end end)
    refused("memory of this struct was freed", gits.getInt, view, 0)
    refused("memory of this struct was freed", drvl0.zeEventQueryKernelTimestamp, 1, result)
    local _, message = pcall(function() nested.kernelStart = 7 end)
    assert(message:find("check.lua:%d+: "), message)
    for _, other in ipairs(others) do assert(other.global.kernelStart == 0) end
    local again = drvl0.create_ze_kernel_timestamp_result_t()
    view.__self = again.__self
    view.global.kernelStart = 8
    assert(again.global.kernelStart == 8)
    """)
    assert said == ""


def test_structs_of_the_script(check: Check) -> None:
    check("""
    local desc = drvl0.create_ze_event_pool_desc_t()
    assert(desc.stype == ZE_STRUCTURE_TYPE_EVENT_POOL_DESC and desc.count == 0)
    desc.count = 7
    assert(gits.getInt(desc._self, 5) == 7)
    local view = drvl0.create_ze_event_pool_desc_t(desc.__self)
    view.count = 8
    assert(desc.count == 8 and tostring(desc):find("ze_event_pool_desc_t"))
    drvl0.free(desc)
    assert(desc.count == 8 and desc.__self == gits.nullUdt())
    assert(desc.stype == ZE_STRUCTURE_TYPE_EVENT_POOL_DESC)
    assert(drvl0.create_ze_event_pool_desc_t(gits.nullUdt()) == gits.nullUdt())
    assert(type(drvl0.create_ze_event_pool_desc_t(0x1234567000)) == "userdata")

    local typed = drvl0.create_zet_typed_value_t()
    typed.value.ui64 = 0x4045000000000000
    assert(typed.value.fp64 == 42.0 and typed.value.ui32 == 0)
    typed.value.fp32 = 1.0
    assert(typed.value.ui32 == 0x3f800000)

    local first, second = drvl0.create_ze_device_uuid_t(), drvl0.create_ze_device_properties_t()
    for index = 0, #first.id - 1 do first.id[index] = index + 240 end
    second.uuid = first
    assert(second.uuid.id[15] == 255 and second.uuid.__self ~= first.__self)
    second.uuid = {id = {1, 2, 3}}
    assert(second.uuid.id[2] == 3 and second.uuid.id[3] == 243)
    second.name = "short"
    assert(tostring(second.name) == "short" and gits.udtToStr(second.name) == "short")
    refused("there is no memory at", function() second.uuid = gits.nullUdt() end)
    refused("no room for a text of 300 bytes", function() second.name = ("x"):rep(300) end)
    refused("elements 0 to 15; there is no 16", function() return first.id[16] end)
    refused("has no field 'nmae'", function() second.nmae = "x" end)
    refused("there is no constant 'ZE_NO_SUCH_FLAG'", function() second.flags = ZE_NO_SUCH_FLAG end)
    refused("is nil; is a constant misspelt?", function() second.flags = no_such_global end)
    refused("has no field 'nmae'; did you mean 'name'?", function() return second.nmae end)

    local row = drvl0.create_ze_copy_region_t(gits.allocBytes(3 * 24))
    row[2].originX = 5
    assert(gits.getInt(row.__self, 12) == 5 and row[0].originX == row.originX)
    """)


def test_copies_of_struct_tables_are_passed_on(check: Check) -> None:
    check("""
    local function copy(value)
      if type(value) ~= "table" then return value end
      local made = {}
      for key, each in pairs(value) do made[key] = copy(each) end
      return setmetatable(made, copy(getmetatable(value)))
    end
    function zeDeviceGetModuleProperties(hDevice, properties)
      local own = drvl0.create_ze_device_module_properties_t()
      local copied = copy(own)
      copied.pNext = gits.nullUdt()
      assert(rawget(copied, "spirvVersionSupported") == 0)
      assert(drvl0.zeDeviceGetModuleProperties(hDevice, copied) == ZE_RESULT_SUCCESS)
      assert(copied.spirvVersionSupported > 0)
      assert(own.spirvVersionSupported == copied.spirvVersionSupported)
      return drvl0.zeDeviceGetModuleProperties(hDevice, properties)
    end
    """)


def test_chains_are_tables_by_their_stype(check: Check) -> None:
    check("""
    function zeDeviceGetModuleProperties(hDevice, properties)
      local link = properties.pNext
      assert(link.stype == ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES)
      assert(getmetatable(link).__name == "ze_float_atomic_ext_properties_t")
      local result = drvl0.zeDeviceGetModuleProperties(hDevice, properties)
      assert(link.fp32Flags ~= 0 and link.pNext == gits.nullUdt())
      local ours = drvl0.create_ze_float_atomic_ext_properties_t()
      link.pNext = ours
      assert(link.pNext.__self == ours.__self)
      link.pNext = nil
      ours.stype = 0x7ffffff0
      properties.pNext = ours
      assert(type(properties.pNext) == "userdata", "an unknown stype is a pointer")
      properties.pNext = link
      return result
    end
    """)


def test_write_to_read_only_memory_is_an_error(check: Check) -> None:
    said = check("""
    local tried = 0
    function zeContextCreate(hDriver, desc, phContext)
      local done, message = pcall(function() desc.flags = 1 end)
      if not done then
        assert(message:find("its memory is read.only"), message)
        tried = tried + 1
      end
      if done then desc.flags = 0 end
      return drvl0.zeContextCreate(hDriver, desc, phContext)
    end
    function gitsProgramExit() io.stderr:write(tried) end
    """)
    assert said == "1"


@pytest.mark.parametrize("sandbox", [(), ("--sandbox",)], ids=["trusted", "sandbox"])
def test_missing_memory_is_noticed_without_process_vm(
    build: Build, tmp_path: Path, sandbox: tuple[str, ...]
) -> None:
    preloaded = build("no_process_vm", "-fPIC", "-shared", output="no_process_vm.so")
    text = """
    function zeContextCreate(hDriver, desc, phContext)
      refused("there is no memory at", gits.getInt, 0x1234567000, 0)
      refused("there is no string at", gits.udtToStr, 0x1234567000)
      if drvl0.free then
        refused("read-only or not there", gits.setInt, 0x1234567000, 0, 1)
        local memory = gits.allocBytes(10000)
        gits.setInt64(memory, 1100, 7)
        assert(gits.getInt64(memory, 1100) == 7)
      end
      assert(desc.stype == ZE_STRUCTURE_TYPE_CONTEXT_DESC)
      local result = drvl0.zeContextCreate(hDriver, desc, phContext)
      assert(gits.getUdt(phContext, 0) ~= gits.nullUdt())
      return result
    end
    """
    path = tmp_path / "check.lua"
    path.write_text(REFUSED + text, encoding="utf-8")
    command = ("env", f"LD_PRELOAD={preloaded}", build("hooked", *LINK))
    done = scripted(path, *command, options=("--stop-on-error", *sandbox))
    assert succeeded(done).endswith("hooked ok\n"), done.stderr


def test_constants(check: Check) -> None:
    check("""
    assert(require("l0Constants"))
    assert(ZE_RESULT_ERROR_UNKNOWN == 0x7ffffffe and ZE_MAX_DEVICE_NAME == 256)
    assert(ZE_BIT(3) == 8 and ZE_MAKE_VERSION(1, 2) == 0x10002)
    assert(ZE_RTAS_EXT_NAME == "ZE_extension_rtas" and ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES)
    """)


def test_settings_messages_and_ranges(check: Check, tmp_path: Path) -> None:
    said = check(
        """
        assert(gits.getArgsStr() == "-a b" and gits.getOutDir():match("/written$"))
        assert(gits.getStreamDir() == "" and gits.getPtrSize() == 8)
        assert(gits.msgBox("a", "b", 0) == nil)
        local before = gits.currTime()
        assert(math.type(before) == "integer" and gits.currTime() >= before)
        gits.log(4, "careful")
        gits.log(6, "nobody hears this")
        gits.systemLog("a line for the system's log")
        local range = gits.newBitRange("1,4-6,10-20:5")
        for number, inside in pairs {
          [0] = false, true, false, false, true, true, true, false, [10] = true, [12] = false,
          [15] = true, [20] = true, [25] = false,
        } do
          assert(gits.inBitRange(range, number) == inside, number)
        end
        assert(gits.inBitRange(gits.newBitRange("+"), 3))
        assert(gits.inBitRange(gits.newBitRange("all"), 0))
        assert(not gits.inBitRange(gits.newBitRange("-"), 3))
        refused("is no range such as", gits.newBitRange, "a-b")
        assert(gits.getCurrentFrame() == 0 and gits.getCurrentDraw() == 0)
        assert(gits.getCurrentDrawInFrame() == 0)
        """,
        ("--script-args=-a b", "--script-out", str(tmp_path / "written")),
    )
    assert said == "groundstate: script: warning: careful\n"


def test_hooks_come_and_go(check: Check) -> None:
    said = check("""
    local function note(...) io.stderr:write(table.concat({...}, " "), "\\n") end
    function gitsProgramStart()
      function zeContextCreate(...)
        note("first")
        local created = drvl0.zeContextCreate(...)
        zeContextCreate = nil
        function zeContextDestroy(hContext)
          note("destroyed")
          refused("zeContextDestroy takes 1 arguments, not 0", drvl0.zeContextDestroy)
          return drvl0.zeContextDestroy(hContext)
        end
        return created
      end
    end
    """)
    assert said == "first\ndestroyed\ndestroyed\n"


def test_a_hook_may_end_the_program(build: Build, tmp_path: Path) -> None:
    path = tmp_path / "exit.lua"
    path.write_text("""
    function zeContextDestroy() os.exit(3) end
    function gitsProgramExit() io.stderr:write("ended") end
    """)
    done = scripted(path, build("hooked", *LINK))
    assert done.returncode == 3
    assert done.stderr == "ended"
