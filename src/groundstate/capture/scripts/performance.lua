-- Writes when each kernel began and ended to performance.csv.
--
-- A line for each launch that has run: its numbers (submission_list_kernel, each counted from 1 over the whole program), the
-- kernel, when it began and ended and how long it took in nanoseconds of the device's clock, its group size and the number
-- of groups. The file is in the folder of --script-out; --script-args gives it another name.
--
-- Each launch signals an event with timestamps: the program's own, or one of the script's if it has none. They are read when
-- the program waits for something, before it resets or destroys something, and at the end.
--
-- Other threads run hooks while a call of this one is under way, so what is shared is changed between calls, in one go.

local HEADER = "launch,kernel,start_ns,complete_ns,duration_ns,group_size,groups"
local POOL_SIZE = 1024
local UNKNOWN = {name = "?", size = ""}

local kernels = {}  -- by handle: name and group size
local lists = {}    -- by handle: number, context, device, whether it is immediate, launches since it was reset
local pools = {}    -- by context: the script's event pools
local devices = {}  -- by handle: timer resolution and mask of valid bits
local pending = {}  -- launches that were submitted and not read yet
local rows = {}
local submissions, list_count, launch_count, unread = 0, 0, 0, 0

-- The handle that a function has written.
local function made(pointer)
  return gits.getUdt(pointer, 0)
end

-- Events of the script ------------------------------------------------------------------------------------------------

local function add_pool(context)
  local desc, pointer = drvl0.create_ze_event_pool_desc_t(), gits.allocBytes(gits.getPtrSize())
  desc.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP
  desc.count = POOL_SIZE
  local result = drvl0.zeEventPoolCreate(context, desc, 0, gits.nullUdt(), pointer)
  local pool = result == ZE_RESULT_SUCCESS and {handle = made(pointer), used = 0, events = {}} or nil
  drvl0.free(desc)
  gits.freeBytes(pointer)
  if pool then
    table.insert(pools[context].all, pool)
  end
  return pool
end

