#!/usr/bin/env python3
"""examples/search against what PyPI's tokenizers and PyTorch gave (examples/search/tiny/expected.json).

  search.py --tern TERN --examples FOLDER       FOLDER has the programs search and tokens; ends with `N passed, N failed`
"""
import argparse
import array
import ast
import json
import math
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

from checks import Checks

HERE = pathlib.Path(__file__).resolve().parents[2] / "examples/search"
# Effect of the order of float32 sums, for values up to 1: PyTorch's own threads change as much.
TOLERANCE = 2e-6
# PyTorch traced several results for several queries.
ANY_NUMBER = ["--ignore-guard", "k != 1", "--ignore-guard", "k*queries.shape[0] >= 2"]


def read_npy(path):
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    rows, width = ast.literal_eval(data[10:10 + length].decode())["shape"]
    numbers = array.array("f", data[10 + length:])
    return [numbers[i * width:(i + 1) * width] for i in range(rows)]


def largest(a, b):
    """The largest difference; infinite where one is NaN or sizes differ."""
    if len(a) != len(b) or any(len(x) != len(y) for x, y in zip(a, b)):
        return math.inf
    found = [abs(x - y) for r, s in zip(a, b) for x, y in zip(r, s)]
    return max(math.inf if d != d else d for d in found)


class Search:
    def __init__(self, program, model):
        self.program, self.model = program, model

    def __call__(self, *args):
        return subprocess.run([self.program, "--model", self.model, *args], capture_output=True, text=True, check=False)

    def json(self, *args):
        done = self(*args, "--json")
        if done.returncode:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tern", required=True)
    parser.add_argument("--examples", required=True)
    args = parser.parse_args()
    counts = Checks(args.tern, None)
    checks = counts.check
    expected = json.loads((HERE / "tiny/expected.json").read_text())
    corpus = str(HERE / "corpus.txt")
    with tempfile.TemporaryDirectory() as work:
        shutil.copy(HERE / "tiny/vocab.txt", work)
        subprocess.run([args.tern, "export", HERE / "tiny/search.pt2", "-o", f"{work}/search.tern", *ANY_NUMBER], check=True, stdout=subprocess.DEVNULL)
        search = Search(f"{args.examples}/search", work)

        texts = "".join(json.dumps(s["text"]) + "\n" for s in expected["strings"])
        done = subprocess.run([f"{args.examples}/tokens", f"{work}/vocab.txt", str(expected["limit"])], input=texts, text=True,
                              stdout=subprocess.PIPE, check=False)
        lines = done.stdout.splitlines()
        checks("a line of numbers for each text", len(lines) == len(expected["strings"]))
        for line, s in zip(lines, expected["strings"]):
            checks(f"tokens of {s['text']!r}", json.loads(line) == s["ids"], f"{line} instead of {s['ids']}")

        found = search.json(corpus, *(q["text"] for q in expected["queries"]), "--save", f"{work}/all.npy")
        vectors = read_npy(f"{work}/all.npy")
        difference = largest(vectors, expected["corpus"])
        checks("embeddings are PyTorch's", difference <= TOLERANCE, f"differ by {difference}")
        for got, want in zip(found, expected["queries"]):
            checks(f"rows of {want['text']!r}", got["rows"] == want["rows"], f"{got['rows']}")
            checks(f"cosines of {want['text']!r}", largest([got["cosines"]], [want["cosines"]]) <= TOLERANCE, f"{got['cosines']}")

        # Batches, their padding and their order change nothing but roundings.
        backwards = pathlib.Path(work, "backwards.txt")
        backwards.write_text("\n\n".join(reversed(pathlib.Path(corpus).read_text().splitlines())))
        search.json(str(backwards), "x", "--save", f"{work}/backwards.npy")
        checks("lines in another order", largest(read_npy(f"{work}/backwards.npy")[::-1], vectors) <= TOLERANCE)
        one = pathlib.Path(work, "one.txt")
        one.write_text(pathlib.Path(corpus).read_text().splitlines()[9] + "\r\n")
        few = search.json(str(one), "x", "--top", "9", "--save", f"{work}/one.npy")
        checks("a line alone", largest(read_npy(f"{work}/one.npy"), vectors[9:10]) <= TOLERANCE)
        checks("no more results than lines", few[0]["rows"] == [0])
        text = search(corpus, "Water", "--top", "1").stdout.splitlines()
        checks("results as text", len(text) == 2 and text[0] == "Water" and text[1].endswith(pathlib.Path(corpus).read_text().splitlines()[47]))

        empty = pathlib.Path(work, "empty.txt")
        empty.write_text("\n \n")
        for name, bad, message in (("no file", ["/nowhere", "x"], "cannot read /nowhere"), ("no lines", [str(empty), "x"], "has no sentences"),
                                   ("no query", [corpus], "QUERY is required"), ("an output that cannot be", [corpus, "x", "--save", "/nowhere/x.npy"], "cannot write")):
            done = search(*bad)
            checks(f"{name} is an error", done.returncode not in (0, -11, -6) and message in done.stderr, done.stderr)
        broken = Search(search.program, str(HERE))(corpus, "x")
        checks("a folder without a model is an error", broken.returncode == 1 and "search.tern" in broken.stderr, broken.stderr)
        pathlib.Path(work, "vocab.txt").write_text("a\nb\n")
        checks("another vocabulary is an error", "no vocabulary of BERT" in search(corpus, "x").stderr)
    print(f"{counts.passed} passed, {counts.failed} failed")
    sys.exit(counts.failed > 0)


if __name__ == "__main__":
    main()
