"""Firefox by WebDriver BiDi itself, for what Playwright does not do there: to touch the screen."""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

PREFERENCES = {"dom.w3c_touch_events.enabled": 1, "ui.prefersReducedMotion": 1, "remote.active-protocols": 1}
"""Touch, nothing that moves, and WebDriver BiDi alone."""


class Firefox:
    """A browser with one tab, which is touched.

    Attributes:
        complaints: what the console of its pages said as an error or a warning.
    """

    def __init__(self, line: ClientConnection) -> None:
        self.line, self.number, self.context, self.complaints = line, 0, "", list[str]()
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["log.entryAdded"])

    def send(self, method: str, **parameters: Any) -> Any:
        """The answer to a command."""
        self.number += 1
        self.line.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            told = json.loads(self.line.recv(60))
            if told.get("method") == "log.entryAdded" and told["params"]["level"] in ("error", "warn"):
                self.complaints.append(told["params"]["text"])
            if told.get("id") == self.number:
                assert told["type"] == "success", told
                return told["result"]

    def open(self, address: str, size: tuple[int, int]) -> None:
        """Open a page in the only tab, as a person who has never been there."""
        person = self.send("browser.createUserContext")["userContext"]
        before = self.context
        self.context = self.send("browsingContext.create", type="tab", userContext=person)["context"]
        if before:
            self.send("browsingContext.close", context=before)
        viewport = {"width": size[0], "height": size[1]}
        self.send("browsingContext.setViewport", context=self.context, viewport=viewport)
        self.send("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        target = {"context": self.context}
        told = self.send("script.evaluate", expression=f"JSON.stringify({script})", target=target, awaitPromise=False)
        assert told["type"] == "success", told
        return json.loads(told["result"].get("value", "null"))

    def until(self, script: str) -> Any:
        """Wait until an expression is true; its value."""
        for _ in range(3000):
            if value := self.evaluate(script):
                return value
            time.sleep(0.02)
        pytest.fail(f"it never came to {script}")

    def tap(self, selector: str) -> None:
        """Touch the first element of a selector at its upper left corner, as soon as it is there."""
        spot = self.until(
            "((one) => one && (one.scrollIntoView({ block: 'nearest' }),"
            f" (({{ x, y }}) => [x + 9, y + 20])(one.getBoundingClientRect())))(document.querySelector({json.dumps(selector)}))"
        )
        moves = [
            {"type": "pointerMove", "x": round(spot[0]), "y": round(spot[1])},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        finger = {"type": "pointer", "id": "finger", "parameters": {"pointerType": "touch"}, "actions": moves}
        self.send("input.performActions", context=self.context, actions=[finger])


@contextmanager
def touched_firefox(path: str, profile: Path) -> Iterator[Firefox]:
    """A Firefox with a profile of its own, which may not complain."""
    (profile / "user.js").write_text("".join(f'user_pref("{name}", {value});\n' for name, value in PREFERENCES.items()))
    command = [path, "--headless", "--no-remote", "--remote-debugging-port=0", "--profile", str(profile)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        listening = (re.search(r"WebDriver BiDi listening on (ws://\S+)", line) for line in process.stderr)
        found = next(filter(None, listening))
        with connect(f"{found[1]}/session", max_size=None) as line:
            firefox = Firefox(line)
            yield firefox
            firefox.send("browser.close")
    assert firefox.complaints == []
