"""The programs of a plan as bytes, for callers that keep them themselves."""

from __future__ import annotations

import hashlib

from groundstate.dnn.errors import require
from groundstate.dnn.plan import Plan
from groundstate.dnn.programs import provide, spirv_of

_MAGIC = b"GSDNN1\n"


def _sections(plan: Plan) -> list[tuple[bytes, tuple[str, tuple[str, ...]]]]:
    keys = dict.fromkeys((launch.source, launch.options) for launch in plan.launches)
    return [(hashlib.sha256(repr(key).encode()).digest(), key) for key in keys]


def pack_programs(plan: Plan) -> bytes:
    """The SPIR-V of each program, under the digest of its text."""
    parts = [_MAGIC]
    for digest, key in _sections(plan):
        spirv = spirv_of(*key)
        parts += [digest, len(spirv).to_bytes(8, "little"), spirv]
    return b"".join(parts)


def unpack_programs(blob: bytes, plan: Plan) -> None:
    """Uses the programs of a blob, which must be those of the plan."""
    require(blob.startswith(_MAGIC), "this is not the blob of a primitive")
    found: dict[bytes, bytes] = {}
    place = len(_MAGIC)
    while place < len(blob):
        size = int.from_bytes(blob[place + 32 : place + 40], "little")
        require(place + 40 + size <= len(blob), "the blob is cut off")
        found[blob[place : place + 32]] = blob[place + 40 : place + 40 + size]
        place += 40 + size
    for digest, key in _sections(plan):
        require(digest in found, "the blob is that of another primitive")
        provide(*key, found[digest])
