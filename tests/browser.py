"""Pages opened in headless Chromium: a session of its debugging protocol over a pair of pipes,
with no other library.
"""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
from select import select
from types import TracebackType
from typing import Any, Self

import matplotlib.image
import numpy as np
from numpy.typing import NDArray

__all__ = ["CHROMIUM", "Browser", "Pixels"]

_LIMITED = (
    getrlimit(RLIMIT_AS)[0] != RLIM_INFINITY
)  # Chromium reserves more addresses than a limit allows
CHROMIUM = "" if _LIMITED else shutil.which("chromium") or shutil.which("chromium-browser") or ""
"""The program, where it is installed and can start: Debian's package has it under this name."""
_PATIENCE = 60.0

Pixels = NDArray[np.int64]
"""Red, green and blue of every point, from 0 to 255, by row and column."""

_SWITCHES = (
    "--headless=new",
    "--no-sandbox",  # pages are ours, and a container's root has no sandbox
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--force-device-scale-factor=1",
    "--window-size=1000,1400",
    "--remote-debugging-pipe",
)


class Browser:
    """One page at a time, from a file."""

    def __init__(self, folder: Path) -> None:
        ours, theirs = os.pipe(), os.pipe()
        shell = (  # where the protocol is read and written
            f'exec "$0" "$@" 3<&{ours[0]} 4>&{theirs[1]}'
        )
        command = [
            "bash",
            "-c",
            shell,
            CHROMIUM,
            *_SWITCHES,
            f"--user-data-dir={folder}",
            "about:blank",
        ]
        self._process = subprocess.Popen(
            command,
            pass_fds=(ours[0], theirs[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(ours[0])
        os.close(theirs[1])
        self._write, self._read = os.fdopen(ours[1], "wb"), os.fdopen(theirs[0], "rb")
        self._last, self._rest, self._session = 0, b"", ""
        self.events: list[tuple[str, Mapping[str, Any]]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait()
        self._write.close()
        self._read.close()

    def open(self, page: Path) -> None:
        """Open a file as a new page, and wait until it is loaded."""
        self._session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network", "DOM", "Accessibility"):
            self.call(f"{domain}.enable")
        self.events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        while not any(name == "Page.loadEventFired" for name, _ in self.events):
            self._take(self._message())

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol, and keep the events that come before its answer."""
        self._last += 1
        number = self._last
        message = {"id": number, "method": method, "params": parameters}
        message |= {"sessionId": self._session} if self._session else {}
        self._write.write(json.dumps(message).encode() + b"\0")
        self._write.flush()
        while True:
            answer = self._message()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer)
                found: dict[str, Any] = answer["result"]
                return found
            self._take(answer)

    def value(self, expression: str) -> Any:
        """Evaluate JavaScript in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, (expression, found)
        return found["result"].get("value")

    def screenshot(self) -> Pixels:
        """Take a picture of the whole page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        image = matplotlib.image.imread(io.BytesIO(base64.b64decode(data)))
        pixels: Pixels = np.rint(255 * image[:, :, :3]).astype(np.int64)
        return pixels

    def _take(self, message: dict[str, Any]) -> None:
        if "method" in message:
            self.events.append((message["method"], message["params"]))

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert select([self._read], [], [], _PATIENCE)[0], "Chromium does not answer"
            read = os.read(self._read.fileno(), 1 << 16)
            assert read, "Chromium ended"
            self._rest += read
        first, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        return message
