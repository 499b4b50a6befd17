#!/usr/bin/env python3
"""Makes tests/generation/sampling_goldens.h: probabilities of the next token, by NumPy and by transformers' logits processors.

Run with torch 2.15 and transformers 5.24: python tests/data/sampling/make.py > tests/generation/sampling_goldens.h

NumPy computes each step from its definition, and transformers' processors must agree; presence and frequency penalties,
which transformers lacks, follow the formula of OpenAI's reference.
"""
import numpy as np
import torch
from transformers import (LogitsProcessorList, MinPLogitsWarper, RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper,
                          TopPLogitsWarper, TypicalLogitsWarper)

VOCABULARY = 32
PROMPT = [3, 5, 5, 7]
ANSWER = [9, 11, 9, 9, 3]
DEFAULTS = dict(repetition_penalty=1.0, presence_penalty=0.0, frequency_penalty=0.0, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0,
                typical_p=1.0)
CASES = [dict(), dict(temperature=0.5), dict(temperature=2.5), dict(top_k=1), dict(top_k=5), dict(top_k=100), dict(top_p=0.1), dict(top_p=0.8),
         dict(top_p=0.99), dict(min_p=0.05), dict(min_p=0.5), dict(typical_p=0.3), dict(typical_p=0.9), dict(repetition_penalty=1.3),
         dict(repetition_penalty=0.7), dict(presence_penalty=1.5), dict(frequency_penalty=0.8), dict(frequency_penalty=-0.5, presence_penalty=0.5),
         dict(temperature=0.7, top_k=12, top_p=0.9), dict(temperature=1.4, top_k=20, top_p=0.95, min_p=0.1),
         dict(temperature=0.9, top_p=0.9, typical_p=0.8), dict(repetition_penalty=1.2, presence_penalty=0.3, frequency_penalty=0.2, temperature=0.8,
                                                            top_k=16, top_p=0.97, min_p=0.02, typical_p=0.95)]


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / e.sum()


def drop(logits, keep):
    return np.where(keep, logits, -np.inf)


def by_numpy(logits, c):
    x = logits.astype(np.float64)
    for token in set(PROMPT + ANSWER):
        x[token] = x[token] * c["repetition_penalty"] if x[token] < 0 else x[token] / c["repetition_penalty"]
    for token in set(ANSWER):
        x[token] -= c["presence_penalty"] + c["frequency_penalty"] * ANSWER.count(token)
    x = x / c["temperature"]
    if c["top_k"]:
        order = np.argsort(-x, kind="stable")
        x = drop(x, np.isin(np.arange(VOCABULARY), order[:c["top_k"]]))
    if c["top_p"] < 1:
        p = softmax(x)
        order = np.argsort(-p, kind="stable")
        count = int(np.searchsorted(np.cumsum(p[order]), c["top_p"])) + 1
        x = drop(x, np.isin(np.arange(VOCABULARY), order[:count]))
    if c["min_p"]:
        p = softmax(x)
        x = drop(x, p >= c["min_p"] * p.max())
    if c["typical_p"] < 1:
        p = softmax(x)
        with np.errstate(divide="ignore", invalid="ignore"):
            information = -np.log(p)
            distance = np.abs(information - np.nansum(p * information))
        order = np.argsort(distance, kind="stable")
        count = int(np.searchsorted(np.cumsum(p[order]), c["typical_p"])) + 1
        x = drop(x, np.isin(np.arange(VOCABULARY), order[:count]))
    return softmax(x)


def by_transformers(logits, c):
    x = torch.tensor(logits, dtype=torch.float64)[None]
    ids = torch.tensor([PROMPT + ANSWER])
    # The penalties of OpenAI come after the repetition penalty, as in the sampler.
    if c["repetition_penalty"] != 1:
        x = RepetitionPenaltyLogitsProcessor(c["repetition_penalty"])(ids, x)
    for token in set(ANSWER):
        x[0, token] -= c["presence_penalty"] + c["frequency_penalty"] * ANSWER.count(token)
    steps = LogitsProcessorList([TemperatureLogitsWarper(c["temperature"])])
    if c["top_k"]:
        steps.append(TopKLogitsWarper(c["top_k"]))
    if c["top_p"] < 1:
        steps.append(TopPLogitsWarper(c["top_p"]))
    if c["min_p"]:
        steps.append(MinPLogitsWarper(c["min_p"]))
    if c["typical_p"] < 1:
        steps.append(TypicalLogitsWarper(c["typical_p"]))
    return torch.softmax(steps(ids, x), -1)[0].numpy()


def row(numbers):
    return "{" + ", ".join(f"{x:.9g}" for x in numbers) + "}"


def main():
    generator = np.random.default_rng(1)
    sets = [generator.normal(0, 2, VOCABULARY).astype(np.float32), generator.gumbel(-1, 3, VOCABULARY).astype(np.float32)]
    print("// Made by tests/data/sampling/make.py: probabilities of the next token by NumPy and transformers.\n#pragma once\n")
    print("#include <cstdint>\n#include <vector>\n\nnamespace tern::testing {\n")
    print(f"const std::vector<std::int64_t> kSamplingPrompt = {row(PROMPT)}, kSamplingAnswer = {row(ANSWER)};")
    print("const std::vector<std::vector<float>> kSamplingLogits = {")
    for logits in sets:
        print(f"    {row(logits)},")
    print("};\n\nstruct SamplingGolden {\n  std::size_t logits;")
    print("  double repetition_penalty, presence_penalty, frequency_penalty, temperature;\n  std::int64_t top_k;")
    print("  double top_p, min_p, typical_p;\n  std::vector<double> probabilities;\n};\nconst std::vector<SamplingGolden> kSamplingGoldens = {")
    for number, logits in enumerate(sets):
        for case in CASES:
            c = DEFAULTS | case
            expected = by_numpy(logits, c)
            np.testing.assert_allclose(by_transformers(logits, c), expected, rtol=1e-9, atol=1e-12, err_msg=str(case))
            print(f"    {{{number}, {', '.join(f'{x:g}' for x in c.values())},\n     {row(expected)}}},")
    print("};\n\n}  // namespace tern::testing")


if __name__ == "__main__":
    main()
