-- Counts the calls of every function and how many of them failed.
--
-- Prints the counts when the program ends, most frequent first.

local calls, failures = {}, {}

for name, call_on in pairs(drvl0) do
  if name:match("^ze%l?%u") then
    _G[name] = function(...)
      local result = call_on(...)
      calls[name] = (calls[name] or 0) + 1
      if type(result) == "number" and not name:match("^zer") and result ~= ZE_RESULT_SUCCESS then
        failures[name] = (failures[name] or 0) + 1
      end
      return result
    end
  end
end

function gitsProgramExit()
  local names = {}
  for name in pairs(calls) do
    names[#names + 1] = name
  end
  table.sort(names, function(one, other)
    if calls[one] ~= calls[other] then
      return calls[one] > calls[other]
    end
    return one < other
  end)
  for _, name in ipairs(names) do
    local failed = failures[name]
    io.stderr:write(string.format("%10d  %s%s\n", calls[name], name, failed and ", " .. failed .. " not successful" or ""))
  end
end
