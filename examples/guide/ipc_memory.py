"""Two processes and one piece of memory. The program starts itself again as the receiver."""

import subprocess
import sys

import groundstate as gs

SIZE = 4096


def put(memory: gs.Memory, text: bytes) -> None:
    """Writes a text to device memory."""
    with gs.CommandList.immediate(memory.context) as commands:
        commands.copy(memory, text + b"\0")


def show(who: str, memory: gs.Memory) -> None:
    """Prints the text that is in device memory."""
    text = bytearray(SIZE)
    with gs.CommandList.immediate(memory.context) as commands:
        commands.copy(text, memory)
    print(f"the {who} reads:", text.split(b"\0")[0].decode(), flush=True)


def receive() -> None:
    """The second process: how a handle travels is the program's business; here, through a pipe."""
    handle = sys.stdin.buffer.read()
    with gs.Context(gs.devices()[0]) as context, context.open_ipc(handle) as memory:
        show("receiver", memory)
        put(memory, b"received with thanks")


def send() -> None:
    """The first process, whose memory it is."""
    with gs.Context(gs.devices()[0]) as context, context.alloc_device(SIZE) as memory:
        put(memory, b"greetings")
        handle = memory.ipc_handle()
        command = [sys.executable, __file__, "receive"]
        subprocess.run(command, input=handle, check=True)  # waits until it has ended
        show("sender", memory)


if sys.argv[1:] == ["receive"]:
    receive()
else:
    send()
