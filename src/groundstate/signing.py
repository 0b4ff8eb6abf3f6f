"""Signatures by which this user's drivers know again what they made: keyed digests.

The key lies in the folder of the compile cache, where nobody else can read it. Without such a
folder each process has a key of its own, which its forked children share.
"""

from __future__ import annotations

import hmac
import os

from groundstate import knobs, private_files

SIGNATURE_BYTES = 32

_keys: dict[str, bytes] = {}
"""The keys of this user, by the folder that each lies in."""
_process_key = os.urandom(private_files.KEY_BYTES)


def sign(content: bytes) -> bytes:
    """What only this user can compute of a content."""
    return hmac.digest(_user_key(), content, "sha256")


def is_signed(content: bytes, signature: bytes) -> bool:
    """Whether this user has signed a content."""
    return hmac.compare_digest(sign(content), signature)


def has_lasting_key() -> bool:
    """Whether the next process of this user will know what this one has signed."""
    return _user_key() is not _process_key


def key_in(path: str, descriptor: int) -> bytes:
    """This user's key in a folder that is open; OSError if there is none and none can be made."""
    key = _keys.get(path)
    if key is None:
        key = _keys[path] = private_files.key(descriptor)
    return key


def _user_key() -> bytes:
    path = knobs.cache_folder()
    if path is None:
        return _process_key
    try:
        with private_files.folder(path, make=True) as descriptor:
            return key_in(path, descriptor)
    except OSError:
        return _process_key
