#!/usr/bin/env python3
"""Trains small tokenizers with the configurations of well-known models, encodes lines with PyPI's tokenizers, and writes
tokenizers/NAME.json and tokenizers/lines.json.

usage: PYTHON make_tokenizers.py     (needs tokenizers, sentencepiece and protobuf)
"""
import base64
import io
import json
import pathlib
import random

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent
OUT = HERE / "tokenizers"
random.seed(1)
ALPHABETS = [(0x61, 0x7A), (0x41, 0x5A), (0xC0, 0x17F), (0x3B1, 0x3C9), (0x430, 0x44F), (0x5D0, 0x5EA), (0x621, 0x64A), (0x905, 0x939), (0xE01, 0xE2E), (0x3041, 0x3090), (0x4E00, 0x4E80), (0xAC00, 0xAC80), (0x1F600, 0x1F630), (0x30, 0x39)]
PIECES = ["don't", "it's", "WE'LL", "  ", "\t", "\n\n", "\r\n", "ﬁ", "İ", "ß", "e\u0301", "é", "👩‍👩‍👧", "🇩🇪", "👍🏽", "1234567", "½", "<|endoftext|>", "<s>", "</s>", "<think>", "[MASK]", "<0x41>", "▁", "Ġ", "\x00", "\ufeff", "\u200d", "“q”", "…", "x_y", "a-b.c!", "foo", "Baz  ", " bar", "￿", "\u00a0", "日本語", "ไทย"]


def words(count):
    alphabet = random.choice(ALPHABETS)
    return " ".join("".join(chr(random.randint(*alphabet)) for _ in range(random.randint(1, 7))) for _ in range(count))


def lines(count):
    english = [line for name in ("tutorial", "generate", "api") for line in (HERE.parents[2] / f"docs/{name}.md").read_text(encoding="utf8").split("\n") if line]
    out = ["", " ", "a", "Hello, world!", " leading", "trailing  ", "a" * 300, "ab" * 100 + " " * 50 + "\n"]
    while len(out) < count:
        kind = random.random()
        if kind < 0.3:
            out.append(random.choice(english))
        elif kind < 0.55:
            out.append(words(random.randint(1, 6)))
        elif kind < 0.9:
            out.append("".join(random.choice(PIECES) if random.random() < 0.6 else random.choice(english)[:8] for _ in range(random.randint(1, 6))))
        else:
            out.append(bytes(random.randrange(256) for _ in range(random.randint(1, 30))).decode("utf8", "replace"))
    return out


def corpus():
    text = [p.read_text(encoding="utf8") for p in sorted((HERE.parents[2] / "docs").glob("*.md"))[:20]]
    return [line for t in text for line in t.split("\n")] + [words(8) for _ in range(400)]


def byte_level(name, pattern, specials, vocabulary=450, normalizer=None, frame=None, **model):
    t = Tokenizer(models.BPE(**model))
    if normalizer:
        t.normalizer = normalizer
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    t.pre_tokenizer = level if pattern is None else pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), level])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=vocabulary, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=specials, show_progress=False))
    if frame:
        t.post_processor = processors.Sequence([processors.ByteLevel(), processors.TemplateProcessing(single=f"{frame} $A", special_tokens=[(frame, t.token_to_id(frame))])])
    return name, t


BYTES = [f"<0x{i:02X}>" for i in range(256)]


def byte_fallback(name, prefix, decoder, specials):
    t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁")] * prefix + [normalizers.Replace(" ", "▁")])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=700, limit_alphabet=100, special_tokens=specials + BYTES, show_progress=False))
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()] + decoder)
    t.post_processor = processors.TemplateProcessing(single=f"{specials[1]} $A", special_tokens=[(specials[1], t.token_to_id(specials[1]))])
    j = json.loads(t.to_str())
    j["pre_tokenizer"] = None
    j["added_tokens"] = [a for a in j["added_tokens"] if a["content"] not in BYTES]
    return name, Tokenizer.from_str(json.dumps(j))


def word_piece(name, lowercase):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer, t.decoder = normalizers.BertNormalizer(lowercase=lowercase), pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    t.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=900, limit_alphabet=150, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return name, t


