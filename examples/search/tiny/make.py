#!/usr/bin/env python3
"""Makes the small model that the tests run, and what PyPI's tokenizers and PyTorch give of it, in this folder.

Needs torch, transformers and tokenizers. The weights are random; the vocabulary is of ../corpus.txt.
"""
import json
import os
import pathlib
import sys
import tempfile

import tokenizers
import torch
from transformers import BertConfig, BertModel

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import make  # noqa: E402

WIDTH, POSITIONS = 16, 48
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# Additional characters missing in the corpus: punctuation, Greek, Cyrillic, Hebrew, Jamo, kana, ideographs, emoji.
OTHER = [*"!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~0123456789abcdefghijklmnopqrstuvwxyz", *"αβγσςω", *"аийю", *"אב", *"ᄀᄒ", *"かカー",
         *"中文字", "。", "—", "…", "“", "”", "€", "©", "ß", "ı", "ø", "🙂", "🦭", "ð"]
STRINGS = [
    "", " ", "\t\n\r", "a", "The arctic tern", "THE ARCTIC TERN", "water's edge", "re-read well-known e.g. 3.14% of $5,000",
    "crème brûlée à la carte", "Åland naïve façade Übergröße", "e\u0301e\u0301 \u0301 a\u0327\u0301b", "İstanbul ısı DIŞ", "Straße ǅ ﬁne",
    "中文字 and 文", "日本語かカー", "한국어 한글", "αβγς ΑΣΩ", "йод Юла", "אב גד", "𠀀𪜀\U0002b820\U0002b920 豈\U0002f800",
    "🙂🦭 👩‍🔬 🇮🇸", "a\u200bb a\u00adb a\ufeffb", "a\u00a0b\u2003c\u3000d\u2028e", "nul\0here \ufffd", "\x07bell\x7f", "a" * 100, "a" * 101,
    "water" * 20 + " water", "q\u0301uestion", "[MASK] [CLS][SEP] [mask] [MAS [PAD]]", "[[UNK]]", "tab\tand\nline", "—dash…dots “quoted”",
    "€5 ©2020", "x² ½ Ⅳ ①", "\u061d a\u1734b a\u166db a\u1abfb \u2e43", "Z\u0335\u0327\u0301a\u302eb", "\ue000private\U000e0001tag", "ðøß",
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "one " * 60, "snow\u2603man", "\u1100\u1161\u11a8", "ΌΣΟΣ", "ﷺ", "a\u0345b",
]
QUERIES = ["birds that fly far", "planets and moons", "How is bread made?", "Water"]


def vocabulary(lines):
    tokenizer = tokenizers.BertWordPieceTokenizer(lowercase=True)
    tokenizer.train_from_iterator(lines, vocab_size=400, min_frequency=2, limit_alphabet=64, special_tokens=SPECIAL,
                                  show_progress=False)
    trained = tokenizer.get_vocab()
    return list(dict.fromkeys([*SPECIAL, *sorted(set(trained) - set(SPECIAL), key=trained.get), *OTHER, *("##" + c for c in OTHER if c.isalnum())]))


def embeddings(embed, tokenizer, lines):
    encoded = [tokenizer.encode(line).ids for line in lines]
    longest = max(map(len, encoded))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in encoded])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in encoded])
    with torch.no_grad():
        return embed(ids, mask)


def main():
    lines = (HERE.parent / "corpus.txt").read_text().splitlines()
    vocab = vocabulary(lines)
    (HERE / "vocab.txt").write_text("".join(f"{piece}\n" for piece in vocab))
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(vocab), hidden_size=WIDTH, num_hidden_layers=1, num_attention_heads=4,
                        intermediate_size=2 * WIDTH, max_position_embeddings=POSITIONS, initializer_range=0.3)
    embed = make.Embed(BertModel(config, add_pooling_layer=False)).eval()
    os.chdir(tempfile.mkdtemp())  # a .pt2 stores the folder of its script
    make.write(embed, "search.pt2")
    (HERE / "search.pt2").write_bytes(pathlib.Path("search.pt2").read_bytes())

    tokenizer = tokenizers.BertWordPieceTokenizer(str(HERE / "vocab.txt"), lowercase=True)
    tokenizer.enable_truncation(POSITIONS)
    corpus, queries = embeddings(embed, tokenizer, lines), embeddings(embed, tokenizer, QUERIES)
    cosines, rows = torch.topk(queries @ corpus.mT, 5, dim=1)
    numbers = lambda tensor: [[float(f"{x:.9g}") for x in row] for row in tensor.tolist()]
    expected = {
        "made by": f"torch {torch.__version__.split('+')[0]}, tokenizers {tokenizers.__version__}",
        "limit": POSITIONS,
        "strings": [{"text": text, "ids": tokenizer.encode(text).ids} for text in STRINGS],
        "corpus": numbers(corpus),
        "queries": [{"text": q, "rows": r, "cosines": c} for q, r, c in zip(QUERIES, rows.tolist(), numbers(cosines))],
    }
    text = json.dumps(expected, ensure_ascii=True, indent=None, separators=(",", ":"))
    (HERE / "expected.json").write_text(text.replace('{"text"', '\n{"text"').replace("],[", "],\n[") + "\n")


main()
