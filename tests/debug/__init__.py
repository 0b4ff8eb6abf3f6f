"""The debugger of kernels: the IR stepped, commands in a terminal, and editors."""
