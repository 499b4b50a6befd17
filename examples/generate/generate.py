#!/usr/bin/env python3
"""Continues a text by an archive of `tern export --llm`, token by token: the loop of main.cpp in Python.

  generate.py ARCHIVE [--tokenizer FILE] [OPTION...] PROMPT...

Several prompts are answered one after the other; an archive of --batch N answers N of them together, and the next ones as slots
become free.
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


class Facts:
    """What the archive says of its model."""

    def __init__(self, metadata):
        if "llm" not in metadata:
            raise SystemExit("the archive does not generate tokens; make it by 'tern export --llm' or tern.export_llm()")
        if metadata["llm"] not in ("1", "2"):
            raise SystemExit(f"the archive follows version {metadata['llm']} of the rules for generating tokens, not 1 or 2")
        self.context, self.batch = int(metadata["llm.context"]), int(metadata.get("llm.batch", 0))
        self.bos = metadata.get("llm.bos")
        self.eos = [int(i) for i in metadata.get("llm.eos", "").split(",") if i]


class Conversation:
    """A text that a model continues: a session, with its key/value cache."""

    def __init__(self, model, temperature=0.0, top_k=0, top_p=1.0, seed=0):
        self.session, self.position = model.session(), 0
        self.session.seed(seed)
        self.sampling = [numpy.float32(temperature), numpy.int64(top_k), numpy.float32(top_p)]

    def read(self, tokens):
        """Reads tokens and gives the next one, which is not read yet."""
        step = self.session["decode" if len(tokens) == 1 else "prefill"]
        inputs = [numpy.array([tokens], "int64"), numpy.array([self.position], "int64"), *map(numpy.asarray, self.sampling)]
        token, _ = step(*inputs)
        self.position += len(tokens)
        return int(token.numpy()[0, 0])


class Slots:
    """Several texts that a model continues together, each in a slot of one session: archives of --batch."""

    def __init__(self, model, count):
        self.session, self.texts = model.session(), [None] * count

    def begin(self, slot, tokens, temperature=0.0, top_k=0, top_p=1.0, seed=0):
        """Reads the first tokens of a new text in the slot, and gives the next one, which is not read yet."""
        self.texts[slot] = {"position": 0, "temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed, "draw": 0}
        return self.run("prefill", [slot], [tokens])[0]

    def step(self, tokens):
        """{slot: token}: these texts read a token each. Gives {slot: next token}; other slots wait."""
        return dict(zip(tokens, self.run("decode", list(tokens), [[t] for t in tokens.values()])))

    def run(self, function, slots, tokens):
        given = {"tokens": numpy.array(tokens, "int64"), "slot": numpy.array(slots, "int64")}
        for name in ("position", "temperature", "top_k", "top_p", "seed", "draw"):
            dtype = "float32" if name in ("temperature", "top_p") else "int64"
            given[name] = numpy.array([self.texts[s][name] for s in slots], dtype)
        token, _ = self.session[function](**given)
        for s in slots:
            self.texts[s]["position"] += given["tokens"].shape[1]
            self.texts[s]["draw"] += 1
        return token.numpy()[:, 0].tolist()


def one_by_one(model, facts, prompts, most, sampling):
    """The number of a prompt and a token of its answer, one pair after the other."""
    for number, tokens in enumerate(prompts):
        conversation = Conversation(model, **sampling | {"seed": sampling["seed"] + number})
        for _ in range(most):
            token = conversation.read(tokens)
            if token in facts.eos:
                break
            yield number, token
            if conversation.position == facts.context:
                break
            tokens = [token]


def together(model, facts, prompts, most, sampling):
    """The same, in slots: a prompt that waits takes the next slot that is free."""
    slots, waiting = Slots(model, facts.batch), list(enumerate(prompts))[::-1]
    numbers, last, made = {}, {}, [0] * len(prompts)  # number and last token of the text in each slot
    while waiting or numbers:
        came = slots.step(last) if last else {}
        for slot in range(facts.batch):
            if waiting and slot not in numbers:
                numbers[slot], tokens = waiting.pop()
                came[slot] = slots.begin(slot, tokens, **sampling | {"seed": sampling["seed"] + numbers[slot]})
        for slot, token in came.items():
            number, last[slot] = numbers[slot], token
            made[number] += 1
            ends = token in facts.eos
            if not ends:
                yield number, token
            if ends or made[number] == most or slots.texts[slot]["position"] == facts.context:
                del numbers[slot], last[slot]


class Text:
    """The text of an answer as it grows: whole characters."""

    def __init__(self, tokenizer, tokens):
        self.tokenizer, self.ids, self.shown = tokenizer, list(tokens), tokenizer.decode(tokens)

    def add(self, token):
        self.ids.append(token)
        return "" if self.tokenizer.decode(self.ids).endswith("\ufffd") else self.rest()  # a character is incomplete

    def rest(self):
        text = self.tokenizer.decode(self.ids)
        added, self.shown = text[len(self.shown):], text
        return added


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive")
    parser.add_argument("prompts", nargs="+", metavar="PROMPT")
    parser.add_argument("--tokenizer")
    parser.add_argument("--device", default="cpu", help="of those that 'tern devices' lists (cpu)")
    parser.add_argument("--max-tokens", type=int, default=100)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--top-k", type=int, default=0)
    parser.add_argument("--top-p", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0, help="of the first prompt; the next has one more (0)")
    a = parser.parse_args()
    if a.max_tokens < 1:
        parser.error("--max-tokens counts from 1")
    model, tokenizer = tern.load(a.archive, device=a.device), tokenizer_of(a.tokenizer)
    facts = Facts(model.metadata)
    prompts = [tokenizer.encode(p) for p in a.prompts]
    if facts.bos is not None:
        prompts = [p if p[:1] == [int(facts.bos)] else [int(facts.bos), *p] for p in prompts]
    if not all(prompts):
        sys.exit("generate.py: the prompt has no tokens")
    sampling = {"temperature": a.temperature, "top_k": a.top_k, "top_p": a.top_p, "seed": a.seed}
    texts = [Text(tokenizer, p) for p in prompts]
    answers = (together if facts.batch else one_by_one)(model, facts, prompts, a.max_tokens, sampling)
    if len(prompts) == 1:
        print(a.prompts[0], end="", flush=True)
        for number, token in answers:
            print(texts[0].add(token), end="", flush=True)
        print(texts[0].rest())  # an answer may end inside a character
        return
    whole = list(a.prompts)  # shown at the end, because all texts grow together
    for number, token in answers:
        whole[number] += texts[number].add(token)
    for number, text in enumerate(whole):
        print(text + texts[number].rest())


if __name__ == "__main__":
    try:
        main()
    except tern.Error as error:
        sys.exit(f"generate.py: {error}")
