"""A page in headless Chromium, driven by the DevTools protocol over a WebSocket of its own (RFC 6455), without packages."""
import base64
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request

NAMES = ["/usr/lib/chromium/chromium", "chromium", "chromium-browser", "google-chrome"]


def find_browser():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class WebSocket:
    def __init__(self, url, timeout):
        host, path = url.removeprefix("ws://").split("/", 1)
        name, port = host.split(":")
        self.socket = socket.create_connection((name, int(port)), timeout=timeout)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            (f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.file = self.socket.makefile("rb")
        if b" 101 " not in self.file.readline():
            raise RuntimeError("no WebSocket")
        while self.file.readline() not in (b"\r\n", b""):
            pass

    def send(self, text):
        data = text.encode()
        size = len(data)
        head = b"\x81" + (struct.pack("!B", 0x80 | size) if size < 126 else
                          struct.pack("!BH", 0x80 | 126, size) if size < 65536 else struct.pack("!BQ", 0x80 | 127, size))
        mask = os.urandom(4)
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def receive(self):
        message = b""
        while True:
            first, second = self.file.read(2)
            size = second & 0x7f
            if size == 126:
                size = struct.unpack("!H", self.file.read(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self.file.read(8))[0]
            data = self.file.read(size)
            if first & 0xf == 8:
                raise RuntimeError("the browser has closed the connection")
            if first & 0xf in (9, 10):
                continue
            message += data
            if first & 0x80:
                return message.decode()


class Page:
    """Everything that the page reports to the console, exceptions among it, is in `log`."""

    def __init__(self, browser, width=1440, height=900, seconds=120):
        self.folder = tempfile.mkdtemp(prefix="tern-chromium-")
        self.process = subprocess.Popen(
            [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--hide-scrollbars",
             f"--user-data-dir={self.folder}", f"--window-size={width},{height}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        place = pathlib.Path(self.folder, "DevToolsActivePort")
        self.wait(lambda: place.is_file() and "\n" in place.read_text(), seconds)
        port = place.read_text().split()[0]
        targets = []

        def has_page():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
                targets[:] = [t for t in json.load(answer) if t["type"] == "page"]
            return targets

        self.wait(has_page, seconds)
        self.socket = WebSocket(targets[0]["webSocketDebuggerUrl"], seconds)
        self.number, self.log = 0, []
        for domain in ("Runtime", "Page", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.size(width, height)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    @staticmethod
    def wait(condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError("the browser takes too long")
            time.sleep(0.05)

    def call(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            if message.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded", "Network.requestWillBeSent"):
                self.log.append(message)

    def js(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def open(self, url):
        self.log.clear()
        self.call("Page.navigate", url=url)
        self.wait(lambda: self.js("document.readyState === 'complete' && location.href !== 'about:blank'"), 120)

    def until(self, expression, seconds=60):
        self.wait(lambda: self.js(expression), seconds)

    def click(self, x, y, count=1):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=count)

    def key(self, name, code=None, text=None):
        codes = {"Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9}
        event = {"key": name, "windowsVirtualKeyCode": code or codes.get(name, ord(name[0].upper()))}
        if len(name) == 1 or name == "Enter":
            event["text"] = text or ("\r" if name == "Enter" else name)
        self.call("Input.dispatchKeyEvent", type="keyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def picture(self):
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
