#!/usr/bin/env python3
"""tern serve with OpenAI's own client (PyPI: openai): openai_client.py --build build. Not part of the gate: it needs the package.

All traffic goes to 127.0.0.1."""
import argparse
import asyncio
import json
import pathlib
import sys
import tempfile

import openai
from language_models import BERT, EMBEDDINGS, KEY, PROMPT, Commands, Server


def check_client(tests, s):
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{s.port}/v1", api_key=KEY, max_retries=0)
    expected = client.completions.create(model="slots", prompt=PROMPT, max_tokens=40, temperature=0)
    tests.check("models", [m.id for m in client.models.list()] == ["slots"])
    tests.check("completion", expected.choices[0].text and expected.usage.total_tokens > 10, expected)
    parts = client.completions.create(model="slots", prompt=PROMPT, max_tokens=40, temperature=0, stream=True)
    tests.check("completion in parts", "".join(p.choices[0].text for p in parts) == expected.choices[0].text)
    messages = [{"role": "user", "content": PROMPT}]
    answer = client.chat.completions.create(model="slots", messages=messages, max_tokens=30, logprobs=True, top_logprobs=2, seed=1, n=2)
    tests.check("chat", len(answer.choices) == 2 and answer.choices[0].message.content and
                len(answer.choices[0].logprobs.content[0].top_logprobs) == 2, answer)
    stream = client.chat.completions.create(model="slots", messages=messages, max_tokens=30, stream=True, stream_options={"include_usage": True})
    events = list(stream)
    text = "".join(e.choices[0].delta.content or "" for e in events if e.choices)
    tests.check("chat in parts", text == answer.choices[0].message.content and events[-1].usage.completion_tokens > 0, events[-1])
    for name, call, error in (
            ("embeddings", lambda: client.embeddings.create(model="slots", input="a"), openai.BadRequestError),
            ("another model", lambda: client.completions.create(model="other", prompt="a"), openai.NotFoundError),
            ("wrong temperature", lambda: client.completions.create(model="slots", prompt="a", temperature=-1), openai.BadRequestError),
            ("wrong key", lambda: client.with_options(api_key="x").models.list(), openai.AuthenticationError)):
        try:
            call()
            tests.check(f"refuses: {name}", False)
        except error as e:
            tests.check(f"refuses: {name}", e.message)


def check_embeddings(tests, s):
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{s.port}/v1", api_key=KEY, max_retries=0)
    cases = [c for c in json.loads((EMBEDDINGS / "expected.json").read_text()) if len(c["ids"]) <= 20]

    def close(vectors, expected):
        return all(abs(a - b) < 1e-5 for v, c in zip(vectors, expected, strict=True) for a, b in zip(v.embedding, c["vector"], strict=True))

    for options in ({}, {"encoding_format": "float"}, {"encoding_format": "base64"}):  # the default is base64, which the client decodes
        answer = client.embeddings.create(model="encoder", input=[c["text"] for c in cases], **options)
        if options.get("encoding_format") == "base64":
            tests.check("embeddings in base64", all(isinstance(v.embedding, str) for v in answer.data))
        else:
            tests.check(f"embeddings {options}", close(answer.data, cases) and answer.usage.prompt_tokens == sum(len(c["ids"]) for c in cases))
    tests.check("embedding of a text", close(client.embeddings.create(model="encoder", input=cases[0]["text"]).data, cases[:1]))
    tests.check("embeddings of token ids", close(client.embeddings.create(model="encoder", input=[c["ids"] for c in cases]).data, cases))
    tests.check("fewer dimensions", len(client.embeddings.create(model="encoder", input="a", dimensions=5).data[0].embedding) == 5)
    try:
        client.embeddings.create(model="encoder", input="a " * 100)
        tests.check("refuses: a long text", False)
    except openai.BadRequestError as e:
        tests.check("refuses: a long text", "at most 20" in e.message, e.message)


async def ask_many(tests, s, count):
    client = openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{s.port}/v1", api_key=KEY, max_retries=0)
    one = await client.completions.create(model="slots", prompt=PROMPT, max_tokens=20)
    all_of_them = await asyncio.gather(*(client.completions.create(model="slots", prompt=PROMPT, max_tokens=20) for _ in range(count)))
    tests.check(f"{count} at once", all(a.choices[0].text == one.choices[0].text for a in all_of_them))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    with tempfile.TemporaryDirectory() as folder:
        tests = Commands(parser.parse_args().build.resolve(), pathlib.Path(folder))
        with Server(tests, key=KEY) as s:
            check_client(tests, s)
            asyncio.run(ask_many(tests, s, 32))
        with Server(tests, archive=tests.encoder, tokenizer=BERT, key=KEY) as s:
            check_embeddings(tests, s)
    print(f"{tests.passed} passed, {tests.failed} failed")
    return tests.failed > 0


if __name__ == "__main__":
    sys.exit(main())
