-- Adds build options to every module: --script-args="-ze-opt-disable".
--
-- The options come after those of the program. What the program passed is left as it was.

local options = gits.getArgsStr()
if options == "" then
  error("name the build options: --script-args='-ze-opt-disable'")
end

local function extended(flags)
  local own = gits.udtToStr(flags)
  return own and own ~= "" and own .. " " .. options or options
end

-- Several modules that are linked into one have their options in an array, in a struct of the chain.
local function programs_of(desc)
  local link = desc.pNext
  while type(link) == "table" do
    if link.stype == ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC then
      return link
    end
    link = link.pNext
  end
end

local function with_programs(programs)
  local before, count = programs.pBuildFlags, programs.count
  local flags = gits.allocBytes(count * gits.getPtrSize())
  for index = 0, count - 1 do
    local own = before ~= gits.nullUdt() and gits.getUdt(before, index) or gits.nullUdt()
    gits.setUdt(flags, index, gits.luaStrToCStr(extended(own)))
  end
  programs.pBuildFlags = flags
  return function()
    programs.pBuildFlags = before
    gits.freeBytes(flags)
  end
end

function zeModuleCreate(hContext, hDevice, desc, phModule, phBuildLog)
  local before, programs = desc.pBuildFlags, programs_of(desc)
  local restore = programs and with_programs(programs)
  desc.pBuildFlags = extended(before)
  local result = drvl0.zeModuleCreate(hContext, hDevice, desc, phModule, phBuildLog)
  desc.pBuildFlags = before
  if restore then
    restore()
  end
  return result
end
