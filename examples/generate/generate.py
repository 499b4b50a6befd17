#!/usr/bin/env python3
"""Continues a text by an archive of `tern export --llm`, token by token: the loop of main.cpp in Python.

  generate.py ARCHIVE [--tokenizer FILE] [OPTION...] PROMPT

--tokenizer is a tokenizer.json (PyPI: tokenizers) or a SentencePiece model (PyPI: sentencepiece). Without it a prompt is token
ids, 1,15,27. Needs the package tern and NumPy.
"""
import argparse
import sys

import numpy
import tern


class Ids:
    def encode(self, text):
        try:
            return [int(word) for word in text.replace(",", " ").split()]
        except ValueError:
            sys.exit(f"generate.py: '{text}' is no list of token ids such as 1,15,27; text needs --tokenizer FILE")

    def decode(self, tokens):
        return " ".join(map(str, tokens))


def tokenizer_of(path):
    """An object with encode(text) -> ids and decode(ids) -> text."""
    if path is None:
        return Ids()
    if path.endswith(".json"):
        import tokenizers

        class Json:
            file = tokenizers.Tokenizer.from_file(path)

            def encode(self, text):
                return self.file.encode(text, add_special_tokens=False).ids

            def decode(self, tokens):
                return self.file.decode(tokens)

        return Json()
    import sentencepiece

    return sentencepiece.SentencePieceProcessor(model_file=path)


class Conversation:
    """A text that a model continues: a session, with its key/value cache."""

    def __init__(self, model, temperature=0.0, top_k=0, top_p=1.0, seed=0):
        if "llm" not in model.metadata:
            raise SystemExit("the archive does not generate tokens; make it by 'tern export --llm' or tern.export_llm()")
        self.session, self.position = model.session(), 0
        self.session.seed(seed)
        self.sampling = [numpy.float32(temperature), numpy.int64(top_k), numpy.float32(top_p)]
        self.context = int(model.metadata["llm.context"])
        self.eos = [int(i) for i in model.metadata.get("llm.eos", "").split(",") if i]

    def read(self, tokens):
        """Reads tokens and gives the next one, which is not read yet."""
        step = self.session["decode" if len(tokens) == 1 else "prefill"]
        inputs = [numpy.array([tokens], "int64"), numpy.array([self.position], "int64"), *map(numpy.asarray, self.sampling)]
        token, _ = step(*inputs)
        self.position += len(tokens)
        return int(token.numpy()[0, 0])

    def answer(self, tokens, most):
        """Tokens, until one ends the text, there are `most`, or the cache is full."""
        for _ in range(most):
            token = self.read(tokens)
            if token in self.eos:
                return
            yield token
            if self.position == self.context:
                return
            tokens = [token]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive")
    parser.add_argument("prompt")
    parser.add_argument("--tokenizer")
    parser.add_argument("--max-tokens", type=int, default=100)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--top-k", type=int, default=0)
    parser.add_argument("--top-p", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    model, tokenizer = tern.load(a.archive), tokenizer_of(a.tokenizer)
    conversation = Conversation(model, a.temperature, a.top_k, a.top_p, a.seed)
    tokens = tokenizer.encode(a.prompt)
    bos = model.metadata.get("llm.bos")
    if bos is not None and tokens[:1] != [int(bos)]:
        tokens = [int(bos), *tokens]
    if not tokens:
        sys.exit("generate.py: the prompt has no tokens")
    print(a.prompt, end="", flush=True)
    shown, ids = tokenizer.decode(tokens), list(tokens)
    for token in conversation.answer(tokens, a.max_tokens):
        ids.append(token)
        text = tokenizer.decode(ids)
        if not text.endswith("\ufffd"):  # else a character is incomplete
            print(text[len(shown):], end="", flush=True)
            shown = text
    print(tokenizer.decode(ids)[len(shown):])  # an answer may end inside of a character


if __name__ == "__main__":
    try:
        main()
    except tern.Error as error:
        sys.exit(f"generate.py: {error}")