def unigram(name, fallback):
    rules = OUT / "rules.tsv"
    rules.write_text("FB01\t66 69\nA0\t20\n9\t20\nBD\t31 2044 32\n130\t49\n65 301\tE9\n")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter([c for c in corpus() if c.strip()]), model_writer=model, vocab_size=600, model_type="unigram", normalization_rule_tsv=str(rules), character_coverage=0.98, hard_vocab_limit=False, minloglevel=2)
    rules.unlink()
    if not fallback:
        (OUT / "unigram.model").write_bytes(model.getvalue())
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    vocabulary = [(p.piece, p.score) for p in proto.pieces] + [(b, 0.0) for b in BYTES if fallback]
    j = json.loads(Tokenizer(models.Unigram(vocabulary, 0, fallback)).to_str())
    charsmap = base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()
    j["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": charsmap}, {"type": "Strip", "strip_left": False, "strip_right": True}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}]}
    space = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    j["pre_tokenizer"], j["decoder"] = space, space
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    j["added_tokens"] = [{"id": 0, "content": "<unk>", **flags}, {"id": 2, "content": "</s>", **flags}, {"id": len(vocabulary), "content": "<extra_id_0>", **flags, "lstrip": True, "rstrip": True, "normalized": True}]
    j["post_processor"] = {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}], "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}], "special_tokens": {"</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]}}}
    return name, Tokenizer.from_str(json.dumps(j))


def word_level(name, normalizer, pre_tokenizer, decoder=None):
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = normalizer, pre_tokenizer
    t.train_from_iterator(corpus(), trainers.WordLevelTrainer(vocab_size=700, special_tokens=["[UNK]"], show_progress=False))
    if decoder:
        t.decoder = decoder
    t.add_tokens([AddedToken("foo", single_word=True), AddedToken(" bar", lstrip=True, normalized=False), AddedToken("Baz", rstrip=True)])
    return name, t


def made():
    contractions = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    rest = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    p = pre_tokenizers
    yield byte_level("gpt2", None, ["<|endoftext|>"])
    yield byte_level("llama3", contractions + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + rest, ["<|begin_of_text|>", "<|eot_id|>"], frame="<|begin_of_text|>", ignore_merges=True)
    yield byte_level("qwen2", contractions + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + rest, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], normalizer=normalizers.NFC())
    yield byte_level("bloom", r" ?[^(\s|[.,!?…。，、।۔،])]+", ["<s>", "</s>"])
    yield byte_fallback("llama2", 1, [decoders.Strip(" ", 1, 0)], ["<unk>", "<s>", "</s>"])
    yield byte_fallback("gemma", 0, [], ["<pad>", "<bos>", "<eos>", "<unk>"])
    yield word_piece("bert", True)
    yield word_piece("bert_cased", False)
    yield unigram("t5", False)
    yield unigram("unigram_bytes", True)
    yield word_level("words", normalizers.NFKC(), p.Sequence([p.Whitespace(), p.Digits(individual_digits=True)]))
    yield word_level("punctuation", normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()]), p.Sequence([p.WhitespaceSplit(), p.Punctuation("contiguous")]))
    yield word_level("scripts", normalizers.Nmt(), p.Sequence([p.UnicodeScripts(), p.WhitespaceSplit()]))
    yield word_level("digits", normalizers.NFKD(), p.Sequence([p.CharDelimiterSplit(" "), p.Digits(), p.Punctuation("merged_with_next")]))
    yield word_level("ctc", normalizers.Strip(), p.Sequence([p.Split(Regex(r"[!-\/&&[^,;]]+"), "merged_with_previous"), p.Split(" ", "removed")]), decoders.CTC(pad_token="a", word_delimiter_token="e"))


def main():
    OUT.mkdir(exist_ok=True)
    texts, results = lines(150), {}
    for name, t in made():
        t.save(str(OUT / f"{name}.json"), pretty=False)
        cases = []
        for text in texts:
            encoding = t.encode(text)
            t.encode_special_tokens = True
            plain = t.encode(text, add_special_tokens=False)
            t.encode_special_tokens = False
            cases.append({"ids": encoding.ids, "plain": plain.ids, "text": t.decode(encoding.ids), "whole": t.decode(encoding.ids, skip_special_tokens=False)})
        results[name] = cases
        print(name, t.get_vocab_size())
    model = sentencepiece.SentencePieceProcessor(model_file=str(OUT / "unigram.model"))
    results["unigram.model"] = [{"plain": model.encode(text), "text": model.decode(model.encode(text))} for text in texts]
    with open(OUT / "lines.json", "w", encoding="utf8") as file:
        json.dump({"lines": texts, "results": results}, file, ensure_ascii=True, separators=(",", ":"))


if __name__ == "__main__":
    main()
