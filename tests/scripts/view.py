#!/usr/bin/env python3
"""tern view without a browser: view.py --tern build/tern

The server (who gets an answer, and who does not), the data of the page against `tern inspect --json`, against the weights
in the .pt2 file and against `tern export --quantize`, and the page's sources.
"""
import argparse
import array
import http.client
import json
import math
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

from checks import Checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "tools/view/page"
DIGITS = ROOT / "examples/digits/digits.pt2"
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z_]+\.js)";\n', re.M)


def data_of(html):
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.S)[1])


class Server:
    """`tern view` with its address, until the end of the block."""

    def __init__(self, tern, *arguments):
        self.command = [tern, "view", *map(str, arguments), "--no-browser"]

    def __enter__(self):
        # Shells start background jobs with SIGINT ignored, and the server would inherit the setting.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/[0-9a-f]{32}/)", self.address)
        if match is None:
            raise RuntimeError(f"no address: {self.address!r} {self.process.stderr.read()!r}")
        self.port, self.prefix = int(match[1]), match[2]
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)

    def ask(self, path="", method="GET", body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path if path.startswith("/") else self.prefix + path, body=body,
                           headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace"), answer.headers

    def raw(self, data):
        """The status of an answer to these bytes; None where the connection ends without one."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as s:
            try:
                s.sendall(data)
                line = s.makefile("rb").readline()
            except ConnectionError:
                return None
            return int(line.split()[1]) if line.startswith(b"HTTP/1.1 ") else None


def check_server(c, tern, model):
    inspected = json.loads(subprocess.check_output([tern, "inspect", model, "--json"]))
    inspected["file"] = pathlib.Path(model).name
    with Server(tern, model, "--run") as s:
        status, html, headers = s.ask()
        c.check("the page", status == 200 and headers["Content-Type"].startswith("text/html"))
        data = data_of(html)
        c.check("its data are those of inspect", data["models"][0]["inspect"] == inspected and data["served"] is True)
        c.check("no other site may read or frame it", headers["Cross-Origin-Resource-Policy"] == "same-origin" and
                 headers["X-Frame-Options"] == "DENY" and headers["X-Content-Type-Options"] == "nosniff" and
                 headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store")
        for name, path in (("no token", "/"), ("no token, page", "/weight?model=0&state=0"),
                           ("another token", "/" + "0" * 32 + "/"), ("a part of the token", s.prefix[:-2] + "/"),
                           ("nothing there", "nothing"), ("above the folder", "../"), ("a file", "/etc/passwd"),
                           ("dots", s.prefix + "../../etc/passwd"), ("escaped dots", s.prefix + "%2e%2e/%2e%2e/etc/passwd"),
                           ("no such model", "weight?model=7&state=0"), ("no such state", "weight?model=0&state=4000000"),
                           ("no second model", "compared?state=0&other=0")):
            c.check(f"404: {name}", s.ask(path)[0] == 404)
        for name, path in (("no number", "weight?model=0"), ("a negative number", "weight?model=0&state=-1"),
                           ("more than a number", "weight?model=0&state=1x"), ("a huge number", "weight?model=0&state=99999999999")):
            c.check(f"400: {name}", s.ask(path)[0] == 400)
        for host in ("evil.example", f"evil.example:{s.port}", "127.0.0.1", f"127.0.0.1:{s.port + 1}", ""):
            c.check(f"403: Host {host!r}", s.ask(Host=host)[0] == 403)
        c.check("localhost", s.ask(Host=f"localhost:{s.port}")[0] == 200)
        c.check("HTTP/1.0 without Host", s.raw(f"GET {s.prefix} HTTP/1.0\r\n\r\n".encode()) == 403)
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            c.check(f"405: {method}", s.ask(method=method)[0] == 405)
        c.check("a method of nobody", s.raw(f"FETCH {s.prefix} HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\n\r\n".encode()) in (400, 405))
        c.check("HEAD", s.ask(method="HEAD")[:2] == (200, ""))
        c.check("a huge address", s.raw(b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n") in (400, 414, None))
        c.check("a huge header", s.raw(f"GET {s.prefix} HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\nX: {'a' * 100000}\r\n\r\n".encode()) in (400, 413, 431, None))
        c.check("a huge body", s.raw(f"POST {s.prefix} HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\nContent-Length: 99999999999\r\n\r\n".encode() + b"a" * 4096) in (400, 405, 413, None))
        c.check("no HTTP", s.raw(b"\x16\x03\x01" + os.urandom(600) + b"\r\n\r\n") in (400, 403, 404, None))
        c.check("it still answers", s.ask()[0] == 200)
        state = next(i for i, t in enumerate(inspected["states"]) if t["name"] == "classifier.1.weight")
        status, text, headers = s.ask(f"weight?model=0&state={state}")
        c.check("a weight", status == 200 and headers["Content-Type"] == "application/json" and json.loads(text)["count"] == 64 * 512)
        check_weight(c, json.loads(text))
        c.check("only this machine", all("127.0.0.1" in line for line in listening(s.port)))
        c.check("a port that is taken", subprocess.run([tern, "view", model, "--no-browser", "--port", str(s.port)], capture_output=True, timeout=60).returncode == 3)
        s.process.send_signal(signal.SIGINT)
        c.check("Ctrl-C ends it well", s.process.wait(timeout=60) == 0)
    with Server(tern, model) as s:
        begun = [socket.create_connection(("127.0.0.1", s.port), timeout=60) for _ in range(8)]
        for connection in begun:
            connection.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        c.check("requests that do not arrive hold up no others", s.ask()[0] == 200)
        s.process.send_signal(signal.SIGINT)
        c.check("nor the end", s.process.wait(timeout=5) == 0)
        for connection in begun:
            connection.close()
    with Server(tern, model) as s:
        check_slow_connections(c, s)


def memory_of(process):
    """Bytes that it has in use."""
    return int(pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def send_endlessly(s, begin, piece, seconds=2):
    """How many bytes the server takes of a request that does not end, and whether it ends the connection."""
    sent, end = 0, time.monotonic() + seconds
    with socket.create_connection(("127.0.0.1", s.port), timeout=seconds) as connection:
        try:
            connection.sendall(begin)
            while time.monotonic() < end:
                connection.sendall(piece)
                sent += len(piece)
        except OSError:
            return sent, True
    return sent, False


def check_slow_connections(c, s):
    """Clients without the token: requests without end, and more connections than the server keeps."""
    before = memory_of(s.process)
    for name, begin, piece in (("line", b"GET /", b"a" * 16384), ("header", b"GET / HTTP/1.1\r\nx: ", b"a" * 16384),
                               ("headers", b"GET / HTTP/1.1\r\n", b"a: b\r\n" * 2000),
                               ("body", b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"a" * 16384)):
        sent, ended = send_endlessly(s, begin, piece)
        c.check(f"endless {name}: the connection ends", ended)
    c.check("and takes no memory", memory_of(s.process) < before + (16 << 20))
    begun = []
    stopped = threading.Event()

    def drip():
        """Connections with a byte now and then, begun anew when the server ends them."""
        while not stopped.is_set():
            try:
                connection = socket.create_connection(("127.0.0.1", s.port), timeout=60)
                connection.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
                begun.append(connection)
                if len(begun) > 400:
                    begun.pop(0).close()
            except OSError:
                pass
            time.sleep(0.002)

    threads = [threading.Thread(target=drip) for _ in range(2)]
    for thread in threads:
        thread.start()
    while len(begun) < 300:
        time.sleep(0.01)
    start = time.monotonic()
    c.check("among slow connections the page comes", all(s.ask()[0] == 200 for _ in range(5)))
    c.check("at once", time.monotonic() - start < 5)
    stopped.set()
    for thread in threads:
        thread.join()
    oldest = begun[-1]
    oldest.settimeout(10)
    try:
        c.check("a slow connection ends", oldest.recv(10) == b"")
    except ConnectionError:
        c.check("a slow connection ends", True)
    for connection in begun:
        connection.close()


def check_browser(c, tern, folder, model):
    """Other users see the words of a command: the browser gets a file that leads to the address."""
    programs, temporary = folder / "programs", folder / "temporary"
    programs.mkdir()
    temporary.mkdir()
    opener = programs / "xdg-open"
    opener.write_text(f'#!/bin/sh\nexec >"{folder}/opened.part"\necho "$1"\nstat -c "%a %A" "$1" "$(dirname "$1")"\n'
                      f'ps -o pid=,sid= -p $$\ncat "$1"\nmv "{folder}/opened.part" "{folder}/opened"\n')
    opener.chmod(0o755)
    environment = dict(os.environ, DISPLAY=":0", TMPDIR=str(temporary), PATH=f"{programs}:{os.environ['PATH']}")
    process = subprocess.Popen([tern, "view", model], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    address = process.stdout.readline().strip()
    for _ in range(200):
        if (folder / "opened").exists():
            break
        time.sleep(0.05)
    path, file, parent, session, *text = (folder / "opened").read_text().splitlines()
    c.check("the browser's words hold no token", address.split("/")[3] not in path and path.startswith(str(temporary)))
    c.check("its file is the user's alone", file.startswith("600 ") and parent.startswith("700 "))
    c.check("the file leads to the page", f'url={address}"' in "\n".join(text))
    c.check("it has a session of its own", len(set(session.split())) == 1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    c.check("nothing of it is left", process.returncode == 0 and not list(temporary.iterdir()))


def listening(port):
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    local = [line.split()[1] for line in lines if line.split()[3] == "0A" and line.split()[1].endswith(f":{port:04X}")]
    return ["127.0.0.1" if a.startswith("0100007F") else a for a in local] + \
        [line for line in pathlib.Path("/proc/net/tcp6").read_text().splitlines()[1:] if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"]


def check_weight(c, weight):
    """Against the numbers in the .pt2, which is a zip archive."""
    with zipfile.ZipFile(DIGITS) as z:
        config = json.loads(z.read(next(n for n in z.namelist() if n.endswith("_weights_config.json"))))["config"]
        path = config["classifier.1.weight"]["path_name"]
        numbers = array.array("f", z.read(next(n for n in z.namelist() if n.endswith("/" + path))))
    mean = math.fsum(numbers) / len(numbers)
    deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in numbers) / len(numbers))
    low, high, bins = min(numbers), max(numbers), len(weight["bins"])
    counts = [0] * bins
    for x in numbers:
        counts[min(bins - 1, int((x - low) * bins / (high - low)))] += 1
    c.check("mean and deviation", abs(weight["mean"] - mean) < 1e-9 and abs(weight["deviation"] - deviation) < 1e-9)
    c.check("smallest and largest", weight["min"] == low and weight["max"] == high and weight["zeros"] == numbers.count(0))
    c.check("histogram", sum(abs(a - b) for a, b in zip(counts, weight["bins"])) <= 4 and sum(weight["bins"]) == len(numbers))


def check_files(c, tern, folder, model):
    quantized, both = folder / "int8.tern", folder / "both.html"
    report = json.loads(subprocess.check_output([tern, "export", DIGITS, "-o", quantized, "--quantize", "int8", "--json"]))
    c.check("--html", subprocess.run([tern, "view", model, quantized, "--run", "--size", "s34=4", "--html", both], capture_output=True).returncode == 0)
    html = both.read_text()
    data = data_of(html)
    # docs and comments apart, an address would be a link to somewhere.
    c.check("nothing of the network", not re.search(r"https?://|//cdn|@import|url\(", html))
    c.check("two models", [m["inspect"]["file"] for m in data["models"]] == ["digits.tern", "int8.tern"])
    c.check("no folder of this machine", str(folder) not in html)
    states = {s["name"]: str(i) for i, s in enumerate(data["models"][0]["inspect"]["states"])}
    for w in report["quantized"]["weights"]:
        formats = {f["format"]: f for f in data["weights"][0][states[w["weight"]]]["formats"]}
        error = data["compared"][states[w["weight"]]]
        c.check(f"error of {w['weight']}, foretold", abs(formats["int8"]["sqnr_db"] - w["sqnr_db"]) < 1e-3 and formats["int8"]["bytes"] == w["bytes"])
        c.check(f"error of {w['weight']}, found", abs(error["sqnr_db"] - w["sqnr_db"]) < 1e-3)
    for m in data["models"]:
        for function, forms in zip(m["inspect"]["functions"], m["forms"], strict=True):
            c.check("forms of nodes", len(forms) == len(function["nodes"]) and all(0 <= f <= i and forms[f] == f and
                    function["nodes"][f]["op"] == function["nodes"][i]["op"] for i, f in enumerate(forms)), str(forms))
    c.check("ops of views", data["models"][0]["view_ops"] and set(data["models"][0]["view_ops"]) <= {"reshape", "permute", "slice", "expand"})
    run = data["models"][0]["run"]
    nodes = data["models"][0]["inspect"]["functions"][0]["nodes"]
    c.check("a run", run["runs"] >= 1 and all(n["seconds"] > 0 for n in run["nodes"]) and
             {nodes[n["node"]]["op"] for n in run["nodes"]} >= {"matmul", "convolution"})
    flops = sum(n["flops"] for n in run["nodes"]) / run["runs"]
    c.check("its operations are those of the plan", abs(flops / data["models"][0]["inspect"]["cost"]["runs"][0]["flops"] - 1) < 1e-6)
    c.check("what sizes are", data["models"][0]["sizes"]["s34"] == 4 and all(isinstance(n, int) for n in data["models"][0]["sizes"].values()))
    section = data["models"][0]["memory"][0]["sections"][0]
    c.check("the plan is for the size that was given", data["models"][0]["inspect"]["cost"]["runs"][0]["sizes"] == {"s34": 4} and
             section["bytes"] + section["scratch"] == data["models"][0]["inspect"]["cost"]["runs"][0]["arena_bytes"])
    trace = folder / "trace.json"
    trace.write_text(json.dumps({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "tern::matmul", "ts": 0, "dur": 5, "args": {"Function": "forward", "Node": 1}}]}))
    subprocess.run([tern, "view", model, "--trace", trace, "--html", both], check=True, capture_output=True)
    c.check("--trace", data_of(both.read_text())["models"][0]["run"]["nodes"][0]["seconds"] == 5e-6)
    broken = folder / "broken.tern"
    broken.write_bytes(pathlib.Path(model).read_bytes()[:200])
    (folder / "broken.json").write_text("{")
    for name, status, arguments in (("a missing file", 3, ["missing.tern"]), ("a broken archive", 4, [broken]),
                                    ("a broken trace", 4, [model, "--trace", folder / "broken.json"]),
                                    ("more traces than models", 2, [model, "--trace", trace, "--trace", trace]),
                                    ("a size of no model", 2, [model, "--size", "batch=3"]),
                                    ("no folder to write to", 3, [model, "--html", folder / "none" / "x.html"])):
        got = subprocess.run([tern, "view", *map(str, arguments), *([] if "--html" in arguments else ["--html", str(folder / "x.html")])], capture_output=True, cwd=folder)
        c.check(f"{name}: status {status}", got.returncode == status and got.stderr.startswith(b"tern: "))
    linked = folder / "linked.tern"
    linked.symlink_to(model)
    for name, html, arguments in (("the model", model, [model]), ("the model by another name", linked, [model]),
                                  ("the second model", quantized, [model, quantized]), ("the trace", trace, [model, "--trace", trace])):
        before = pathlib.Path(html).read_bytes()
        got = subprocess.run([tern, "view", *map(str, arguments), "--html", str(html)], capture_output=True)
        c.check(f"--html does not replace {name}", got.returncode == 2 and b"--html" in got.stderr and pathlib.Path(html).read_bytes() == before)
    c.check("no file is left of what failed", not list(folder.glob("x.html*")))


def names_of(text):
    """Names at the outermost level of a module."""
    names = []
    for line in text.splitlines():
        match = re.match(r"(?:export )?(?:async )?(?:function\*?|class) ([A-Za-z_$][\w$]*)", line)
        if match:
            names.append(match[1])
        elif re.match(r"(?:export )?(?:const|let) ", line):
            names += re.findall(r"(?:^(?:export )?(?:const|let) |, )([A-Za-z_$][\w$]*) = ", line)
    return names


def check_sources(c):
    modules = {path.name: path.read_text() for path in sorted(PAGE.glob("*.js"))}
    owners, exports = {}, {}
    for name, text in modules.items():
        exports[name] = set(re.findall(r"^export (?:async )?(?:const|let|function\*?|class) ([A-Za-z_$][\w$]*)", text, re.M))
        for own in names_of(text):
            owners.setdefault(own, []).append(name)
    c.check("names differ between modules", not [f"{n}: {m}" for n, m in owners.items() if len(m) > 1],
             str([f"{n}: {m}" for n, m in owners.items() if len(m) > 1]))
    for name, text in modules.items():
        missing = [f"{n} of {of}" for imported, of in IMPORT.findall(text) for n in re.findall(r"[\w$]+", imported) if n not in exports.get(of, ())]
        c.check(f"{name} imports what there is", not missing, str(missing))
        used = re.sub(IMPORT, "", text)
        unused = [n for imported, _ in IMPORT.findall(text) for n in re.findall(r"[\w$]+", imported) if not re.search(rf"\b{re.escape(n)}\b", used)]
        c.check(f"{name} uses what it imports", not unused, str(unused))
        c.check(f"{name} makes no HTML of text", not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.srcdoc|DOMParser", text))
    colors = set(re.findall(r'"(\w+)"', re.search(r"kNames = \[(.*?)\]", modules["colors.js"], re.S)[1]))
    style = (PAGE / "style.css").read_text()
    light, dark = (set(re.findall(r"--(\w+):", block)) for block in re.findall(r":root[^{]*\{(.*?)\}", style, re.S)[:2])
    c.check("both themes have all colours", colors <= light == dark, str(colors - light))
    if shutil.which("node"):
        for name in modules:
            got = subprocess.run(["node", "--input-type=module", "--check"], input=modules[name], text=True, capture_output=True)
            c.check(f"{name} parses", got.returncode == 0, got.stderr)


def check_graph(c, folder):
    """Hidden views and repeated layers, where there is a JavaScript to run the page's modules."""
    if not shutil.which("node"):
        return
    modules = folder / "modules"
    shutil.copytree(PAGE, modules)
    (modules / "package.json").write_text('{"type": "module"}')
    got = subprocess.run(["node", ROOT / "tests/scripts/view_graph.mjs", modules], capture_output=True, text=True)
    c.check("the graph of equal layers", got.returncode == 0, got.stderr)
    if got.returncode != 0:
        return
    g = json.loads(got.stdout)
    hidden, shown = g["hidden"], g["all"]
    c.check("views are hidden", hidden["views"] == 25 and hidden["leaves"] == shown["leaves"] - 25, str(g))
    c.check("edges go through them", hidden["source"] and hidden["result"] and hidden["readers"] == ["attention"], str(hidden))
    c.check("a hidden view has a node that stands for it", hidden["standIn"] == "matmul", str(hidden))
    c.check("all views can be shown", shown["leaves"] == shown["nodes"] and shown["views"] == 0, str(shown))
    c.check("a view that took time is a copy, and stays", g["copied"] == 2, str(g))
    c.check("a circle of views ends", g["circular"] > 0)
    c.check("equal layers are one item", g["label"] == "layers.0 to 11, 12 alike" and g["first"] == "layers.0", str(g))
    c.check("which holds the first of them and the others", g["alike"] == ["layers.0", "layers.1 to 11, 11 alike"] and
            g["others"] == [f"layers.{i}" for i in range(1, 12)], str(g["alike"]))
    c.check("other layers stand apart", g["other"] == ["layers.0 to 2, 3 alike", "layers.3", "layers.4 to 7, 4 alike"], str(g["other"]))
    c.check("a pattern of layers repeats", g["pattern"][0] == "layers.0 to 8, 3 × 3 alike", str(g["pattern"]))
    c.check("two layers stay two", g["two"] == ["layers.0", "layers.1"], str(g["two"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tern", required=True)
    tern = str(pathlib.Path(parser.parse_args().tern).resolve())
    with tempfile.TemporaryDirectory() as folder:
        c = Checks(tern, folder)
        model = str(pathlib.Path(folder) / "digits.tern")
        subprocess.run([tern, "export", DIGITS, "-o", model], check=True, capture_output=True)
        check_sources(c)
        check_graph(c, pathlib.Path(folder))
        check_files(c, tern, pathlib.Path(folder), model)
        check_server(c, tern, model)
        check_browser(c, tern, pathlib.Path(folder), model)
    print(f"{c.passed} passed, {c.failed} failed")
    sys.exit(c.failed > 0)


if __name__ == "__main__":
    main()
