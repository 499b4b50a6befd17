#!/usr/bin/env python3
"""tern generate, tern chat and tern serve with the model of examples/generate: language_models.py --build build

The server's clients stall, vanish, send garbage, and come 64 at once. Standard library alone; all traffic goes to 127.0.0.1.
"""
import argparse
import base64
import concurrent.futures
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from checks import Checks

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/generate"
TOKENIZER = EXAMPLE / "tokenizer.model"
PROMPT = "The young puffin"
ANSWER = json.loads((EXAMPLE / "expected.json").read_text())[0]["text"].removeprefix(PROMPT).split(".")[0]  # transformers'
FULL_STOP = 146  # the end token of these tests: the model writes sentences without end
# Each message becomes plain text: the model knows sentences, not roles.
TEMPLATE = "{% for m in messages %}{{ m.content }} {% endfor %}"
KEY = "secret-of-the-test"
BYTES = EXAMPLE.parents[1] / "tests/data/text/tokenizers/qwen2.json"
EMBEDDINGS = EXAMPLE.parents[1] / "tests/data/embeddings"
BERT = BYTES.parent / "bert.json"
SCHEMA = {"type": "object", "properties": {"z": {"type": "integer"}, "a": {"enum": ["x", None]}}, "required": ["z", "a"]}


def fits_schema(text):
    """An answer of SCHEMA, its members in order."""
    value = json.loads(text)
    return list(value) == ["z", "a"] and isinstance(value["z"], int) and value["a"] in ("x", None)


