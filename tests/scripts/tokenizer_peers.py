#!/usr/bin/env python3
"""Compares libtern_text with PyPI's tokenizers: ids, decoded text and streams of many lines.

usage: PYTHON tests/scripts/tokenizer_peers.py [--library build/libtern_text.so] [--lines 100000] [--streams 2000] TOKENIZER_JSON...

Lines mix scripts, random bytes, emoji, special tokens and the pages of docs/. The Python needs the package tokenizers. Exit
status 1 if a line differs that consists of characters older than Unicode 14; later ones depend on the libraries' versions.
Not part of the gate, which compares the lines of tests/data/text.
"""
import argparse
import ctypes
import pathlib
import random
import sys
import time
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCKS = [(0x20, 0x7E), (0x41, 0x5A), (0x61, 0x7A), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x4FF), (0x530, 0x5FF), (0x600, 0x6FF), (0x900, 0x97F),
          (0x980, 0x9FF), (0xB80, 0xBFF), (0xE00, 0xE7F), (0xF00, 0xFFF), (0x1000, 0x137F), (0x1780, 0x18AF), (0x1E00, 0x1FFF), (0x2000, 0x2BFF), (0x3000, 0x30FF),
          (0x3130, 0x318F), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFDFF), (0xFE00, 0xFFEF), (0x1D400, 0x1D7FF), (0x1F300, 0x1F6FF), (0x20000, 0x2A6DF)]
PIECES = ["👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u0301", "\r\n", "ﬁ", "İ", "ß", "  ", "\t", "\n\n", "'s", "don't", "1234567", "<|endoftext|>", "<s>", "</s>", "<think>", "[MASK]",
          "<0x41>", "▁", "Ġ", "\x00", "\ufeff", "\u200d", "“quoted”", "…", "https://x.y/z?a=1&b=2"]


def lines(count):
    rng = random.Random(3)
    docs = [line for path in sorted((ROOT / "docs").glob("*.md")) for line in path.read_text(encoding="utf8").split("\n")]
    for _ in range(count):
        kind = rng.random()
        if kind < 0.3:
            yield rng.choice(docs)
        elif kind < 0.6:
            block = rng.choice(BLOCKS)
            yield " ".join("".join(chr(rng.randint(*block)) for _ in range(rng.randint(1, 8))) for _ in range(rng.randint(1, 8)))
        elif kind < 0.75:
            yield "".join(chr(rng.randint(*rng.choice(BLOCKS))) for _ in range(rng.randint(0, 40)))
        elif kind < 0.87:
            yield bytes(rng.randrange(256) for _ in range(rng.randint(0, 60))).decode("utf8", "replace")
        else:
            yield "".join(rng.choice(PIECES) if rng.random() < 0.5 else rng.choice(docs)[: rng.randint(0, 12)] for _ in range(rng.randint(1, 8)))


class Text:
    """The C interface (tern/text_c.h)."""

    def __init__(self, library, path):
        self.lib = ctypes.CDLL(str(library))
        self.lib.tern_text_last_error.restype = ctypes.c_char_p
        self.tokenizer = ctypes.c_void_p()
        self.check(self.lib.tern_tokenizer_open(str(path).encode(), ctypes.byref(self.tokenizer)))
        self.seconds = 0.0

    def check(self, status):
        if status:
            raise RuntimeError(self.lib.tern_text_last_error().decode())

    def encode(self, text):
        data, count = text.encode(), ctypes.c_size_t()
        ids = (ctypes.c_int64 * (2 * len(data) + 64))()
        begin = time.perf_counter()
        self.check(self.lib.tern_tokenizer_encode(self.tokenizer, data, ctypes.c_size_t(len(data)), 3, ids, ctypes.c_size_t(len(ids)), ctypes.byref(count)))
        self.seconds += time.perf_counter() - begin
        return list(ids[: count.value])

    def decode(self, ids, skip):
        size, room = ctypes.c_size_t(), 64 * len(ids) + 4096
        text, array = ctypes.create_string_buffer(room), (ctypes.c_int64 * len(ids))(*ids)
        self.check(self.lib.tern_tokenizer_decode(self.tokenizer, array, ctypes.c_size_t(len(ids)), int(skip), text, ctypes.c_size_t(room), ctypes.byref(size)))
        return text.raw[: size.value].decode()

    def stream(self, ids):
        stream, text, size, out = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t(), b""
        self.check(self.lib.tern_text_stream_create(self.tokenizer, None, ctypes.c_size_t(0), 1, ctypes.byref(stream)))
        for token in ids:
            self.check(self.lib.tern_text_stream_add(stream, ctypes.c_int64(token), ctypes.byref(text), ctypes.byref(size)))
            out += ctypes.string_at(text.value, size.value)
        self.check(self.lib.tern_text_stream_finish(stream, ctypes.byref(text), ctypes.byref(size)))
        out += ctypes.string_at(text.value, size.value)
        self.lib.tern_text_stream_free(stream)
        return out.decode()


def is_old(line):
    """True if Python's Unicode (14 in Python 3.11), PCRE2 and utf8proc know all characters."""
    return all(unicodedata.category(c) != "Cn" for c in line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", default=ROOT / "build/libtern_text.so")
    parser.add_argument("--lines", type=int, default=100000)
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("tokenizers", nargs="+")
    arguments = parser.parse_args()
    from tokenizers import Tokenizer

    texts, failed = list(lines(arguments.lines)), False
    size = sum(len(line.encode()) for line in texts)
    for path in arguments.tokenizers:
        ours, theirs = Text(arguments.library, path), Tokenizer.from_file(path)
        theirs.no_truncation()
        theirs.no_padding()
        wrong, newer, shown, seconds = 0, 0, 0, 0.0
        for i, line in enumerate(texts):
            begin = time.perf_counter()
            expected = theirs.encode(line).ids
            seconds += time.perf_counter() - begin
            ids = ours.encode(line)
            same = ids == expected and ours.decode(ids, True) == theirs.decode(ids) and ours.decode(ids, False) == theirs.decode(ids, skip_special_tokens=False)
            if same and i < arguments.streams:
                same = ours.stream(ids) == theirs.decode(ids)
            if same:
                continue
            if not is_old(line):
                newer += 1
                continue
            wrong += 1
            if shown < 3:
                shown += 1
                print("  differs:", ascii(line)[:200], ids[:20], expected[:20])
        failed = failed or wrong > 0
        print(f"{path}: {len(texts)} lines, {wrong} differ, {newer} with unassigned characters; {size / ours.seconds / 1e6:.2f} MB/s, tokenizers {size / seconds / 1e6:.2f} MB/s", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
