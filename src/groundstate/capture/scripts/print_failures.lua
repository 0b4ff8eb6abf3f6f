-- Prints every call that did not succeed, with its arguments and result.
--
-- What is not ready yet is no failure. With --script-args=stop the program ends at the first one.

local NAMES = {}
for name, value in pairs(_G) do
  if name:match("^ZE_RESULT_") and not name:match("FORCE_UINT32$") then
    NAMES[value] = name
  end
end

local function shown(value)
  if type(value) == "userdata" then
    return string.format("0x%x", gits.udtToInt(value))
  end
  return tostring(value)
end

local function hook(name, call_on)
  return function(...)
    local result = call_on(...)
    if type(result) == "number" and result ~= ZE_RESULT_SUCCESS and result ~= ZE_RESULT_NOT_READY then
      local arguments = {...}
      for place = 1, select("#", ...) do
        arguments[place] = shown(arguments[place])
      end
      local said = NAMES[result] or string.format("0x%x", result)
      io.stderr:write(string.format("%s(%s) = %s\n", name, table.concat(arguments, ", "), said))
      if gits.getArgsStr() == "stop" then
        os.exit(1)
      end
    end
    return result
  end
end

for name, call_on in pairs(drvl0) do
  if name:match("^ze[st]?%u") then
    _G[name] = hook(name, call_on)
  end
end