class Commands(Checks):
    def __init__(self, build, folder):
        super().__init__(build / "tern", folder)
        self.one, self.slots = self.export("one"), self.export("slots", "--batch", 4)
        self.encoder = folder / "encoder.tern"
        done = self.run("export", EMBEDDINGS / "encoder.pt2", "-o", self.encoder, "--embeddings", "--context", 20, "--matryoshka", "--tokenizer", BERT)
        self.check("export encoder", done.returncode == 0 and "vectors of 16 numbers" in done.stdout, done)
        self.template = folder / "chat.jinja"
        self.template.write_text(TEMPLATE)

    def export(self, name, *options):
        path = self.folder / f"{name}.tern"
        done = self.run("export", EXAMPLE / "seabirds.pt2", "-o", path, "--llm", "--bos", 1, "--eos", FULL_STOP, *options)
        self.check(f"export {name}", done.returncode == 0, done.stderr)
        return path

    def generate(self, *words, archive=None, text=None):
        return subprocess.run([self.tern, "generate", archive or self.one, "--tokenizer", TOKENIZER, *map(str, words)], input=text,
                              capture_output=True, text=True, timeout=60)

    def check_generate(self):
        plain = self.generate(PROMPT)
        self.check("generate", (plain.returncode, plain.stdout, plain.stderr) == (0, ANSWER + "\n", ""), plain)
        whole = json.loads(self.generate(PROMPT, "--json", "--logprobs", 2).stdout)
        self.check("--json", whole["text"] + "\n" == plain.stdout and whole["finish"] == "end_token" and
                   len(whole["tokens"]) == whole["answer_tokens"] and whole["tokens"][-1]["id"] == FULL_STOP, whole)
        self.check("--logprobs", all(len(t["top"]) == 2 and t["top"][0]["id"] == t["id"] and t["logprob"] <= 0 for t in whole["tokens"]), whole)
        self.check("slots give the same", self.generate(PROMPT, archive=self.slots).stdout == plain.stdout)
        self.check("standard input", self.generate(text=PROMPT + "\n").stdout == plain.stdout)
        self.check("standard input named -", self.generate("-", text=PROMPT).stdout == plain.stdout)
        shown = self.generate("1,15,27", "--ids", "--max-tokens", 5).stdout.split()
        self.check("--ids", len(shown) == 5 and all(word.isdigit() for word in shown), shown)
        words = plain.stdout.split()
        cut = self.generate(PROMPT, "--stop", words[2], "--json")
        expected = whole["text"][:whole["text"].find(words[2])]
        self.check("--stop", json.loads(cut.stdout)["text"] == expected and json.loads(cut.stdout)["finish"] == "stop_text", cut.stdout)
        seeded = [self.generate(PROMPT, "--temperature", 1.5, "--seed", seed, "--max-tokens", 20).stdout for seed in (1, 1, 2, 3)]
        self.check("--seed repeats", seeded[0] == seeded[1] and len(set(seeded)) > 1, seeded)
        ended = self.generate(PROMPT, "--ignore-end")
        self.check("the context ends", ended.returncode == 0 and "context of 272 tokens" in ended.stderr, ended.stderr)
        first = json.loads(self.generate(PROMPT, "--max-tokens", 1, "--json").stdout)["tokens"][0]["id"]
        biased = json.loads(self.generate(PROMPT, "--max-tokens", 1, "--logit-bias", f"{first}=-100", "--json").stdout)["tokens"][0]["id"]
        self.check("--logit-bias", biased != first, biased)
        self.check_speculation()
        grammar = self.folder / "grammar.gbnf"
        grammar.write_text('root ::= " "? ("gull" | "tern")  # two birds')
        held = self.generate(PROMPT, "--grammar", grammar)
        self.check("--grammar", held.stdout.strip() in ("gull", "tern"), held)
        done = self.generate(PROMPT, "--json-schema", '{"type": "object"}')
        self.check("a vocabulary without braces", done.returncode == 2 and "no token that begins" in done.stderr, done)
        # Another tokenizer, of single characters among the first ids.
        for seed in range(6):
            done = subprocess.run([self.tern, "generate", self.one, "--tokenizer", BYTES, "--ids", "1,5", "--json-schema", json.dumps(SCHEMA), "--json",
                                   "--max-tokens", "60", "--temperature", "2", "--seed", str(seed)], capture_output=True, text=True, timeout=60)
            self.check("--json-schema", done.returncode == 0 and fits_schema(json.loads(done.stdout)["text"]), done)
        done = self.generate(PROMPT, "--json-schema", '{"not": {}}')
        self.check("--json-schema not supported", done.returncode == 2 and "'not' is not supported" in done.stderr, done)
        chat = self.generate(PROMPT, "--chat", "--chat-template", self.template)
        self.check("--chat", chat.returncode == 0 and chat.stdout.strip(), chat)
        for name, words, status in (("no template", [PROMPT, "--chat"], 2), ("wrong top-p", [PROMPT, "--top-p", 0], 2), ("no ids", ["a", "--ids"], 2),
                                    ("wrong bias", [PROMPT, "--logit-bias", "x"], 2), ("nan", [PROMPT, "--temperature", "nan"], 2),
                                    ("unknown id", ["160", "--ids"], 2), ("a long prompt", ["the " * 400], 2)):
            done = self.generate(*words)
            self.check(f"refuses {name}", done.returncode == status and done.stderr.startswith("tern: "), done)
        done = self.run("generate", EXAMPLE / "seabirds.pt2", "a")
        self.check("refuses a .pt2", done.returncode == 4, done)
        # Ctrl-C during a long answer.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        process = subprocess.Popen([self.tern, "generate", self.one, "--ids", "1", "--ignore-end", "--temperature", "1"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.check("Ctrl-C", process.returncode in (0, 130), process.returncode)

    def check_speculation(self):
        prompt = f"{PROMPT} flies over the open sea. {PROMPT} flies over the open"
        for name, archive in (("one", self.one), ("slots", self.slots)):
            words = (prompt, "--ignore-end", "--max-tokens", 120, "--json")
            plain = json.loads(self.generate(*words, archive=archive).stdout)
            for options in (["--speculate"], ["--draft", self.one], ["--speculate", "--draft", self.slots]):
                done = json.loads(self.generate(*words, *options, archive=archive).stdout)
                self.check(f"{name}: {options[0]} gives the same tokens", done["tokens"] == plain["tokens"] and done["text"] == plain["text"], done)
                self.check(f"{name}: {options[0]} proposes tokens", done["proposed_tokens"] >= done["accepted_tokens"] > 0, done)
            self.check(f"{name}: without it nothing is proposed", plain["proposed_tokens"] == 0, plain)
            words = (prompt, "--temperature", 0.7, "--seed", 4, "--max-tokens", 60, "--ignore-end")
            self.check(f"{name}: a seed gives the same", self.generate(*words, "--speculate", archive=archive).stdout == self.generate(*words, archive=archive).stdout)
        done = self.generate(PROMPT, "--draft", self.encoder)
        self.check("refuses an encoder as draft", done.returncode == 2 and "does not generate tokens" in done.stderr, done)

    def chat(self, text, *words):
        return subprocess.run([self.tern, "chat", self.slots, "--tokenizer", TOKENIZER, "--chat-template", self.template, *map(str, words)],
                              input=text, capture_output=True, text=True, timeout=60)

    def check_chat(self):
        one = self.chat(PROMPT + "\n")
        self.check("chat", one.returncode == 0 and len(one.stdout.splitlines()) == 1 and one.stdout.strip(), one)
        two = self.chat(f"{PROMPT}\nA gull\n")
        again = self.chat(f"{PROMPT}\n/reset\nA gull\n")
        alone = self.chat("A gull\n")
        self.check("a second message", two.stdout.splitlines()[0] == one.stdout.strip("\n") and len(two.stdout.splitlines()) == 2, two.stdout)
        self.check("/reset forgets", again.stdout.splitlines()[1] == alone.stdout.strip("\n"), (again.stdout, alone.stdout))
        self.check("/exit ends", self.chat(f"{PROMPT}\n/exit\nA gull\n").stdout == one.stdout)
        self.check("no end of line", self.chat(PROMPT).stdout == one.stdout)
        self.check("a continued line", self.chat("The young\\\npuffin\n").returncode == 0)
        unknown = self.chat("/unknown\n")
        self.check("an unknown command", unknown.returncode == 0 and "/help" in unknown.stderr and unknown.stdout == "", unknown)
        self.check("--system", self.chat(PROMPT + "\n", "--system", "A gull").returncode == 0)
        many = self.chat("The young puffin nests on a small island\n" * 30, "--max-tokens", 20)
        self.check("a long conversation", many.returncode == 0 and len(many.stdout.splitlines()) == 30 and "oldest messages" in many.stderr, many)
        self.check("a long message", self.chat("gull " * 400 + "\n").returncode == 2)
        done = self.run("chat", self.slots, "--tokenizer", TOKENIZER)
        self.check("chat needs a template", done.returncode == 2 and "--chat-template" in done.stderr, done)


