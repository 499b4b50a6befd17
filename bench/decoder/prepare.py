"""Makes what all conversions start from: decoder.prepare FOLDER writes model.pt2, inputs.safetensors, and the logits that
PyTorch gives in float32 with the weights as they are and as each format rounds them."""
import pathlib
import sys

import torch
from safetensors.torch import save_file

from . import formats, model


def main(folder):
    with torch.no_grad():
        program = torch.export.export(model.with_static_cache(model.decoder()), (), model.inputs(), strict=False)
        torch.export.save(program, folder / "model.pt2")
        save_file(model.inputs(), folder / "inputs.safetensors")
        logits = {"bf16": model.WithPast(model.decoder(torch.float32))(*model.past_inputs())[0]}
        for name in formats.FORMATS:
            rounded = formats.apply(model.decoder(torch.float32), name)
            logits[name] = model.WithPast(rounded)(*model.past_inputs())[0]
        save_file({name: x.contiguous() for name, x in logits.items()}, folder / "logits.safetensors")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
