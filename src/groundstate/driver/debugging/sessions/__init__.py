"""Level Zero's debug API: another process attaches to this one, or this one to another.

In the program that is debugged `listener` waits for debuggers and `process` knows its queues,
modules and sessions. A `session` has events, and the device threads that `stepped_launch` lets go
on. In the debugger `handlers` are the functions `zetDebug…`, on top of `client`. `registers` and
`code_image` say what a debugger sees of a thread and of code. docs/internals/debugging.md.
"""