class Server:
    """`tern serve` until the end of the block."""

    def __init__(self, tests, *options, archive=None, key=None, tokenizer=TOKENIZER):
        environment = {**os.environ, "TERN_API_KEY": key or ""}
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.process = subprocess.Popen([tests.tern, "serve", archive or tests.slots, "--port", "0", "--tokenizer", tokenizer, "--chat-template",
                                         tests.template, *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/v1\n", self.process.stdout.readline())
        if match is None:
            raise RuntimeError(self.process.communicate()[1])
        self.port = int(match[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)

    def ask(self, path, body=None, method=None, **headers):
        """Status and parsed JSON, or text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if data is not None:
            headers.setdefault("Content-Type", "application/json")
        connection.request(method or ("GET" if data is None else "POST"), path, body=data, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return answer.status, json.loads(text) if is_json and text else text

    def stream(self, path, body):
        """The events of a stream."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("POST", path, body=json.dumps({**body, "stream": True}), headers={"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream", answer.read()
        lines = answer.read().decode().split("\n\n")
        return [line.removeprefix("data: ") for line in lines if line]

    def raw(self, data, wait=5):
        """First line of the answer to these bytes; empty where the connection ends without one."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as s:
            try:
                s.sendall(data)
                return s.makefile("rb").readline().decode("latin-1")
            except (ConnectionError, TimeoutError):
                return ""

    def metric(self, name):
        return float(re.search(rf"^{re.escape(name)} (\S+)$", self.ask("/metrics")[1], re.M)[1])

    def wait_for(self, name, value, seconds=10):
        end = time.monotonic() + seconds
        while self.metric(name) != value and time.monotonic() < end:
            time.sleep(0.02)
        return self.metric(name) == value


class ServerChecks:
    def __init__(self, tests):
        self.tests, self.check = tests, tests.check
        self.expected = json.loads(tests.generate(PROMPT, "--max-tokens", 40, "--json").stdout)["text"]

    def completions(self, s):
        status, answer = s.ask("/v1/completions", {"model": "slots", "prompt": PROMPT, "max_tokens": 40, "temperature": 0})
        self.check("completion", status == 200 and answer["choices"][0]["text"] == self.expected and answer["object"] == "text_completion" and
                   answer["choices"][0]["finish_reason"] == "stop", answer)
        usage = answer["usage"]
        self.check("usage", usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 10, usage)
        status, answer = s.ask("/v1/completions", {"prompt": [PROMPT, [1, 15, 27]], "n": 2, "max_tokens": 5, "logprobs": 2})
        self.check("prompts, n, logprobs", status == 200 and [c["index"] for c in answer["choices"]] == [0, 1, 2, 3] and
                   answer["choices"][0]["text"] == answer["choices"][1]["text"] and len(answer["choices"][0]["logprobs"]["tokens"]) == 5 and
                   len(answer["choices"][0]["logprobs"]["top_logprobs"][0]) == 2, answer)
        events = s.stream("/v1/completions", {"prompt": PROMPT, "max_tokens": 40, "temperature": 0, "stream_options": {"include_usage": True}})
        parsed = [json.loads(e) for e in events[:-1]]
        self.check("stream", events[-1] == "[DONE]" and "".join(c["text"] for e in parsed for c in e["choices"]) == self.expected and
                   parsed[-1]["usage"]["completion_tokens"] == usage["completion_tokens"] and len(parsed) > 5, events[-3:])
        stop = self.expected[6:10]
        status, answer = s.ask("/v1/completions", {"prompt": PROMPT, "max_tokens": 40, "stop": stop})
        self.check("stop", answer["choices"][0]["text"] == self.expected[:self.expected.find(stop)], answer)
        seeded = [s.ask("/v1/completions", {"prompt": PROMPT, "temperature": 1.5, "seed": 5})[1]["choices"][0]["text"] for _ in range(2)]
        self.check("seed", seeded[0] == seeded[1], seeded)
        status, answer = s.ask("/v1/completions", {"prompt": PROMPT})
        self.check("16 tokens by default", answer["usage"]["completion_tokens"] <= 16, answer["usage"])

    def chat(self, s):
        messages = [{"role": "system", "content": ""}, {"role": "user", "content": [{"type": "text", "text": PROMPT}]}]
        status, answer = s.ask("/v1/chat/completions", {"messages": messages, "max_tokens": 30, "logprobs": True, "top_logprobs": 1})
        self.check("chat completion", status == 200 and answer["object"] == "chat.completion" and
                   answer["choices"][0]["message"]["role"] == "assistant" and answer["choices"][0]["message"]["content"] and
                   answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"], answer)
        events = s.stream("/v1/chat/completions", {"messages": messages, "max_tokens": 30})
        parsed = [json.loads(e) for e in events[:-1]]
        text = "".join(c["delta"].get("content", "") for e in parsed for c in e["choices"])
        self.check("chat stream", events[-1] == "[DONE]" and text == answer["choices"][0]["message"]["content"] and
                   parsed[0]["choices"][0]["delta"]["role"] == "assistant" and parsed[-1]["choices"][0]["finish_reason"] in ("stop", "length"), events)

    def other_paths(self, s):
        self.check("models", s.ask("/v1/models")[1]["data"][0]["id"] == "slots")
        self.check("one model", s.ask("/v1/models/slots")[1]["id"] == "slots")
        self.check("health", s.ask("/health")[0] == 200)
        self.check("metrics", s.metric("tern_slots") == 4 and s.metric("tern_answer_tokens_total") > 0)
        status, answer = s.ask("/v1/embeddings", {"input": "a"})
        self.check("embeddings", status == 400 and "embeddings" in answer["error"]["message"], answer)

    def refusals(self, s):
        good = {"prompt": PROMPT, "max_tokens": 1}
        for name, path, body, status in (
                ("no JSON", "/v1/completions", b"{", 400), ("no object", "/v1/completions", b"[]", 400), ("no bytes", "/v1/completions", b"", 400),
                ("no UTF-8", "/v1/completions", b'{"prompt": "\xff"}', 400), ("deep JSON", "/v1/completions", b"[" * 100000, 400),
                ("no prompt", "/v1/completions", {}, 400), ("a wrong prompt", "/v1/completions", {"prompt": 1}, 400),
                ("an empty list", "/v1/completions", {"prompt": []}, 400), ("unknown ids", "/v1/completions", {"prompt": [1, 99999]}, 400),
                ("huge ids", "/v1/completions", {"prompt": [1 << 70]}, 400), ("a long prompt", "/v1/completions", {"prompt": "the " * 500}, 400),
                ("many answers", "/v1/completions", {**good, "n": 17}, 400), ("a wrong type", "/v1/completions", {**good, "temperature": "hot"}, 400),
                ("a wrong range", "/v1/completions", {**good, "top_p": 7}, 400), ("a wrong bias", "/v1/completions", {**good, "logit_bias": {"x": 1}}, 400),
                ("many stops", "/v1/completions", {**good, "stop": ["a"] * 17}, 400), ("echo", "/v1/completions", {**good, "echo": True}, 400),
                ("tools", "/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}], "tools": [{}]}, 400),
                ("a schema", "/v1/completions", {**good, "response_format": {"type": "json_object"}}, 400),
                ("no messages", "/v1/chat/completions", {"messages": []}, 400), ("no role", "/v1/chat/completions", {"messages": [{}]}, 400),
                ("an image", "/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400),
                ("another model", "/v1/completions", {**good, "model": "other"}, 404), ("nothing there", "/v1/nothing", good, 404)):
            found, answer = s.ask(path, body)
            self.check(f"{status}: {name}", found == status and answer["error"]["message"], (found, answer))
        self.check("405: GET", s.ask("/v1/completions")[0] == 405)
        self.check("405: POST", s.ask("/health", good)[0] == 405)
        self.check("415: a form", s.ask("/v1/completions", good, Content_Type="text/plain")[0] == 415)
        self.check("403: another host", s.ask("/v1/models", Host="evil.example")[0] == 403)
        self.check("403: no host", s.raw(b"GET /health HTTP/1.0\r\n\r\n").split()[1:2] == ["403"])
        self.check("413: a large body", s.raw(b"POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n").split()[1:2] == ["413"])
        self.check("411: chunks", s.raw(b"POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").split()[1:2] == ["411"])
        self.check("400: two lengths", s.raw(b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab").split()[1:2] == ["400"])
        self.check("414", s.raw(b"GET /" + b"a" * 100000).split()[1:2] in (["414"], []))
        self.check("431", s.raw(b"GET / HTTP/1.1\r\nX: " + b"a" * 100000).split()[1:2] in (["431"], []))

    def garbage(self, s):
        numbers = random.Random(1)
        begin = f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\nContent-Type: application/json\r\n".encode()
        body = json.dumps({"prompt": PROMPT, "max_tokens": 2, "logit_bias": {"5": 1.5}, "stop": ["x"]}).encode()
        for _ in range(60):
            data = bytearray(body)
            for _ in range(numbers.randint(1, 6)):
                data[numbers.randrange(len(data))] = numbers.randrange(256)
            s.raw(begin + b"Content-Length: %d\r\n\r\n" % len(data) + data)
        for _ in range(20):
            s.raw(numbers.randbytes(numbers.randint(1, 2000)) + b"\r\n\r\n")
        self.check("after garbage it still answers", s.ask("/v1/completions", {"prompt": PROMPT, "max_tokens": 1})[0] == 200)

    def leaving_clients(self, s):
        """Clients that send half a request, or leave during an answer."""
        slow = [socket.create_connection(("127.0.0.1", s.port), timeout=30) for _ in range(20)]
        for connection in slow:
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
        body = json.dumps({"prompt": PROMPT, "max_tokens": 200, "ignore_eos": True, "stream": True}).encode()
        request = (f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\nContent-Type: application/json\r\n"
                   f"Content-Length: {len(body)}\r\n\r\n").encode() + body
        for i in range(8):
            with socket.create_connection(("127.0.0.1", s.port), timeout=30) as connection:
                connection.sendall(request)
                if i % 2:
                    connection.recv(10)
        self.check("answers end with their clients", s.wait_for("tern_requests_running", 0) and s.metric("tern_requests_waiting") == 0)
        self.check("stalled clients hold up no others", s.ask("/v1/completions", {"prompt": PROMPT, "max_tokens": 1})[0] == 200)
        for connection in slow:
            connection.close()

    def many(self, s, count=64):
        prompts = [f"{begin} {end}" for begin in ("The young puffin", "A gull", "The tern", "An auk") for end in ("", "nests", "flies", "sleeps")]
        expected = {p: s.ask("/v1/completions", {"prompt": p, "max_tokens": 20})[1]["choices"][0]["text"] for p in prompts}

        def one(i):
            prompt = prompts[i % len(prompts)]
            if i % 3:
                return s.ask("/v1/completions", {"prompt": prompt, "max_tokens": 20})[1]["choices"][0]["text"] == expected[prompt]
            events = s.stream("/v1/completions", {"prompt": prompt, "max_tokens": 20})
            return "".join(c["text"] for e in events[:-1] for c in json.loads(e)["choices"]) == expected[prompt]

        steps, tokens = s.metric("tern_steps_total"), s.metric("tern_answer_tokens_total")
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            results = list(pool.map(one, range(count)))
        self.check("64 clients get their own answers", all(results), results)
        steps, tokens = s.metric("tern_steps_total") - steps, s.metric("tern_answer_tokens_total") - tokens
        self.check("in common steps", 0 < steps < tokens * 0.6, (steps, tokens))
        self.check("nothing is left", s.wait_for("tern_requests_running", 0))

    def key(self):
        with Server(self.tests, key=KEY) as s:
            self.check("401: no key", s.ask("/v1/models")[0] == 401)
            self.check("401: another key", s.ask("/v1/models", Authorization="Bearer " + KEY[:-1] + "x")[0] == 401)
            self.check("the key", s.ask("/v1/models", Authorization="Bearer " + KEY)[0] == 200)
            self.check("health needs no key", s.ask("/health")[0] == 200)
        done = self.tests.run("serve", self.tests.slots, "--host", "0.0.0.0", "--port", 0)
        self.check("other machines need a key", done.returncode == 2 and "key" in done.stderr, done)

    def json_answers(self):
        with Server(self.tests, tokenizer=BYTES) as s:
            body = {"prompt": [1, 5], "max_tokens": 60, "temperature": 2}
            for seed in range(4):
                form = {"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": SCHEMA}}
                status, answer = s.ask("/v1/completions", {**body, "seed": seed, "response_format": form})
                self.check("json_schema", status == 200 and fits_schema(answer["choices"][0]["text"]), answer)
                status, answer = s.ask("/v1/completions", {**body, "seed": seed, "response_format": {"type": "json_object"}})
                self.check("json_object", status == 200 and isinstance(json.loads(answer["choices"][0]["text"]), dict), answer)
            events = s.stream("/v1/completions", {**body, "response_format": form})
            text = "".join(c["text"] for e in events[:-1] for c in json.loads(e)["choices"])
            self.check("json_schema in a stream", fits_schema(text), events)
            for name, wrong in (("no schema", {"type": "json_schema"}), ("an unknown type", {"type": "xml"}),
                                ("a keyword", {"type": "json_schema", "json_schema": {"schema": {"not": {}}}})):
                status, answer = s.ask("/v1/completions", {**body, "response_format": wrong})
                self.check(f"400: response_format, {name}", status == 400, answer)

    def speculation(self):
        """The same answers, one by one and together."""
        with Server(self.tests, "--speculate", "--draft", self.tests.one) as s:
            for _ in range(2):
                self.completions(s)
            self.check("proposed tokens are counted", s.metric("tern_proposed_tokens_total") >= s.metric("tern_accepted_tokens_total") > 0)
            self.many(s)

    def embeddings(self):
        cases = json.loads((EMBEDDINGS / "expected.json").read_text())
        short = [c for c in cases if len(c["ids"]) <= 20]

        def close(found, expected):
            return len(found) == len(expected) and max(abs(a - b) for a, b in zip(found, expected)) < 1e-5

        def numbers(text):
            data = base64.b64decode(text)
            return struct.unpack(f"<{len(data) // 4}f", data)

        with Server(self.tests, archive=self.tests.encoder, tokenizer=BERT) as s:
            path = "/v1/embeddings"
            status, answer = s.ask(path, {"model": "encoder", "input": [c["text"] for c in short]})
            self.check("embeddings", status == 200 and [d["index"] for d in answer["data"]] == list(range(len(short))) and
                       all(close(d["embedding"], c["vector"]) for d, c in zip(answer["data"], short)), answer)
            tokens = sum(len(c["ids"]) for c in short)
            self.check("embeddings: usage", answer["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}, answer["usage"])
            status, answer = s.ask(path, {"input": short[0]["text"], "encoding_format": "base64"})
            self.check("embeddings: base64", status == 200 and close(numbers(answer["data"][0]["embedding"]), short[0]["vector"]), answer)
            for given in (short[1]["ids"], [c["ids"] for c in short[1:]]):
                status, answer = s.ask(path, {"input": given})
                self.check("embeddings: token ids", status == 200 and close(answer["data"][0]["embedding"], short[1]["vector"]), answer)
            status, answer = s.ask(path, {"input": short[0]["text"], "dimensions": 4})
            length = sum(x * x for x in short[0]["vector"][:4]) ** 0.5
            self.check("embeddings: dimensions", close(answer["data"][0]["embedding"], [x / length for x in short[0]["vector"][:4]]), answer)
            status, answer = s.ask(path, {"input": "a " * 70, "truncate": True})
            self.check("embeddings: truncate", status == 200 and answer["usage"]["prompt_tokens"] == 20, answer)
            for name, body, expected in (("a long text", {"input": "a " * 70}, 400), ("no text", {}, 400), ("no texts", {"input": []}, 400),
                                         ("mixed", {"input": ["a", 5]}, 400), ("wrong dimensions", {"input": "a", "dimensions": 17}, 400),
                                         ("a wrong format", {"input": "a", "encoding_format": "hex"}, 400), ("many", {"input": ["a"] * 2049}, 400),
                                         ("another model", {"input": "a", "model": "other"}, 404), ("an unknown id", {"input": [5, 9999]}, (400, 500)),
                                         ("huge ids", {"input": [1 << 70]}, 400), ("an empty list of ids", {"input": [[]]}, 400)):
                status, answer = s.ask(path, body)
                self.check(f"embeddings: {name}", status in (expected if isinstance(expected, tuple) else (expected,)) and answer["error"]["message"], answer)
            status, answer = s.ask("/v1/completions", {"prompt": "a"})
            self.check("embeddings: no completions", status == 400 and "/v1/embeddings" in answer["error"]["message"], answer)
            with concurrent.futures.ThreadPoolExecutor(32) as pool:
                chosen = [short[i % len(short)] for i in range(96)]
                answers = list(pool.map(lambda c: s.ask(path, {"input": [c["text"]] * 3}), chosen))
            self.check("embeddings: 32 clients", all(status == 200 and close(a["data"][2]["embedding"], c["vector"]) for (status, a), c in zip(answers, chosen)))
            self.check("embeddings: metrics", s.metric("tern_embedded_texts_total") > 288)
        with Server(self.tests, "--embedder", self.tests.encoder) as s:
            status, answer = s.ask("/v1/embeddings", {"model": "encoder", "input": short[0]["text"]})
            self.check("--embedder", status == 200 and close(answer["data"][0]["embedding"], short[0]["vector"]), answer)
            self.check("--embedder: completions", s.ask("/v1/completions", {"model": "slots", "prompt": PROMPT, "max_tokens": 2})[0] == 200)
            self.check("--embedder: models", [m["id"] for m in s.ask("/v1/models")[1]["data"]] == ["slots", "encoder"])

    def limits(self):
        with Server(self.tests, "--queue", 1, "--max-tokens", 3, archive=self.tests.one) as s:
            status, answer = s.ask("/v1/completions", {"prompt": PROMPT, "max_tokens": 50})
            self.check("--max-tokens", status == 200 and answer["usage"]["completion_tokens"] == 3, answer)
        with Server(self.tests, "--queue", 4, "--time-limit", 0.001, archive=self.tests.one) as s:
            status, answer = s.ask("/v1/completions", {"prompt": PROMPT, "max_tokens": 200, "ignore_eos": True})
            self.check("504: --time-limit", status == 504 and "--time-limit" in answer["error"]["message"], answer)
            events = s.stream("/v1/completions", {"prompt": PROMPT, "max_tokens": 200, "ignore_eos": True})
            self.check("--time-limit in a stream", "--time-limit" in events[-1], events[-1])
        with Server(self.tests, "--queue", 1, archive=self.tests.one) as s:
            body = {"prompt": PROMPT, "max_tokens": 200, "ignore_eos": True}
            with concurrent.futures.ThreadPoolExecutor(12) as pool:
                statuses = list(pool.map(lambda _: s.ask("/v1/completions", body)[0], range(12)))
            self.check("429: a full queue", set(statuses) == {200, 429}, statuses)

    def end(self):
        for sent in (signal.SIGINT, signal.SIGTERM):
            with Server(self.tests) as s:
                results = []
                thread = threading.Thread(
                    target=lambda: results.append(s.ask("/v1/completions", {"prompt": PROMPT, "max_tokens": 200, "ignore_eos": True})))
                thread.start()
                s.wait_for("tern_requests_running", 1, seconds=2)
                s.process.send_signal(sent)
                status = s.process.wait(timeout=40)
                thread.join()
                self.check(f"{sent.name} waits for answers", status == 0 and results[0][0] == 200 and
                           results[0][1]["usage"]["completion_tokens"] == 200, (status, results))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    build = parser.parse_args().build.resolve()
    with tempfile.TemporaryDirectory() as folder:
        if "generate" not in subprocess.check_output([build / "tern", "--help"], text=True):
            print("this tern is built without tern::text: it has no commands to check\n0 passed, 0 failed")
            return 0
        tests = Commands(build, pathlib.Path(folder))
        tests.check_generate()
        tests.check_chat()
        if not (build / "tern_http_server.so").exists():
            print("cpp-httplib is absent: tern serve is not checked")
        else:
            server = ServerChecks(tests)
            with Server(tests) as s:
                for part in (server.completions, server.chat, server.other_paths, server.refusals, server.garbage, server.leaving_clients, server.many):
                    part(s)
            server.key()
            server.json_answers()
            server.speculation()
            server.embeddings()
            server.limits()
            server.end()
    print(f"{tests.passed} passed, {tests.failed} failed")
    return tests.failed > 0


if __name__ == "__main__":
    sys.exit(main())
