"""6. When something goes wrong: exceptions, and the end of things.

Each error of Level Zero is an exception of its own, a `gs.LevelZeroError`. It carries the result
code and what the driver has to say.
"""

import groundstate as gs

context = gs.Context(gs.devices()[0])

try:
    context.alloc_host(1 << 60)
except gs.errors.UnsupportedSize as problem:
    print(problem.result.name)
    print(problem.description)
    print(problem.next_step)

# Mistakes that can be seen without asking the driver are Python's own errors.

memory = context.alloc_host(8)
with gs.CommandList.immediate(context) as commands:
    try:
        commands.copy(memory, b"more than eight bytes")
    except ValueError as problem:
        print(problem)

# Everything can be closed, and can be closed twice. What was closed cannot be used any more: that
# is an exception and never a crash. What depends on it goes on working until it is closed itself.

context.close()
context.close()
memory.buffer()[0] = 42
print("memory outlives its context:", memory.tolist()[0])
memory.close()
try:
    memory.tolist()
except gs.errors.ClosedError as problem:
    print(problem)
