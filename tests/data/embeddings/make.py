#!/usr/bin/env python3
"""Makes encoder.pt2, a tiny random BERT of `tern.export_embeddings`, and expected.json, vectors of transformers and of the
formula of each pooling, in float64: make.py, with torch, transformers and the package tern.

The tokenizer is tests/data/text/tokenizers/bert.json.
"""
import json
import pathlib

import tokenizers
import torch
import transformers
from tern._embeddings import embedding_program

HERE = pathlib.Path(__file__).resolve().parent
TOKENIZER = HERE.parent / "text/tokenizers/bert.json"
TEXTS = ["Where do terns nest?", "On a beach.", "", "café, ÉTUDE and naïve words 12345", "a " * 70, "The young puffin flies over the open sea",
         "x", "one two three four five six seven eight nine ten"]
CONTEXT = 24


def main():
    torch.manual_seed(3)
    config = transformers.BertConfig(vocab_size=900, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
                                     max_position_embeddings=32, initializer_range=0.4)
    model = transformers.BertModel(config, add_pooling_layer=False).eval()
    program = embedding_program(model, pooling="mean", context=CONTEXT)
    for node in program.graph.nodes:  # removes the paths of this machine
        node.meta.pop("stack_trace", None)
    torch.export.save(program, HERE / "encoder.pt2")
    tokenizer = tokenizers.Tokenizer.from_file(str(TOKENIZER))
    tokenizer.enable_truncation(CONTEXT)
    cases = []
    double = model.double()
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        with torch.no_grad():
            hidden = double(input_ids=torch.tensor([ids])).last_hidden_state[0]
        mean = hidden.mean(0)
        cases.append({"text": text, "ids": ids, "vector": [round(x, 9) for x in (mean / mean.norm()).tolist()]})
    (HERE / "expected.json").write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
