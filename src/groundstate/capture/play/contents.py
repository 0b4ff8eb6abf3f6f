"""The contents of a stream, by their digests; those that were read lately are at hand."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from threading import Lock

from groundstate.capture.stream import StreamReader
from groundstate.capture.stream.formats import DIGEST_SIZE

AT_HAND = 256 << 20


class Contents:
    """Finds contents among those that have gone by, or else in the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader: StreamReader | None = None
        self._recent: OrderedDict[bytes, bytes] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def remember(self, body: bytes) -> None:
        """Keeps the content of a record that goes by."""
        with self._lock:
            self._keep(body[:DIGEST_SIZE], body[DIGEST_SIZE:])

    def get(self, digest: bytes) -> bytes:
        """The bytes that a digest names; raises `StreamError` if the stream has none."""
        with self._lock:
            data = self._recent.get(digest)
            if data is None:
                if self._reader is None:
                    self._reader = StreamReader(self._path)
                data = self._reader.content(digest)
                self._keep(digest, data)
            return data

    def close(self) -> None:
        """Closes the file. Closing twice does nothing."""
        if self._reader is not None:
            self._reader.close()

    def _keep(self, digest: bytes, data: bytes) -> None:
        if digest in self._recent:
            return
        self._recent[digest] = data
        self._size += len(data)
        while self._size > AT_HAND:
            _, oldest = self._recent.popitem(last=False)
            self._size -= len(oldest)
