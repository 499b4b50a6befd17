"""A turn of transformers: generate.torch_turn FOLDER PRECISION THREADS PROMPT ANSWER [TEXTS] prints the first token's ms, at
first and again, and tokens a second, of all texts together, as JSON. greedy generate(), twice, with its default cache, which
grows."""
import json
import sys
import time

import torch
from transformers import AutoModelForCausalLM


class Clock:
    """A logits processor: generate() calls it before it takes each token."""

    def __init__(self):
        self.times = []

    def __call__(self, ids, scores):
        self.times.append(time.perf_counter())
        return scores


def main(folder, precision, threads, prompt, answer, texts="1"):
    torch.set_num_threads(int(threads))
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, precision)).eval()
    ids = torch.arange(11, 11 + int(prompt))[None] + torch.arange(int(texts))[:, None]

    def generate():
        clock = Clock()
        start = time.perf_counter()
        with torch.inference_mode():
            model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=int(answer), min_new_tokens=int(answer),
                           do_sample=False, logits_processor=[clock], pad_token_id=0)
        first, last = clock.times[0], clock.times[-1]
        return (first - start) * 1e3, int(texts) * (len(clock.times) - 1) / (last - first)

    first_ms, _ = generate()
    again_ms, per_s = generate()
    print(json.dumps({"first_ms": first_ms, "again_ms": again_ms, "per_s": per_s}))


if __name__ == "__main__":
    main(*sys.argv[1:])
