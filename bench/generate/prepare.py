"""Makes what the runtimes start from: generate.prepare FOLDER [--small] writes model.pt2 for Tern and torch/ for transformers,
the decoder of bench/decoder with random weights; with --gguf FILE TYPE, the same for llama.cpp."""
import argparse
import pathlib
import sys

import torch
from decoder import gguf_file, model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python/tern"))
from _llm import decoder_program  # noqa: E402  tern.export_llm() without the module of the build

from .runtimes import CONTEXT  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--gguf", nargs=2)
    a = parser.parse_args()
    if a.gguf:
        gguf_file.write(pathlib.Path(a.gguf[0]), a.gguf[1])
        return
    weights = model.decoder(torch.float32)
    torch.export.save(decoder_program(weights, CONTEXT), a.folder / "model.pt2")
    weights.save_pretrained(a.folder / "torch")


if __name__ == "__main__":
    main()
