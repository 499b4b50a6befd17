"""Tokenizers and chat templates; tests/text has the cases."""

import pathlib

import pytest

import tern

TEXTS = pathlib.Path(__file__).parents[2] / "tests/data/text"


def test_tokenizer():
    tokenizer = tern.Tokenizer(TEXTS / "tokenizers/llama2.json")
    assert len(tokenizer) == 700
    assert (tokenizer.bos, tokenizer.eos, tokenizer.id_of("</s>"), tokenizer.token(1)) == (1, 2, 2, "<s>")
    ids = tokenizer.encode("two terns 🐦")
    assert ids[0] == 1
    assert tokenizer.encode("two terns 🐦", add_special=False) == ids[1:]
    assert tokenizer.decode(ids) == "two terns 🐦"
    stream = tern.TextStream(tokenizer)
    assert "".join([stream.add(token) for token in ids] + [stream.finish()]) == "two terns 🐦"
    with pytest.raises(tern.InvalidArgument):
        tokenizer.decode([-1])


def test_chat_template():
    chat = tern.ChatTemplate(TEXTS / "templates/chatml.jinja")
    assert chat.render([{"role": "user", "content": "Hi ü"}]) == "<|im_start|>user\nHi ü<|im_end|>\n<|im_start|>assistant\n"
    assert chat.render([], add_generation_prompt=False) == ""


def test_archives_carry_text(tmp_path):
    digits = pathlib.Path(__file__).parents[2] / "examples/digits/digits.pt2"
    tern.export(digits, tmp_path / "digits.tern", tokenizer=TEXTS / "tokenizers/gpt2.json")
    model = tern.load(tmp_path / "digits.tern")
    assert list(model.files) == ["tokenizer.json"]
    assert model.file("tokenizer.json") == (TEXTS / "tokenizers/gpt2.json").read_bytes()
    assert model.tokenizer().decode(model.tokenizer().encode("a tern")) == "a tern"
    with pytest.raises(tern.InvalidArgument):
        model.chat_template()
