#!/usr/bin/env python3
"""Makes the model of this example: a small Llama that writes sentences about seabirds, and its tokenizer.

  make.py [OUT]      needs torch, transformers and sentencepiece. Trains for two minutes; writes seabirds.pt2, tokenizer.model
                     and expected.json, with the tokens and logits that transformers' generate() gives.
"""
import io
import json
import pathlib
import random
import sys

import sentencepiece
import torch
from transformers import LlamaConfig, LlamaForCausalLM

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python/tern"))
from _llm import decoder_program  # noqa: E402  tern.export_llm() without the module of the build

CONTEXT, VOCABULARY = 272, 160
BIRDS = ["tern", "gull", "gannet", "puffin", "petrel", "albatross"]
GROUPS = {"flies": ["over the open sea", "from pole to pole", "along the coast", "into the wind"],
          "sleeps": ["on the wing", "on the waves", "among the rocks"],
          "dives": ["for small fish", "into the cold water", "from a great height"],
          "nests": ["on the cliff", "in the dunes", "on a small island", "among the rocks"]}
WHEN = ["in the morning", "at night", "in the rain", "every summer", "before the storm", "after a long journey"]
STARTS = ["The {b}", "A {b}", "The young {b}", "The old {b}", "The white {b}"]
SEED, STEPS, BATCH, LENGTH = 0, 2500, 8, 128


def sentence(pick):
    verb = pick.choice(list(GROUPS))
    words = [pick.choice(STARTS).format(b=pick.choice(BIRDS)), verb, pick.choice(GROUPS[verb])]
    if pick.random() < 0.6:
        words.append(pick.choice(WHEN))
    return " ".join(words).replace("A a", "An a") + "."


def tokenizer(pick):
    """SentencePiece without its table of Unicode, which is most of a small model's file."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([sentence(pick) for _ in range(4000)]), model_writer=model, vocab_size=VOCABULARY,
        model_type="bpe", normalization_rule_name="identity", num_threads=1, minloglevel=2)
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def train(model, encode, pick):
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=STEPS)
    for _ in range(STEPS):
        rows = []
        while len(rows) < BATCH:
            row = []
            while len(row) < LENGTH:  # texts of several sentences, from the first token on
                row += encode(sentence(pick), row == [])
            rows.append(row[:LENGTH])
        tokens = torch.tensor(rows)
        loss = model(input_ids=tokens, labels=tokens).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    print("loss", loss.item())


def expected(model, processor, pick):
    """Greedy answers of transformers, and the logits of some steps. The last prompt is long enough for its answer to
    cross 256 positions, and ends where the cache is full."""
    prompts = [processor.encode(text) for text in ("The young puffin", "A gull dives", "The old albatross sleeps on the wing")]
    long = []
    while len(long) < 247:
        long += processor.encode(sentence(pick))
    answers = []
    for ids in (*prompts, long[:247]):
        ids = [processor.bos_id(), *ids]
        tokens = torch.tensor([ids])
        out = model.generate(tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=24, do_sample=False,
                             eos_token_id=None, return_dict_in_generate=True, output_logits=True)
        made = out.sequences[0, len(ids):].tolist()
        logits = {step: [round(x, 4) for x in out.logits[step][0].tolist()] for step in (0, 12)}
        answers.append({"ids": ids, "tokens": made, "prompt": processor.decode(ids), "text": processor.decode(ids + made),
                        "logits": logits})
    return answers


def main(out):
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    pick = random.Random(SEED)
    processor = tokenizer(pick)
    eos = processor.eos_id()
    config = LlamaConfig(
        hidden_size=32, intermediate_size=80, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=1,
        vocab_size=VOCABULARY, max_position_embeddings=CONTEXT, tie_word_embeddings=True, initializer_range=0.05,
        bos_token_id=processor.bos_id(), eos_token_id=eos)
    model = LlamaForCausalLM(config)

    def encode(text, first):
        return [processor.bos_id()] * first + processor.encode(text) + ([eos] if pick.random() < 0.2 else [])

    train(model, encode, pick)
    model.eval()
    program = decoder_program(model, CONTEXT)
    for node in program.graph.nodes:
        for key in ("stack_trace", "torch_fn", "nn_module_stack"):  # removes paths of this machine, and a fourth of the
                                                                    # file's size
            node.meta.pop(key, None)
    torch.export.save(program, out / "seabirds.pt2")
    (out / "tokenizer.model").write_bytes(processor.serialized_model_proto())
    answers = expected(model, processor, pick)
    lines = ",\n".join(json.dumps(a, separators=(",", ":")) for a in answers)
    (out / "expected.json").write_text(f"[\n{lines}\n]\n")
    for answer in answers:
        print(answer["text"])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
