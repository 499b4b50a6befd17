"""Answers of tern.TextEngine: transformers' greedy tokens and prompts, streams, schemas that jsonschema checks."""

import json
import threading

import pytest
from conftest import ROOT

import tern

SEABIRDS = ROOT / "examples/generate"
SCHEMAS = ROOT / "tests/data/json_schemas/cases.json"


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    path = tmp_path_factory.mktemp("engine") / "seabirds.tern"
    tern.export(SEABIRDS / "seabirds.pt2", path, llm={"bos": 1, "batch": 3}, tokenizer=SEABIRDS / "tokenizer.model")
    with tern.TextEngine(tern.load(path, threads=1)) as made:
        yield made


def test_answers_are_those_of_transformers(engine):
    assert (engine.slots, engine.context, engine.vocabulary) == (3, 272, 160)
    expected = json.loads((SEABIRDS / "expected.json").read_text())
    answers = [engine.submit(one["ids"], max_tokens=24) for one in expected]
    for one, answer in zip(expected, answers):
        assert answer.read() and answer.tokens == one["tokens"]
        assert (answer.finish, answer.answer_tokens, answer.prompt_tokens) == ("max_tokens", 24, len(one["ids"]))
    one = expected[0]
    answer = engine.submit(one["prompt"], max_tokens=24)
    pieces = list(answer)
    assert len(pieces) > 5 and one["prompt"] + "".join(pieces) == one["text"] and answer.text == "".join(pieces)
    assert engine.stats["requests"] >= len(expected)


def test_options(engine):
    answers = [engine.submit("A gull", temperature=1.5, seed=seed, max_tokens=12).read() for seed in (1, 1, 2, 3)]
    assert answers[0] == answers[1] and len(set(answers)) > 1
    text = engine.submit("A gull", max_tokens=20).read()
    assert engine.submit("A gull", max_tokens=20, stop=text[5:8]).read() == text[: text.find(text[5:8])]
    answer = engine.submit("A gull", max_tokens=3, logprobs=2)
    answer.read()
    assert [top[0][0] for _, top in answer.logprobs] == answer.tokens and all(p <= 0 for p, _ in answer.logprobs)
    stopped = engine.submit("A gull", ignore_end=True)
    stopped.cancel()
    stopped.read()
    assert stopped.finish in ("cancelled", "context_end")
    with pytest.raises(tern.InvalidArgument, match="top_p"):
        engine.submit("A gull", top_p=0)
    with pytest.raises(TypeError, match="no option 'topp'"):
        engine.submit("A gull", topp=0)
    with pytest.raises(tern.InvalidArgument, match="chat template"):
        engine.chat([{"role": "user", "content": "Hi"}])


def test_threads(engine):
    expected, found = engine.submit("The tern", max_tokens=30).read(), []
    threads = [threading.Thread(target=lambda: found.append(engine.submit("The tern", max_tokens=30).read())) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 12


def test_speculation(tmp_path):
    """Proposed tokens change no answer."""
    tern.export(SEABIRDS / "seabirds.pt2", tmp_path / "a.tern", llm={"bos": 1})
    model = tern.load(tmp_path / "a.tern", threads=1)
    expected = json.loads((SEABIRDS / "expected.json").read_text())
    for options in ({"speculates": True}, {"speculates": True, "speculated_tokens": 7}, {"draft": model, "speculated_tokens": 3}):
        with tern.TextEngine(model, **options) as made:
            for one in expected:
                answer = made.submit(one["ids"], max_tokens=24)
                answer.read()
                assert answer.tokens == one["tokens"] and answer.accepted_tokens <= answer.proposed_tokens
            assert made.stats["accepted_tokens"] > 0 or "speculated_tokens" not in options
    with pytest.raises(tern.InvalidArgument, match="must be 0 to 15"):
        tern.TextEngine(model, speculates=True, speculated_tokens=16)


def tiny_model(folder, template):
    """A random model with a byte-level tokenizer of tokens with several characters, as a checkpoint."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=700, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|endoftext|>", "<|im_end|>"])
    text = (ROOT / "docs/serve.md").read_text() + SCHEMAS.read_text() * 3 + "é 😀 ü ß \\u00e9" * 9
    made.train_from_iterator(text.splitlines(), trainer)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<|endoftext|>", eos_token="<|im_end|>", chat_template=template)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1,
        vocab_size=len(fast) + 5, max_position_embeddings=512, initializer_range=0.3, bos_token_id=0, eos_token_id=1)
    model = transformers.LlamaForCausalLM(config).eval()
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return transformers.AutoModelForCausalLM.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)


def test_folder_of_transformers(tmp_path):
    """The tokenizer adds no bos, though the model has one: as Qwen's."""
    template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<|im_end|>{% endfor %}<assistant>"
    model, tokenizer = tiny_model(tmp_path / "folder", template)
    tern.export_llm(model, tmp_path / "llm.tern", context=400, batch=2, tokenizer=str(tmp_path / "folder"))
    with tern.TextEngine(tern.load(tmp_path / "llm.tern", threads=1)) as engine:
        for text in ("Where do terns nest?", "é 😀  two", ' {"a": [1]}'):
            ids = tokenizer(text)["input_ids"]
            assert engine.encode(text) == ids
            import torch

            made = model.generate(torch.tensor([ids]), max_new_tokens=12, do_sample=False, eos_token_id=None)[0, len(ids):].tolist()
            answer = engine.submit(text, max_tokens=12, ignore_end=True)
            answer.read()
            assert answer.tokens == made
        messages = [{"role": "user", "content": "Where?"}]
        chat = engine.chat(messages, max_tokens=4)
        chat.read()
        assert chat.prompt_tokens == len(tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False))
        check_schemas(engine)


def check_schemas(engine):
    """Every answer of random tokens is JSON that follows its schema, even at its limit of tokens."""
    jsonschema = pytest.importorskip("jsonschema")
    cases = json.loads(SCHEMAS.read_text())
    finishes = set()
    for number, case in enumerate(cases):
        schema = case["schema"]
        check = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
        options = {"temperature": 2.0, "json_schema": schema if schema is not True else "true"}
        answers = [engine.submit(f"answer {seed}", seed=seed * 100 + number, max_tokens=70 + 10 * (seed % 4), **options) for seed in range(8)]
        for answer in answers:
            text = answer.read()
            check.validate(json.loads(text))
            text.encode()
            finishes.add(answer.finish)
    assert finishes <= {"end_token", "max_tokens"}
    answer = engine.submit("a", grammar='root ::= "yes" | "no, " [a-z]{3}', temperature=1.0).read()
    assert answer == "yes" or (answer.startswith("no, ") and len(answer) == 7)
    with pytest.raises(tern.InvalidArgument, match="'not' is not supported"):
        engine.submit("a", json_schema={"not": {}})


def test_closed(engine, tmp_path):
    tern.export(SEABIRDS / "seabirds.pt2", tmp_path / "a.tern", llm=True)
    other = tern.TextEngine(tern.load(tmp_path / "a.tern", threads=1))
    answer = other.submit([1, 5], max_tokens=200, ignore_end=True)
    assert next(answer, None) is None  # no tokenizer: no text
    other.close()
    with pytest.raises(tern.InvalidArgument, match="closed"):
        other.submit([1, 5])
