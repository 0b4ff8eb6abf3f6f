-- Never hands out an address of memory twice.
--
-- A driver uses addresses again as soon as memory is freed, and then a stale pointer looks like a good one. With this
-- script each allocation has an address that no earlier one had, so that an address in a log or in a buffer names one
-- allocation. Memory of a used address is held back until a new one is found.

local TRIES = 1000
local used = {} -- by address

local function unique(allocate, hContext, pptr)
  local held = {}
  local result = allocate()
  while result == ZE_RESULT_SUCCESS and used[gits.getUdt(pptr, 0)] and #held < TRIES do
    held[#held + 1] = gits.getUdt(pptr, 0)
    result = allocate()
  end
  if result ~= ZE_RESULT_SUCCESS and #held > 0 then
    gits.setUdt(pptr, 0, table.remove(held)) -- there is no other: a used address has to do
    result = ZE_RESULT_SUCCESS
  end
  for _, address in ipairs(held) do
    drvl0.zeMemFree(hContext, address)
  end
  if result == ZE_RESULT_SUCCESS then
    used[gits.getUdt(pptr, 0)] = true
  end
  return result
end

function zeMemAllocHost(hContext, desc, size, alignment, pptr)
  return unique(function()
    return drvl0.zeMemAllocHost(hContext, desc, size, alignment, pptr)
  end, hContext, pptr)
end

function zeMemAllocDevice(hContext, desc, size, alignment, hDevice, pptr)
  return unique(function()
    return drvl0.zeMemAllocDevice(hContext, desc, size, alignment, hDevice, pptr)
  end, hContext, pptr)
end

function zeMemAllocShared(hContext, device_desc, host_desc, size, alignment, hDevice, pptr)
  return unique(function()
    return drvl0.zeMemAllocShared(hContext, device_desc, host_desc, size, alignment, hDevice, pptr)
  end, hContext, pptr)
end
