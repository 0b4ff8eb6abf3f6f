"""The envelope of a native binary: whether it is whole, and whether this user's driver made it.

A native binary has machine code, which runs with all rights of the program. So it carries two
digests: one that tells whether it was damaged, and a signature that only this user can make, by
which GROUNDSTATE_NATIVE decides. What is inside is `compiler/program/native_binary.py`.
"""

from __future__ import annotations

import hashlib

from groundstate import knobs, signing

MAGIC = b"GSNATIV2"
OLD_MAGIC = b"GSNATIVE"
"""Of binaries without a signature, which earlier versions made."""

_DIGEST = len(MAGIC)
_SIGNATURE = _DIGEST + hashlib.sha256().digest_size
_CONTENT = _SIGNATURE + signing.SIGNATURE_BYTES
_SIGNED_AS = b"native binary\0"
_NO_SIGNATURE = bytes(signing.SIGNATURE_BYTES)


class RefusedBinaryError(ValueError):
    """A native binary that is damaged, or not to be run; the sentence says what to do."""


def seal(content: bytes, *, is_own: bool) -> bytes:
    """A native binary, signed if all machine code in it was made by this user's driver."""
    signature = signing.sign(_SIGNED_AS + content) if is_own else _NO_SIGNATURE
    return MAGIC + hashlib.sha256(content).digest() + signature + content


def is_own(binary: bytes) -> bool:
    """Whether a native binary is signed by this user."""
    content, signature = binary[_CONTENT:], binary[_SIGNATURE:_CONTENT]
    return binary.startswith(MAGIC) and signing.is_signed(_SIGNED_AS + content, signature)


def unseal(binary: bytes) -> tuple[bytes, bool]:
    """What is in a native binary that is whole and that GROUNDSTATE_NATIVE lets in, and its origin.

    The second is whether this user has signed it.
    """
    if binary.startswith(OLD_MAGIC):
        raise RefusedBinaryError(
            "the native binary is of an earlier version; build it again from SPIR-V"
        )
    if not binary.startswith(MAGIC):
        raise RefusedBinaryError("this is no native binary of this driver")
    content = binary[_CONTENT:]
    if hashlib.sha256(content).digest() != binary[_DIGEST:_SIGNATURE]:
        raise RefusedBinaryError("the native binary is damaged or cut short")
    own = is_own(binary)
    _check_policy(own)
    return content, own


def _check_policy(own: bool) -> None:
    policy = knobs.NATIVE.get()
    if policy == "never":
        raise RefusedBinaryError(
            "no native binary is taken, since GROUNDSTATE_NATIVE=never; build the module from "
            "SPIR-V, or set GROUNDSTATE_NATIVE=own"
        )
    if policy == "own" and not own:
        raise RefusedBinaryError(
            "the machine code of this native binary was not made by a driver of this user"
            f"{'' if signing.has_lasting_key() else _NO_KEY}; build the module from SPIR-V, or set "
            "GROUNDSTATE_NATIVE=trusted if you trust whoever made it"
        )


_NO_KEY = " in this process, and without a cache folder (GROUNDSTATE_CACHE) no other one is known"
