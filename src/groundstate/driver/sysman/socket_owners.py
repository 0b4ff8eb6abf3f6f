"""Who owns the sockets of this machine that have a name in no folder, from the kernel itself.

A name says what its maker likes; the owner is what the kernel knows. It is asked by `sock_diag`,
which Linux has with owners since 5.3; without it nobody is known.
"""

from __future__ import annotations

import socket
import struct
import sys

_NETLINK_SOCK_DIAG = 4
_BY_FAMILY = 20
_REQUEST_ALL = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_END, _ERROR = 3, 2
_SHOW_NAME, _SHOW_OWNER = 0x01, 0x40
_NAME, _OWNER = 0, 7

_HEADER = struct.Struct("=IHHII")
_QUESTION = struct.Struct("=BBHIIIII")
_ATTRIBUTE = struct.Struct("=HH")
_MESSAGE_BYTES = 16
"""What is said of each socket before its attributes."""
_SECONDS = 1.0


def owners_of_sockets(prefix: str) -> dict[str, int]:
    """The user of each socket whose name begins so, written as `/proc/net/unix` does, with @."""
    owners: dict[str, int] = {}
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
            kernel.settimeout(_SECONDS)
            show = _SHOW_NAME | _SHOW_OWNER
            question = _QUESTION.pack(socket.AF_UNIX, 0, 0, 0xFFFFFFFF, 0, show, 0, 0)
            length = _HEADER.size + len(question)
            kernel.send(_HEADER.pack(length, _BY_FAMILY, _REQUEST_ALL, 1, 0) + question)
            while _read(kernel.recv(1 << 17), prefix, owners):
                pass
    except (OSError, struct.error):
        return owners
    return owners


def _read(answer: bytes, prefix: str, owners: dict[str, int]) -> bool:
    """Takes the owners out of some messages; False after the last one."""
    at = 0
    while at < len(answer):
        length, kind, *_ = _HEADER.unpack_from(answer, at)
        if kind in (_END, _ERROR) or length < _HEADER.size:
            return False
        attributes = _attributes(answer[at + _HEADER.size + _MESSAGE_BYTES : at + length])
        name, owner = attributes.get(_NAME, b""), attributes.get(_OWNER, b"")
        text = "@" + name[1:].decode("utf-8", "replace")
        if name[:1] == b"\0" and text.startswith(prefix) and len(owner) == 4:
            owners[text] = int.from_bytes(owner, sys.byteorder)
        at += length + -length % 4
    return bool(answer)


def _attributes(data: bytes) -> dict[int, bytes]:
    found, at = {}, 0
    while at + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        if length < _ATTRIBUTE.size:
            break
        found[kind] = data[at + _ATTRIBUTE.size : at + length]
        at += length + -length % 4
    return found
