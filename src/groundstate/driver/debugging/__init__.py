"""The debugger of kernels, as far as it works in the debugged program.

`launches` sees each launch before it runs and steps the groups that somebody wants to look into.
`connection` talks to `groundstate debug`. `stepper` goes on, step by step and back, to the next
stop; `inspection` and `expressions` read what a work-item has. docs/internals/debugging.md.
"""
