"""What can be chosen when a recording is played."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Options:
    """How to play a recording."""

    threads: bool = False
    """A thread for each recorded one; otherwise one thread makes all calls in recorded order."""
    real_speed: bool = False
    """No call is made earlier than in the recording."""
    tools: bool = False
    """Make the `zes` and `zet` calls, too; they can change settings of the machine."""
    scan_pointers: bool = False
    """Look for addresses in everything that is written to memory."""
    pointers_at: frozenset[int] = field(default_factory=frozenset)
    """Recorded addresses of words in buffers that are addresses themselves."""
    patience: float = 60.0
    """Seconds after which something that was ready in the recording is given up."""
    memory_limit: int = 16 << 30
    """How much memory there may be in place of the recorded program's own."""
    trust_native: bool = False
    """Run machine code of the recording that no driver of this user has made."""
