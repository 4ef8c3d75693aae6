"""A page in headless Chromium, driven through the DevTools protocol over a pipe."""

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,1000",
    # Whatever the page or the browser itself asks for, no name resolves.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)

# The last is on the machines of GitHub's workflows.
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class Page:
    """One page; collects its console errors and every address that it requests.

    Attributes:
        errors: uncaught exceptions, and messages that the console shows as errors.
        requests: addresses that the page asked for, the page's own first.
    """

    def __init__(self, profile: Path) -> None:
        chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
        if chromium is None:
            pytest.skip("no browser opened the page: apt-get install chromium")
        for_browser, self._write = os.pipe()
        read, from_browser = os.pipe()
        # Chromium reads commands from descriptor 3 and writes answers to descriptor 4.
        redirect = f'exec "$@" 3<&{for_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["bash", "-c", redirect, "bash", chromium, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(for_browser, from_browser),
            stderr=subprocess.DEVNULL,
        )
        os.close(for_browser)
        os.close(from_browser)
        self._answers = os.fdopen(read, "rb")
        self._last_command = 0
        self._session: str | None = None
        self._finished_loading = False
        self.errors: list[str] = []
        self.requests: list[str] = []

    def __enter__(self) -> "Page":
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        attached = self.command("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.command(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._session = None
        self.command("Browser.close")
        self._process.wait(timeout=30)
        os.close(self._write)
        self._answers.close()

    def open(self, path: Path) -> None:
        """Load a file and wait until the page says that it is complete."""
        self._finished_loading = False
        self.command("Page.navigate", url=path.as_uri())
        while not self._finished_loading:
            self._receive()

    def evaluate(self, expression: str) -> object:
        """Run JavaScript in the page, wait for a promise, and return the value."""
        answer = self.command(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self) -> bytes:
        """What the window shows, as PNG."""
        return base64.b64decode(self.command("Page.captureScreenshot", format="png")["data"])

    def command(self, method: str, **parameters: object) -> dict:
        """Send one command of the protocol and return its result."""
        self._last_command += 1
        message = {"id": self._last_command, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._last_command:
                assert "error" not in answer, answer
                return answer["result"]

    def _receive(self) -> dict:
        content = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            assert byte, "Chromium closed its end of the pipe"
            content += byte
        message = json.loads(content)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, event: str | None, parameters: dict) -> None:
        if event == "Page.loadEventFired":
            self._finished_loading = True
        elif event == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(parameters["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            self.errors.append(json.dumps(parameters["args"]))
        elif event == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])
