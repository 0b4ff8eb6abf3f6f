-- Skips all kernel launches; everything else runs.
--
-- What would have been signalled is signalled, and waits are kept, so programs go on as if kernels took no time. Buffers
-- keep what was in them. Useful to find out how much of a program's time is not the kernels', or to get past a kernel
-- that hangs.

local skipped = 0

-- Where the signal event and the events to wait for are among a function's arguments.
local LAUNCHES = {
  zeCommandListAppendLaunchKernel = 4,
  zeCommandListAppendLaunchCooperativeKernel = 4,
  zeCommandListAppendLaunchKernelIndirect = 4,
  zeCommandListAppendLaunchMultipleKernelsIndirect = 6,
  zeCommandListAppendLaunchKernelWithParameters = 5,
  zeCommandListAppendLaunchKernelWithArguments = 7,
}

for name, place in pairs(LAUNCHES) do
  _G[name] = function(list, ...)
    local arguments = {list, ...}
    skipped = skipped + 1
    return drvl0.zeCommandListAppendBarrier(list, arguments[place], arguments[place + 1], arguments[place + 2])
  end
end

function gitsProgramExit()
  io.stderr:write(string.format("skipped %d launches\n", skipped))
end
