"""The debugger of kernels, on the side of who debugs: a terminal, or an editor.

`program` runs the debugged program and talks to it; `terminal` reads commands; `adapter` speaks the
Debug Adapter Protocol, whose messages `messages` reads and writes. What the program does of it is
`driver/debugging/`. docs/internals/debugging.md.
"""
