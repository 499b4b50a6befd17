#!/usr/bin/env python3
"""tern serve under clients that answer, stream, stall, vanish, send garbage and give grammars, for some minutes:
serve_soak.py --build build [--seconds 180] [--clients 64]

At the end nothing runs or waits, and memory, files and threads of the server are those of its first quarter. With OpenAI's client
(pip install openai) some clients are its; the others need the standard library alone. All traffic goes to 127.0.0.1. Not part of
the gate, because it takes minutes."""
import argparse
import collections
import json
import pathlib
import random
import re
import socket
import sys
import tempfile
import threading
import time

from language_models import EMBEDDINGS, PROMPT, Commands, Server

try:
    import openai
except ImportError:
    openai = None

VECTORS = [c for c in json.loads((EMBEDDINGS / "expected.json").read_text()) if len(c["ids"]) <= 20]
GRAMMAR = "root ::= [a-z ]{5,12}"


class Client(threading.Thread):
    """Requests of random kinds until the end. Counts outcomes; an unexpected one is a problem."""

    def __init__(self, server, number, end):
        super().__init__()
        self.server, self.numbers, self.end = server, random.Random(number), end
        self.counts, self.problems = collections.Counter(), []
        self.client = openai and openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0, timeout=120)

    def run(self):
        kinds = [self.whole, self.whole, self.stream, self.chat, self.in_grammar, self.vanishing, self.stalling, self.garbage, self.wrong,
                 self.vectors]
        if openai:
            kinds += [self.openai_chat, self.openai_stream, self.openai_vectors]
        while time.monotonic() < self.end:
            kind = self.numbers.choice(kinds)
            try:
                kind()
                self.counts[kind.__name__] += 1
            except Exception as error:  # noqa: BLE001: every failure of a client is a finding
                self.problems.append(f"{kind.__name__}: {error!r}")

    def ask(self, path, body, *expected):
        status, answer = self.server.ask(path, body)
        if status == 429:
            self.counts["429"] += 1
            time.sleep(0.2)
            return None
        assert status in (expected or (200,)), (status, answer)
        return answer

    def options(self):
        n = self.numbers
        return {"max_tokens": n.randint(1, 60), "temperature": n.choice([0, 0.7, 1.5]), "seed": n.randrange(1000),
                "stop": n.choice([None, ["gull"], "xyz"]), "ignore_eos": n.random() < 0.5}

    def prompt(self):
        return PROMPT + " flies" * self.numbers.randint(0, 20)

    def whole(self):
        self.ask("/v1/completions", {"prompt": self.prompt(), "n": self.numbers.randint(1, 3), **self.options()})

    def chat(self):
        self.ask("/v1/chat/completions", {"messages": [{"role": "user", "content": self.prompt()}], **self.options()})

    def stream(self):
        try:
            events = self.server.stream("/v1/completions", {"prompt": self.prompt(), **self.options()})
        except AssertionError as error:
            assert "queue is full" in str(error), error
            return
        assert events[-1] == "[DONE]", events[-1]

    def in_grammar(self):
        answer = self.ask("/v1/completions", {"prompt": self.prompt(), "max_tokens": 40, "temperature": 1.5, "seed": self.numbers.randrange(1000),
                                              "grammar": GRAMMAR, "ignore_eos": True})
        if answer is not None:
            assert re.fullmatch("[a-z ]{5,12}", answer["choices"][0]["text"]), answer

    def same_vectors(self, found, cases):
        for vector, case in zip(found, cases, strict=True):
            assert max(abs(a - b) for a, b in zip(vector, case["vector"], strict=True)) < 1e-5, case["text"]

    def vectors(self):
        cases = self.numbers.choices(VECTORS, k=self.numbers.randint(1, 20))
        answer = self.ask("/v1/embeddings", {"input": [c["text"] for c in cases]})
        if answer is not None:
            self.same_vectors([d["embedding"] for d in answer["data"]], cases)

    def openai_vectors(self):
        cases = self.numbers.choices(VECTORS, k=self.numbers.randint(1, 20))
        answer = self.client.embeddings.create(model="encoder", input=[c["ids"] for c in cases])
        self.same_vectors([d.embedding for d in answer.data], cases)

    def openai_chat(self):
        try:
            answer = self.client.chat.completions.create(model="slots", messages=[{"role": "user", "content": self.prompt()}], logprobs=True,
                                                         max_tokens=self.numbers.randint(1, 60), temperature=self.numbers.choice([0, 1]))
        except openai.RateLimitError:
            self.counts["429"] += 1
            return
        assert answer.choices[0].finish_reason in ("stop", "length"), answer

    def openai_stream(self):
        """Stalls between events, and leaves before the end at times."""
        try:
            with self.client.completions.create(model="slots", prompt=self.prompt(), max_tokens=150, stream=True) as events:
                for _ in events:
                    if self.numbers.random() < 0.05:
                        time.sleep(self.numbers.random() * 2)
                    if self.numbers.random() < 0.02:
                        break
        except openai.RateLimitError:
            self.counts["429"] += 1

    def request(self):
        body = json.dumps({"prompt": self.prompt(), "max_tokens": 200, "ignore_eos": True, "stream": self.numbers.random() < 0.5}).encode()
        return (f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode() + body

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.server.port), timeout=60)

    def vanishing(self):
        with self.connect() as s:
            s.sendall(self.request())
            if self.numbers.random() < 0.5:
                s.settimeout(2)
                try:
                    s.recv(64)
                except TimeoutError:
                    pass

    def stalling(self):
        request = self.request()
        with self.connect() as s:
            s.sendall(request[:self.numbers.randrange(len(request))])
            time.sleep(self.numbers.random())

    def garbage(self):
        request = bytearray(self.request())
        for _ in range(self.numbers.randint(1, 8)):
            request[self.numbers.randrange(len(request))] = self.numbers.randrange(256)
        with self.connect() as s:
            s.settimeout(0.5)
            try:
                s.sendall(request)
                s.recv(64)
            except (TimeoutError, ConnectionError):
                pass

    def wrong(self):
        body = self.numbers.choice([{"prompt": "x", "top_p": 9}, {"prompt": 3}, {}, {"prompt": "x", "grammar": "root ::= ("},
                                    {"prompt": "the " * 400}])
        self.ask("/v1/completions", body, 400)


