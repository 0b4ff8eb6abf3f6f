"""A headless Chromium that tests talk to through its pipe: no port, no other package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest


def chromium() -> str:
    """The browser's path; the test is skipped where there is none."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("there is no chromium; on Debian: apt-get install chromium")
    return path


class PageError(AssertionError):
    """A page's script threw, or the browser did not do what it was told."""


class Page:
    """A page in a browser of its own; use it with `with`."""

    def __init__(self, file: Path, profile: Path, width: int = 1400, height: int = 700) -> None:
        from_us, to_browser = os.pipe()
        from_browser, to_us = os.pipe()
        self._number = 0
        self.problems: list[str] = []
        command = [
            chromium(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
            "about:blank",
        ]
        # The browser reads from its descriptor 3 and writes to 4.
        shell = f'exec 3<&{from_us} 4>&{to_us}; exec "$0" "$@"'
        self._browser = subprocess.Popen(
            ["bash", "-c", shell, *command],
            pass_fds=(from_us, to_us),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        os.close(from_us)
        os.close(to_us)
        self._out = os.fdopen(to_browser, "wb", buffering=0)
        self._in = os.fdopen(from_browser, "rb", buffering=0)
        self._rest = b""
        self._session: str | None = None
        try:
            self._open(file)
        except BaseException:
            self.close()
            raise

    def _open(self, file: Path) -> None:
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self.send("Page.enable")
        self.send("Runtime.enable")
        self.send("Page.navigate", url=file.as_uri())
        self._wait_for("Page.loadEventFired")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command of the DevTools protocol and gives back what it answers."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise PageError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def run(self, script: str) -> Any:
        """The value of an expression in the page; promises are waited for."""
        answer = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise PageError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def frame(self) -> None:
        """Waits until the page has drawn what changed."""
        self.run("new Promise(d => requestAnimationFrame(() => requestAnimationFrame(() => d(0))))")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """An event of the mouse: mouseMoved, mousePressed, mouseReleased or mouseWheel."""
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        self.frame()

    def key(self, key: str) -> None:
        """A key pressed and let go."""
        text = {"text": key} if len(key) == 1 else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.frame()

    def _wait_for(self, method: str) -> None:
        while self._receive().get("method") != method:
            pass

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = self._in.read(1 << 16)
            if not more:
                raise PageError("the browser ended")
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if message.get("method") == "Runtime.exceptionThrown":
            self.problems.append(str(message["params"]["exceptionDetails"]))
        return message

    def close(self) -> None:
        """Ends the browser."""
        self._out.close()
        try:
            self._browser.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._browser.kill()
            self._browser.wait()
        self._in.close()

    def __enter__(self) -> Page:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
