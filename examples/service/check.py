#!/usr/bin/env python3
"""Sends the 360 held-out digits to a server from eight threads: check.py SERVICE DIGITS.tern DIGITS.safetensors

Prints how many answers are right; ends with 1 if they are not the 357 that PyTorch has, or if a mistake is not refused.
"""
import array
import concurrent.futures
import gzip
import json
import signal
import struct
import subprocess
import sys
import urllib.error
import urllib.request


def tensors(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    for name, kind in ("images", "f"), ("labels", "q"):
        begin, end = header[name]["data_offsets"]
        yield array.array(kind, data[8 + length + begin:8 + length + end])


NO_IMAGES = ["[1, 2]", "no JSON", '{"a": 1}', "", "[" * 60000, json.dumps([[0.5] * 8] * 8), json.dumps([True] * 64),
             json.dumps([1e300] * 64), f"[{'1e999,' * 63}1]", f"[{'NaN,' * 63}1]", json.dumps(["0.5"] * 64)]


def ask(url, body, headers={}):
    """Status and answer; 0 where the server ends the connection first. A body that is no text is sent in chunks."""
    body = body.encode() if isinstance(body, str) else body
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
    except OSError:
        return 0, None


def main():
    service, archive, held_out = sys.argv[1:]
    images, labels = tensors(held_out)
    bodies = [json.dumps(list(images[i * 64:(i + 1) * 64])) for i in range(len(labels))]
    server = subprocess.Popen([service, archive], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(lambda body: ask(url, body), bodies))
        refused = [ask(url, body)[0] for body in NO_IMAGES]
        # 50 MB behind 50 kB; a long body of undeclared length, not necessarily read to its end.
        large = [ask(url, gzip.compress(b" " * 50_000_000), {"Content-Encoding": "gzip"})[0], ask(url, iter([b" " * 70_000]))[0]]
        elsewhere = ask(url + "/x", bodies[0])[0]
    finally:
        server.send_signal(signal.SIGTERM)
        status = server.wait(timeout=60)
    right = sum(code == 200 and answer["digit"] == label for (code, answer), label in zip(answers, labels))
    print(f"{right} of {len(labels)} are right; mistakes are answered with {sorted(set(refused))}, large bodies with {large}, "
          f"another address with {elsewhere}; the server ended with {status}")
    sys.exit(not (right == 357 and set(refused) == {400} and large[0] == 413 and large[1] in (413, 0) and elsewhere == 404 and status == 0))


main()