def size_of(process):
    """Resident MB, open files and threads of a process."""
    folder = pathlib.Path("/proc") / str(process.pid)
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    return int(status["VmRSS"].split()[0]) / 1024, len(list((folder / "fd").iterdir())), int(status["Threads"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--speculate", action="store_true", help="with prompt lookup and a draft model")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tests = Commands(options.build.resolve(), pathlib.Path(folder))
        more = ["--speculate", "--draft", tests.one] if options.speculate else []
        with Server(tests, "--queue", 64, "--embedder", tests.encoder, *more) as server:
            end = time.monotonic() + options.seconds
            clients = [Client(server, i, end) for i in range(options.clients)]
            for client in clients:
                client.start()
            time.sleep(options.seconds / 4)
            early = size_of(server.process)
            for client in clients:
                client.join(timeout=options.seconds + 120)
            counts = sum((c.counts for c in clients), collections.Counter())
            problems = [p for c in clients for p in c.problems]
            tests.check("every client ends", not any(c.is_alive() for c in clients))
            tests.check("no unexpected answer", not problems, problems[:5])
            tests.check("nothing runs or waits", server.wait_for("tern_requests_running", 0, 30) and server.metric("tern_requests_waiting") == 0)
            time.sleep(35)  # stalled connections end after 30 s
            late = size_of(server.process)
            tests.check("memory does not grow", late[0] < early[0] * 1.1 + 16, (early, late))
            tests.check("no files or threads are left", late[1] <= 24 and late[2] <= early[2], (early, late))
            print(dict(counts), f"MB, files, threads: {early} after a quarter, {late} at the end")
            server.process.send_signal(2)
            tests.check("the server ends", server.process.wait(timeout=60) == 0, server.process.returncode)
            errors = server.process.stderr.read()
            tests.check("no report of a sanitizer", "Sanitizer" not in errors, errors[:2000])
    print(f"{tests.passed} passed, {tests.failed} failed")
    return tests.failed > 0


if __name__ == "__main__":
    sys.exit(main())
