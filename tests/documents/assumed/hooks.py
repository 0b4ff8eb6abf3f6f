from groundstate.capture import hook


@hook("zeKernelCreate")
def created(call):
    return call.proceed()
