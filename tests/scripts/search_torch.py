#!/usr/bin/env python3
"""examples/search with its real weights against PyPI's tokenizers and PyTorch: run it by a Python that has torch and
transformers.

  search_torch.py FOLDER [--strings N]      FOLDER is what examples/search/make.sh has made; ends with `N passed, N failed`
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import tokenizers
import torch

from checks import Checks
from search import HERE, Search, largest, read_npy

sys.path.insert(0, str(HERE))
import make  # noqa: E402

QUERIES = ["birds that fly far", "planets and moons", "How is bread made?", "electricity from the sun", "animals that hear well",
           "old buildings", "keeping an account safe", "why do boats not sink", "metal", "medicine", "how long people sleep", "mathematics"]
# Character classes with different treatment, and their weights in random strings.
POOLS = [(" ", 4), ("abcdefghijklmnopqrstuvwxyz", 12), ("ABCXYZ", 2), ("0123456789", 2), ("'-.,;:!?()[]{}<>/\\|@#$%^&*_+=~`\"", 2),
         ("éèêëàâäçñöüßøåæœÉÅÑİıŁłđð", 2), ("\u0301\u0308\u0327\u0345\u20dd\u302e", 1), ("αβγςΣΩάώ", 1), ("абвйёЙЇ", 1), ("אבג\u05b0", 1),
         ("中文字日本語豈", 2), ("かがカー゛ｶﾞ", 1), ("한국어\u1100\u1161\u11a8", 1), ("🙂🦭👩🔬🇮🇸", 1), ("\u200b\u200d\u00ad\ufeff\ufe0f", 1),
         ("\u00a0\u2003\u3000\u2028\u2029\t\n\r\x0b\x0c\x85", 1), ("\0\x07\x7f\ufffd\ue000", 1), ("ﬁﷺ½²Ⅳ①ǅK", 1), ("—…“”‘’«»¿¡。、「」", 1)]


def strings(count, seed):
    rng = random.Random(seed)
    words = (HERE / "corpus.txt").read_text().split()
    for _ in range(count):
        if rng.random() < 0.1:  # any characters at all
            yield "".join(chr(c) for c in (rng.randrange(0x110000) for _ in range(rng.randrange(12))) if not 0xD800 <= c < 0xE000)
        else:
            pools = rng.choices([p for p, _ in POOLS], [w for _, w in POOLS], k=rng.randrange(40))
            text = "".join(rng.choice(pool) for pool in pools)
            yield text + rng.choice(["", " [MASK] ", rng.choice(words), "x" * rng.randrange(97, 103)]) + text[:3]
    # Each character of the first planes, between letters.
    for first in range(0, 0x20000, 16):
        yield " ".join(f"a{chr(c)}b" for c in range(first, first + 16) if not 0xD800 <= c < 0xE000)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--strings", type=int, default=100000)
    args = parser.parse_args()
    folder = pathlib.Path(args.folder).resolve()
    counts = Checks(None, None)
    check = counts.check

    tokenizer = tokenizers.BertWordPieceTokenizer(str(folder / "vocab.txt"), lowercase=True)
    texts = list(strings(args.strings, 1))
    done = subprocess.run([folder / "tokens", folder / "vocab.txt", "256"], input="".join(json.dumps(t) + "\n" for t in texts), text=True,
                          stdout=subprocess.PIPE, check=True)
    tokenizer.enable_truncation(256)
    wrong = [t for t, line, want in zip(texts, done.stdout.splitlines(), tokenizer.encode_batch(texts)) if json.loads(line) != want.ids]
    check(f"tokens of {len(texts)} strings", not wrong, f"{len(wrong)} differ: {[ascii(t) for t in wrong[:5]]}")
    print(f"{len(texts)} strings, {len(wrong)} with other tokens")

    lines = (HERE / "corpus.txt").read_text().splitlines()
    embed = make.load(folder / "model")

    def by_torch(sentences, dtype):
        rows = []
        with torch.no_grad():
            for ids in (tokenizer.encode(s).ids for s in sentences):
                rows.append(embed.to(dtype)(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.int64))[0])
        return torch.stack(rows)

    with tempfile.TemporaryDirectory() as work:
        exact = by_torch(lines, torch.float64)
        want, queries = by_torch(lines, torch.float32), by_torch(QUERIES, torch.float32)
        rounding = float((want.double() - exact).abs().max())
        ranking = torch.topk(queries @ want.mT, 5, dim=1).indices.tolist()
        for name, model, limit in ("float32", folder, 1e-6), ("int8", folder / "int8", 0.05):
            search = Search(str(folder / "search"), str(model))
            found = search.json(str(HERE / "corpus.txt"), *QUERIES, "--save", f"{work}/{name}.npy")
            got = torch.tensor([list(row) for row in read_npy(f"{work}/{name}.npy")], dtype=torch.float64)
            error = largest(got.tolist(), exact.tolist())
            cosine = float((got * exact).sum(1).min())
            first = sum(f["rows"][0] == r[0] for f, r in zip(found, ranking))
            same = sum(f["rows"] == r for f, r in zip(found, ranking))
            size = (model / "search.tern").stat().st_size
            print(f"{name}: {size} bytes, embeddings within {error:.1e} of PyTorch's in float64 (PyTorch's own in float32: {rounding:.1e}), "
                  f"least cosine {cosine:.6f}, {first} first places and {same} rankings of {len(QUERIES)} the same")
            check(f"{name}: embeddings", error <= limit, f"{error}")
            check(f"{name}: first places", first >= (len(QUERIES) if name == "float32" else len(QUERIES) - 1), f"{first}")
            if name == "float32":
                check("float32: as close as PyTorch in float32", error <= 3 * rounding, f"{error}, PyTorch {rounding}")
                check("float32: rankings", same == len(QUERIES), f"{same}")
    print(f"{counts.passed} passed, {counts.failed} failed")
    sys.exit(counts.failed > 0)


main()
