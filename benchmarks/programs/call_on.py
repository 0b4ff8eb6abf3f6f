"""Hooks what the program calls most, and calls on."""

from groundstate.capture import Call, hook


@hook("zeCommandListAppendLaunchKernel")
@hook("zeEventQueryStatus")
def call_on(call: Call) -> int:
    return call.proceed()