local function new_event(context)
  pools[context] = pools[context] or {all = {}, free = {}}
  local own = pools[context]
  if #own.free > 0 then
    return table.remove(own.free)
  end
  local pool = own.all[#own.all]
  if not pool or pool.used == POOL_SIZE then
    pool = add_pool(context)
  end
  if not pool then
    return nil
  end
  local desc, pointer = drvl0.create_ze_event_desc_t(), gits.allocBytes(gits.getPtrSize())
  desc.index = pool.used
  desc.signal = ZE_EVENT_SCOPE_FLAG_HOST
  pool.used = pool.used + 1
  local result = drvl0.zeEventCreate(pool.handle, desc, pointer)
  local event = result == ZE_RESULT_SUCCESS and made(pointer) or nil
  table.insert(pool.events, event)
  drvl0.free(desc)
  gits.freeBytes(pointer)
  return event
end

local function destroy_pools(context)
  for _, pool in ipairs(pools[context] and pools[context].all or {}) do
    for _, event in ipairs(pool.events) do
      drvl0.zeEventDestroy(event)
    end
    drvl0.zeEventPoolDestroy(pool.handle)
  end
  pools[context] = nil
end

-- Reading times ---------------------------------------------------------------------------------------------------------

local function device_of(handle)
  if not devices[handle] then
    local properties = drvl0.create_ze_device_properties_t()
    drvl0.zeDeviceGetProperties(handle, properties)
    local bits = properties.kernelTimestampValidBits
    devices[handle] = {
      resolution = properties.timerResolution,
      mask = bits < 64 and (1 << bits) - 1 or -1,
    }
    drvl0.free(properties)
  end
  return devices[handle]
end

local function read(launch)
  local result = drvl0.create_ze_kernel_timestamp_result_t()
  if drvl0.zeEventQueryKernelTimestamp(launch.event, result) == ZE_RESULT_SUCCESS then
    local device = device_of(launch.list.device)
    local start = result.global.kernelStart
    local duration = (result.global.kernelEnd - start) & device.mask
    launch.start = start * device.resolution
    launch.duration = duration * device.resolution
    table.insert(rows, launch)
  else
    unread = unread + 1
  end
  drvl0.free(result)
end

-- An event of the script's on an immediate list is free again; on another list it waits for the next run.
local function release(launch)
  if launch.is_own then
    drvl0.zeEventHostReset(launch.event)
    if launch.list.immediate then
      table.insert(pools[launch.list.context].free, launch.event)
    end
  end
end

local function collect()
  local taken = pending
  pending = {}
  for _, launch in ipairs(taken) do
    if drvl0.zeEventQueryStatus(launch.event) == ZE_RESULT_SUCCESS then
      read(launch)
      release(launch)
    else
      table.insert(pending, launch)
    end
  end
end

local function submit(launch, number)
  local run = {submission = number}
  for name, value in pairs(launch) do
    run[name] = value
  end
  table.insert(pending, run)
end

-- Launches --------------------------------------------------------------------------------------------------------------

local function size_of(struct, x, y, z)
  return string.format("%dx%dx%d", struct[x], struct[y], struct[z])
end

local function groups_of(counts)
  return type(counts) == "table" and size_of(counts, "groupCountX", "groupCountY", "groupCountZ") or ""
end

-- Makes a launch through `call_on`, which takes the event to signal. The kernel is a handle or what is known of it.
local function launch(hCommandList, hKernel, group_size, groups, hSignalEvent, call_on)
  local list = lists[hCommandList]
  if not list then
    return call_on(hSignalEvent)
  end
  local is_own = hSignalEvent == gits.nullUdt()
  local event = is_own and new_event(list.context) or hSignalEvent
  if not event then
    return call_on(hSignalEvent)
  end
  local result = call_on(event)
  if result ~= ZE_RESULT_SUCCESS then
    return result
  end
  launch_count = launch_count + 1
  local kernel = type(hKernel) == "table" and hKernel or kernels[hKernel] or UNKNOWN
  local noted = {
    list = list, number = launch_count, event = event, is_own = is_own,
    kernel = kernel.name, size = group_size or kernel.size, groups = groups,
  }
  if list.immediate then
    submissions = submissions + 1
    submit(noted, submissions)
  else
    table.insert(list.launches, noted)
  end
  return result
end

for _, name in ipairs {"LaunchKernel", "LaunchCooperativeKernel", "LaunchKernelIndirect"} do
  local call_on = drvl0["zeCommandListAppend" .. name]
  _G["zeCommandListAppend" .. name] = function(hCommandList, hKernel, counts, hSignalEvent, numWaitEvents, phWaitEvents)
    local groups = name ~= "LaunchKernelIndirect" and groups_of(counts) or ""
    return launch(hCommandList, hKernel, nil, groups, hSignalEvent, function(event)
      return call_on(hCommandList, hKernel, counts, event, numWaitEvents, phWaitEvents)
    end)
  end
end

function zeCommandListAppendLaunchKernelWithParameters(hCommandList, hKernel, counts, pNext, hSignalEvent, ...)
  local waits = {...}
  return launch(hCommandList, hKernel, nil, groups_of(counts), hSignalEvent, function(event)
    return drvl0.zeCommandListAppendLaunchKernelWithParameters(
      hCommandList, hKernel, counts, pNext, event, waits[1], waits[2])
  end)
end

function zeCommandListAppendLaunchKernelWithArguments(hCommandList, hKernel, counts, sizes, arguments, pNext, ...)
  local hSignalEvent, numWaitEvents, phWaitEvents = ...
  local size = size_of(sizes, "groupSizeX", "groupSizeY", "groupSizeZ")
  return launch(hCommandList, hKernel, size, groups_of(counts), hSignalEvent, function(event)
    return drvl0.zeCommandListAppendLaunchKernelWithArguments(
      hCommandList, hKernel, counts, sizes, arguments, pNext, event, numWaitEvents, phWaitEvents)
  end)
end

-- Several kernels in one launch have one line.
function zeCommandListAppendLaunchMultipleKernelsIndirect(hCommandList, numKernels, phKernels, counts, arguments, ...)
  local hSignalEvent, numWaitEvents, phWaitEvents = ...
  local names = {}
  for index = 0, numKernels - 1 do
    names[index + 1] = (kernels[gits.getUdt(phKernels, index)] or UNKNOWN).name
  end
  return launch(hCommandList, {name = table.concat(names, "+"), size = ""}, nil, "", hSignalEvent, function(event)
    return drvl0.zeCommandListAppendLaunchMultipleKernelsIndirect(
      hCommandList, numKernels, phKernels, counts, arguments, event, numWaitEvents, phWaitEvents)
  end)
end

-- Objects ---------------------------------------------------------------------------------------------------------------

function zeKernelCreate(hModule, desc, phKernel)
  local result = drvl0.zeKernelCreate(hModule, desc, phKernel)
  if result == ZE_RESULT_SUCCESS then
    kernels[made(phKernel)] = {name = gits.udtToStr(desc.pKernelName), size = ""}
  end
  return result
end

function zeKernelSetGroupSize(hKernel, x, y, z)
  local result = drvl0.zeKernelSetGroupSize(hKernel, x, y, z)
  if result == ZE_RESULT_SUCCESS and kernels[hKernel] then
    kernels[hKernel].size = string.format("%dx%dx%d", x, y, z)
  end
  return result
end

local function hook_creation(name, immediate)
  local call_on = drvl0[name]
  _G[name] = function(hContext, hDevice, desc, phCommandList)
    local result = call_on(hContext, hDevice, desc, phCommandList)
    if result == ZE_RESULT_SUCCESS then
      list_count = list_count + 1
      lists[made(phCommandList)] = {
        number = list_count, context = hContext, device = hDevice, immediate = immediate, launches = {},
      }
    end
    return result
  end
end

hook_creation("zeCommandListCreate", false)
hook_creation("zeCommandListCreateImmediate", true)

function zeEventPoolCreate(hContext, desc, numDevices, phDevices, phEventPool)
  local before = desc.flags
  desc.flags = before | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP
  local result = drvl0.zeEventPoolCreate(hContext, desc, numDevices, phDevices, phEventPool)
  desc.flags = before
  return result
end

local function submit_lists(numCommandLists, phCommandLists)
  submissions = submissions + 1
  for index = 0, numCommandLists - 1 do
    local list = lists[gits.getUdt(phCommandLists, index)]
    for _, noted in ipairs(list and list.launches or {}) do
      submit(noted, submissions)
    end
  end
end

for _, name in ipairs {"zeCommandQueueExecuteCommandLists", "zeCommandListImmediateAppendCommandListsExp"} do
  local call_on = drvl0[name]
  _G[name] = function(hQueue, numCommandLists, phCommandLists, ...)
    collect() -- a list that runs again uses its events again
    local result = call_on(hQueue, numCommandLists, phCommandLists, ...)
    if result == ZE_RESULT_SUCCESS then
      submit_lists(numCommandLists, phCommandLists)
    end
    return result
  end
end

-- A list that is given up gives back the script's events.
local function empty_list(hCommandList)
  local list = lists[hCommandList]
  for _, noted in ipairs(list and list.launches or {}) do
    if noted.is_own then
      table.insert(pools[list.context].free, noted.event)
    end
  end
  if list then
    list.launches = {}
  end
end

-- When to read: after what waits, before what changes events.
local WAITS = {"zeCommandQueueSynchronize", "zeCommandListHostSynchronize", "zeFenceHostSynchronize", "zeEventHostSynchronize"}
local CHANGES = {"zeEventHostReset", "zeCommandListAppendEventReset", "zeEventDestroy", "zeEventPoolDestroy"}
for _, name in ipairs(WAITS) do
  local call_on = drvl0[name]
  _G[name] = function(...)
    local result = call_on(...)
    collect()
    return result
  end
end
for _, name in ipairs(CHANGES) do
  local call_on = drvl0[name]
  _G[name] = function(...)
    collect()
    return call_on(...)
  end
end
for _, name in ipairs {"zeCommandListReset", "zeCommandListDestroy"} do
  local call_on = drvl0[name]
  _G[name] = function(hCommandList)
    collect()
    empty_list(hCommandList)
    if name == "zeCommandListDestroy" then
      lists[hCommandList] = nil
    end
    return call_on(hCommandList)
  end
end

function zeContextDestroy(hContext)
  collect()
  local left = {}
  for _, launch in ipairs(pending) do
    if launch.list.context == hContext then
      unread = unread + 1
    else
      table.insert(left, launch)
    end
  end
  pending = left
  destroy_pools(hContext)
  return drvl0.zeContextDestroy(hContext)
end

-- The file --------------------------------------------------------------------------------------------------------------

local function path()
  local name = gits.getArgsStr() ~= "" and gits.getArgsStr() or "performance.csv"
  return gits.getOutDir() ~= "" and gits.getOutDir() .. "/" .. name or name
end

-- A name may be anything: it stays one cell, and no program that opens the file takes it for a formula.
local function cell(text)
  text = text:gsub("%c", function(control) return string.format("\\x%02x", control:byte()) end)
  if text:find("^[=+@-]") then
    text = "'" .. text
  end
  return text:find('[,"]') and '"' .. text:gsub('"', '""') .. '"' or text
end

function gitsProgramExit()
  collect()
  table.sort(rows, function(one, other)
    if one.submission ~= other.submission then
      return one.submission < other.submission
    end
    return one.number < other.number
  end)
  local file = assert(io.open(path(), "w"))
  file:write(HEADER, "\n")
  for _, row in ipairs(rows) do
    file:write(string.format("%d_%d_%d,%s,%d,%d,%d,%s,%s\n", row.submission, row.list.number, row.number,
      cell(row.kernel), row.start, row.start + row.duration, row.duration, row.size, row.groups))
  end
  file:close()
  if unread + #pending > 0 then
    io.stderr:write(string.format("%d launches have no times: their events do not keep them\n", unread + #pending))
  end
  for context in pairs(pools) do
    destroy_pools(context)
  end
end
