-- Hooks what the program calls most, and calls on.

function zeCommandListAppendLaunchKernel(hCommandList, hKernel, pLaunchFuncArgs, hSignalEvent, numWaitEvents, phWaitEvents)
  return drvl0.zeCommandListAppendLaunchKernel(hCommandList, hKernel, pLaunchFuncArgs, hSignalEvent, numWaitEvents, phWaitEvents)
end

function zeEventQueryStatus(hEvent)
  return drvl0.zeEventQueryStatus(hEvent)
end
