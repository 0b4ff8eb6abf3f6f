"""Runs the IR as it is, one work-item at a time: for the debugger, and as the reference of code.

`code` makes a kernel ready: its graph as built from SPIR-V, without passes that make it faster.
`work_item` is one work-item on its way through it, `group` all of a work-group with what they do
together. Values are Python's integers (the bits of a number, an address) and tuples of them
(`values`). Memory is that of the process (`memory`). What the table of operations can fold is
computed by that; anything else is compiled, one operation at a time, for one lane (`compiled`).
"""
