#!/usr/bin/env python3
"""Archives that generate tokens: `tern export --llm` of examples/generate and the program of the tutorial, and the C++ example.
Tokens and logits are compared with those of transformers' generate(). Standard library alone.

  generate.py --build FOLDER"""
import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

from checks import Checks

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
HERE = EXAMPLES / "generate"
FORMATS = {"I64": ("q", 8), "F32": ("f", 4)}


def write_safetensors(path, tensors):
    """{name: (dtype, sizes, numbers)}"""
    header, data = {}, b""
    for name, (dtype, sizes, numbers) in tensors.items():
        part = struct.pack(f"<{len(numbers)}{FORMATS[dtype][0]}", *numbers)
        header[name] = {"dtype": dtype, "shape": sizes, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header, data = json.loads(raw[8:8 + size]), raw[8 + size:]
    result = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        letter, width = FORMATS[entry["dtype"]]
        begin, end = entry["data_offsets"]
        result[name] = struct.unpack(f"<{(end - begin) // width}{letter}", data[begin:end])
    return result


class Generation(Checks):
    def __init__(self, build, folder):
        super().__init__(build / "tern", folder)
        self.program = build / "generate_text"
        self.expected = json.loads((HERE / "expected.json").read_text())
        self.archive = self.export("seabirds", HERE / "seabirds.pt2", "--bos", 1, "--eos", 2, "--verify")

    def export(self, name, pt2, *options):
        path = self.folder / f"{name}.tern"
        done = self.run("export", pt2, "-o", path, "--llm", *options)
        self.check(f"export {name}", done.returncode == 0, done.stderr)
        return path

    def generate(self, *words, archive=None):
        done = subprocess.run([self.program, archive or self.archive, *map(str, words)], capture_output=True, text=True)
        return done.stdout, done.stderr, done.returncode

    def tokens(self, ids, *options, archive=None):
        """Of the answer to a prompt of ids."""
        out, err, status = self.generate(",".join(map(str, ids)), "--no-bos", *options, archive=archive)
        if status != 0:
            return err
        return [int(word) for word in out.split()[1:]]

    def archive_tells(self):
        done = self.run("inspect", self.archive, "--json")
        facts = dict(json.loads(done.stdout)["metadata"]) if done.returncode == 0 else {}
        for key, value in {"llm": "1", "llm.context": "272", "llm.vocabulary": "160", "llm.bos": "1", "llm.eos": "2"}.items():
            self.check(f"metadata {key}", facts.get(key) == value, facts)

    def greedy(self):
        # Another archive, without end token, as for the expected answers.
        endless = self.export("endless", HERE / "seabirds.pt2")
        for answer in self.expected:
            got = self.tokens(answer["ids"], "--max-tokens", 24, archive=endless)
            self.check(f"transformers' tokens: {answer['prompt'][:40]}", got == answer["tokens"], f"{got} {answer['tokens']}")
        got = self.generate(",".join(map(str, self.expected[3]["ids"])), "--no-bos", archive=endless)
        words = [",".join(map(str, self.expected[0]["ids"])), "--no-bos", "--max-tokens", 24]
        once, (out, err, _) = self.generate(*words)[0], self.generate(*words, "--time", "--repeat", 3)
        self.check("repeated answers are timed and shown once", out == once and err.count("tokens a second") == 3, out + err)
        self.check("the answer ends where the cache is full", "cache of 272 positions is full" in got[1], got[1])

    def logits(self):
        for answer in self.expected:
            ids, made = answer["ids"], answer["tokens"]
            for step, right in answer["logits"].items():
                # All tokens so far in a single run: equal only if prefill reproduces the steps of generate().
                tokens = ids + made[:int(step)]
                self.same_logits(f"logits of step {step}: {answer['prompt'][:40]}", tokens, right)

    def same_logits(self, name, tokens, right):
        given, result = self.folder / "in.safetensors", self.folder / "out.safetensors"
        write_safetensors(given, {"tokens": ("I64", [1, len(tokens)], tokens), "position": ("I64", [1], [0]),
                                  "temperature": ("F32", [], [0.0]), "top_k": ("I64", [], [0]), "top_p": ("F32", [], [1.0])})
        done = self.run("run", self.archive, "--function", "prefill", "-i", given, "-o", result)
        if done.returncode != 0:
            return self.check(name, False, done.stderr)
        got = read_safetensors(result)["logits"]
        error = max(abs(a - b) for a, b in zip(got, right))
        self.check(name, len(got) == len(right) and error < 2e-4, f"differ by {error}")

    def text(self):
        """Where the example was built with SentencePiece."""
        tokenizer = HERE / "tokenizer.model"
        first = self.expected[0]
        out, err, _ = self.generate("--tokenizer", tokenizer, "--max-tokens", 24, first["prompt"])
        if "without SentencePiece" in err:
            return
        self.check("text", out.strip() == first["text"].strip(), out + err)
        several = [a["prompt"] for a in self.expected[:3]]
        options = ["--tokenizer", tokenizer, "--max-tokens", 30, "--temperature", 0.9, "--top-k", 20, "--top-p", 0.95]
        together = self.generate(*options, "--seed", 5, *several)[0]
        alone = "".join(self.generate(*options, "--seed", 5 + i, p)[0] for i, p in enumerate(several))
        self.check("prompts at once answer as they do alone", together == alone, together + alone)
        other = self.generate(*options, "--seed", 99, *several)[0]
        self.check("another seed gives another answer", other != together, other)
        self.check("every sentence is of birds", all(self.is_sentence(s) for s in together.split(".")[:-1]), together)

    def is_sentence(self, text):
        return any(bird in text for bird in ("tern", "gull", "gannet", "puffin", "petrel", "albatross"))

    def formats(self):
        """Quantized weights and bfloat16 answer with tokens of the model, mostly the same ones."""
        answer = self.expected[0]
        for name, options in {"int8": ["--quantize", "int8"], "int4": ["--quantize", "int4"],
                              "int4_narrow": ["--quantize", "int4", "--scales", "bfloat16"],
                              "bfloat16": ["--precision", "bfloat16"]}.items():
            archive = self.export(name, HERE / "seabirds.pt2", *options, "--verify")
            got = self.tokens(answer["ids"], "--max-tokens", 24, archive=archive)
            self.check(f"{name} answers", len(got) == 24 and all(0 <= t < 160 for t in got), got)
            agreeing, all_tokens = self.agreement(archive)
            self.check(f"{name} continues as float32 does", 4 * agreeing >= 3 * all_tokens,
                       f"{agreeing} of {all_tokens} next tokens")

    def agreement(self, archive):
        """Counts next tokens equal to transformers' float32 answer, each after the right beginning."""
        steps = [(a["ids"] + a["tokens"][:i], a["tokens"][i]) for a in self.expected for i in range(0, 12, 2)]
        return sum(self.tokens(ids, "--max-tokens", 1, archive=archive) == [right] for ids, right in steps), len(steps)

    def slots(self):
        """Several texts in one session answer as they do alone, whatever their slots, lengths and neighbours."""
        one = self.export("endless", HERE / "seabirds.pt2")
        batched = self.export("slots", HERE / "seabirds.pt2", "--batch", 3, "--verify")
        facts = dict(json.loads(self.run("inspect", batched, "--json").stdout)["metadata"])
        self.check("metadata of slots", (facts.get("llm"), facts.get("llm.batch")) == ("2", "3"), facts)
        # More prompts than slots, of different lengths: waiting prompts take freed slots.
        prompts = [",".join(map(str, a["ids"])) for a in self.expected]
        out, err, _ = self.generate(*prompts, "--no-bos", "--max-tokens", 24, archive=batched)
        right = [a["tokens"] for a in self.expected]
        got = [[int(word) for word in line.split()[1:]] for line in out.splitlines()]
        self.check("transformers' tokens in slots", got == right, f"{got} {err}")
        drawn = ["--no-bos", "--max-tokens", 60, "--temperature", 0.9, "--top-k", 30, "--top-p", 0.95, "--seed", 4]
        for name, options in {"float32": [], "int8": ["--quantize", "int8"], "int4": ["--quantize", "int4"],
                              "bfloat16": ["--precision", "bfloat16"]}.items():
            alone, slots = one, batched
            if options:
                alone, slots = (self.export(f"{name}_{n}", HERE / "seabirds.pt2", *options, *more)
                                for n, more in (("one", ()), ("slots", ("--batch", 3))))
            for kind, words in {"greedy": ["--no-bos", "--max-tokens", 60], "drawn": drawn}.items():
                a, b = (self.generate(*prompts, *words, archive=x)[0] for x in (alone, slots))
                self.check(f"{name} in slots, {kind}", a == b and a, f"{a}\n{b}")
        full = self.generate(*prompts, "--no-bos", "--max-tokens", 300, archive=batched)
        self.check("caches of all slots are filled", full[1].count("cache of 272 positions is full") == len(prompts), full[1])
        self.check("as one text's are", full[0] == self.generate(*prompts, "--no-bos", "--max-tokens", 300, archive=one)[0])
        out, err, status = self.generate(prompts[0], "1,160", prompts[1], "--no-bos", "--max-tokens", 24, archive=batched)
        self.check("a wrong prompt among others", status == 1 and "ids are 0 to 159" in err, err)
        self.check("the others go on", [int(w) for w in out.splitlines()[0].split()[1:]] == right[0], out)
        again = self.generate(prompts[0], "1,160", "--no-bos", "--max-tokens", 4, "--repeat", 4, archive=batched)[0]
        self.check("a wrong prompt is shown once", len(again.splitlines()) == 2, again)
        timed = self.generate(*prompts[:3], "--no-bos", "--max-tokens", 24, "--time", archive=batched)[1]
        self.check("three texts in each run", "together: 69 tokens in 23 runs of decode" in timed, timed)
        size = {a: a.stat().st_blocks for a in (one, batched)}
        self.check("slots take no room in the file", size[batched] * 512 - size[one] * 512 < 128 << 10, size)
        self.slots_tutorial()
        self.slots_errors(batched)

    def slots_tutorial(self):
        """Learned positions, and logits of all tokens."""
        archive = self.export("tutorial_slots", EXAMPLES / "tutorial/tutorial.pt2", "--eos", 10, "--batch", 2)
        lines = (EXAMPLES / "tutorial/expected.txt").read_text().splitlines()
        out, err, _ = self.generate("--tokenizer", "bytes", *[line.split()[0] for line in lines], archive=archive)
        self.check("the tutorial's sentences in slots", out.splitlines() == lines, out + err)

    def slots_errors(self, archive):
        right = {"slot": [0, 1], "tokens": [5, 6], "position": [0, 0], "temperature": [0.0, 0.0], "top_k": [0, 0],
                 "top_p": [1.0, 1.0], "seed": [0, 0], "draw": [0, 0]}
        for name, changed, message in [
                ("right", {}, ""),
                ("slot twice", {"slot": [1, 1]}, "slot names one slot twice"),
                ("no such slot", {"slot": [0, 3]}, "outside 0 to 2"),
                ("negative slot", {"slot": [-1, 0]}, "outside 0 to 2"),
                ("position of one text", {"position": [0, 272]}, "the cache is full"),
                ("token of one text", {"tokens": [5, 160]}, "ids are 0 to 159"),
                ("temperature of one text", {"temperature": [0.0, -1.0]}, "temperature must be"),
                ("too many texts", {k: v * 2 for k, v in right.items()}, "must be between 1 and 3")]:
            given = right | changed
            file, n = self.folder / "in.safetensors", len(given["slot"])
            write_safetensors(file, {k: ("F32" if k in ("temperature", "top_p") else "I64", [n, 1] if k == "tokens" else [n], v)
                                     for k, v in given.items()})
            done = self.run("run", archive, "--function", "decode", "-i", file, "-o", self.folder / "o.npz")
            fits = message in done.stderr and (done.returncode == 0) == (not message)
            self.check(f"decode in slots: {name}", fits, done.stderr)
        for words, message in [(["--batch", 1], "from 2 to 4096"), (["--batch", 5000], "from 2 to 4096")]:
            done = self.run("export", HERE / "seabirds.pt2", "--llm", *words, "-o", self.folder / "none.tern")
            self.check(" ".join(map(str, words)), done.returncode != 0 and message in done.stderr, done.stderr)
        done = self.run("export", HERE / "seabirds.pt2", "--batch", 4, "-o", self.folder / "none.tern")
        self.check("--batch without --llm", done.returncode != 0 and "need --llm" in done.stderr, done.stderr)

    def tutorial(self):
        """A program that was not exported from transformers: its position is named start, its logits are of all tokens."""
        archive = self.export("tutorial", EXAMPLES / "tutorial/tutorial.pt2", "--eos", 10)
        lines = (EXAMPLES / "tutorial/expected.txt").read_text().splitlines()
        out, err, _ = self.generate("--tokenizer", "bytes", *[line.split()[0] for line in lines], archive=archive)
        self.check("the tutorial's sentences", out.splitlines() == lines, out + err)

    def errors(self):
        digits = self.folder / "digits.tern"
        self.run("export", EXAMPLES / "digits/digits.pt2", "-o", digits)
        rows = ",".join(["5"] * 272)
        for name, words, archive, message in [
                ("no archive of --llm", ["1,5"], digits, "does not generate tokens"),
                ("top_p of 0", ["1,5", "--top-p", 0], None, "top_p must be above 0 and at most 1"),
                ("negative top_k", ["1,5", "--top-k", -1], None, "top_k must be 0 or more"),
                ("negative temperature", ["1,5", "--temperature", -1], None, "temperature must be a finite number from 0"),
                ("unknown token", ["1,160"], None, "ids are 0 to 159"),
                ("negative token", ["1,-3"], None, "ids are 0 to 159"),
                ("no token", ["", "--no-bos"], None, "the prompt has no tokens"),
                ("long prompt", [rows], None, "the cache holds 272"),
                ("negative threads", ["1,5", "--threads", -1], None, "from 0 to 1024"),
                ("no text without a tokenizer", ["The tern"], None, "--tokenizer FILE"),
                ("no tokenizer", ["x", "--tokenizer", digits], None, "SentencePiece")]:
            out, err, status = self.generate(*words, archive=archive)
            self.check(name, status in (1, 2) and message in err, out + err)
        for name, words, message in [
                ("export of no decoder", [EXAMPLES / "digits/digits.pt2", "--llm"], "does not have the shape [1, n]"),
                ("unknown eos", [HERE / "seabirds.pt2", "--llm", "--eos", 160], "ids are 0 to 159"),
                ("token ids of no JSON", [HERE / "seabirds.pt2", "--llm", "--token-ids", HERE / "make.py"], "not a JSON object"),
                ("options without --llm", [HERE / "seabirds.pt2", "--eos", 2], "need --llm"),
                ("training", [HERE / "seabirds.pt2", "--llm", "--train"], "cannot be combined with --train")]:
            done = self.run("export", *words, "-o", self.folder / "none.tern")
            self.check(name, done.returncode != 0 and message in done.stderr, done.stderr)
        full = self.prefill_error([3] * 5, 268)
        self.check("full cache", "the cache is full" in full and "272" in full, full)
        huge = self.prefill_error([3] * 5, 2**63 - 2)
        self.check("huge position", "the cache is full" in huge, huge)
        self.check("position below 0", "position not negative" in self.prefill_error([3], -1))
        self.check("no tokens", "at least one token" in self.prefill_error([], 0), self.prefill_error([], 0))

    def prefill_error(self, tokens, position):
        given = self.folder / "in.safetensors"
        write_safetensors(given, {"tokens": ("I64", [1, len(tokens)], tokens), "position": ("I64", [1], [position]),
                                  "temperature": ("F32", [], [0.0]), "top_k": ("I64", [], [0]), "top_p": ("F32", [], [1.0])})
        return self.run("run", self.archive, "--function", "prefill", "-i", given, "-o", self.folder / "o.npz").stderr

    def token_ids(self):
        """Of transformers' generation_config.json, with one or several ends."""
        file = self.folder / "generation_config.json"
        file.write_text(json.dumps({"bos_token_id": 1, "eos_token_id": [2, 7], "transformers_version": "5.24.0"}))
        archive = self.export("ids", HERE / "seabirds.pt2", "--token-ids", file)
        facts = dict(json.loads(self.run("inspect", archive, "--json").stdout)["metadata"])
        self.check("ids of a file", (facts.get("llm.bos"), facts.get("llm.eos")) == ("1", "2, 7"), facts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    with tempfile.TemporaryDirectory() as folder:
        g = Generation(parser.parse_args().build.resolve(), pathlib.Path(folder))
        for step in (g.archive_tells, g.greedy, g.logits, g.text, g.formats, g.slots, g.tutorial, g.errors, g.token_ids):
            step()
    print(f"{g.passed} passed, {g.failed} failed")
    sys.exit(g.failed > 0)


if __name__ == "__main__":
    main()
