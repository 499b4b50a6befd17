#!/usr/bin/env python3
"""Sends the 360 held-out digits to a server from eight threads: check.py SERVICE DIGITS.tern DIGITS.safetensors

Prints how many answers are right; ends with 1 if they are not the 357 that PyTorch has, or if a mistake is not refused.
"""
import array
import concurrent.futures
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


def ask(url, body):
    try:
        with urllib.request.urlopen(url, body.encode(), timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def main():
    service, archive, held_out = sys.argv[1:]
    images, labels = tensors(held_out)
    bodies = [json.dumps(list(images[i * 64:(i + 1) * 64])) for i in range(len(labels))]
    server = subprocess.Popen([service, archive], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(lambda body: ask(url, body), bodies))
        refused = [ask(url, body)[0] for body in ("[1, 2]", "no JSON", '{"a": 1}')]
    finally:
        server.send_signal(signal.SIGTERM)
        status = server.wait(timeout=60)
    right = sum(code == 200 and answer["digit"] == label for (code, answer), label in zip(answers, labels))
    print(f"{right} of {len(labels)} are right; mistakes are answered with {refused}; the server ended with {status}")
    sys.exit(not (right == 357 and refused == [400] * 3 and status == 0))


main()
