"""Archives that generate tokens, from Python. Expected tokens are those of transformers' generate()."""

import json
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

import tern

SEABIRDS = ROOT / "examples/generate"
DEVICES = ["cpu", *[d.name for d in tern.devices() if d.name != "cpu" and not d.problem][:1]]


def generated(path, ids, count, temperature=0.0, seed=0):
    """The loop of docs/generate.md."""
    session = tern.load(path).session()
    session.seed(seed)
    sampling = [np.array(temperature, "float32"), np.array(0), np.array(1, "float32")]
    tokens, position, answer = np.array([ids]), 0, []
    for _ in range(count):
        step = session["prefill" if tokens.shape[1] > 1 else "decode"]
        token, _ = step(tokens, np.array([position]), *sampling)
        position += tokens.shape[1]
        tokens = token.numpy().copy()
        answer.append(int(tokens[0, 0]))
    return answer


def test_options_of_export(tmp_path):
    report = tern.export(SEABIRDS / "seabirds.pt2", tmp_path / "a.tern", llm={"bos": 1, "eos": [2, 7]})
    assert report.context == 272 and report.vocabulary == 160
    metadata = tern.load(tmp_path / "a.tern").metadata
    assert metadata["llm.bos"] == "1" and metadata["llm.eos"] == "2, 7"
    for answer in json.loads((SEABIRDS / "expected.json").read_text()):
        assert generated(tmp_path / "a.tern", answer["ids"], 24) == answer["tokens"]


def test_errors(tmp_path):
    with pytest.raises(tern.InvalidArgument, match="ids are 0 to 159"):
        tern.export(SEABIRDS / "seabirds.pt2", tmp_path / "a.tern", llm={"eos": [160]})
    tern.export(SEABIRDS / "seabirds.pt2", tmp_path / "a.tern", llm=True)
    with pytest.raises(tern.Error, match="temperature must be a finite number"):
        generated(tmp_path / "a.tern", [1, 5], 1, temperature=-1.0)


def test_export_llm(tmp_path):
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    for kind in ("llama", "gpt2"):
        config = {
            "llama": lambda: transformers.LlamaConfig(
                hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                vocab_size=90, max_position_embeddings=64, initializer_range=0.1),
            "gpt2": lambda: transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=90, n_positions=64,
                                                    initializer_range=0.1, bos_token_id=1, eos_token_id=2),
        }[kind]()
        model = transformers.AutoModelForCausalLM.from_config(config).train()
        report = tern.export_llm(model, tmp_path / "a.tern")
        assert model.training and all(p.requires_grad for p in model.parameters())
        assert report.context == 64
        assert tern.load(tmp_path / "a.tern").metadata["llm.eos"] == "2"
        ids = torch.randint(3, 90, (1, 9))
        right = model.eval().generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=20, do_sample=False,
                                      eos_token_id=None, pad_token_id=0)
        assert generated(tmp_path / "a.tern", ids[0].tolist(), 20) == right[0, 9:].tolist()
        report = tern.export_llm(model, tmp_path / "b.tern", batch=2)
        assert tern.load(tmp_path / "b.tern").metadata["llm.batch"] == "2"
        with pytest.raises(ValueError, match="context: 65 is not from 2 to 64"):
            tern.export_llm(model, tmp_path / "a.tern", context=65)


def small_llama(transformers, **more):
    return transformers.LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=90, max_position_embeddings=64, initializer_range=0.1, **more)


def test_other_models_are_refused(tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("torch")
    bert = transformers.BertConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, vocab_size=90)
    t5 = transformers.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=2, vocab_size=90)
    for model in (transformers.BertModel(bert), transformers.BertForSequenceClassification(bert),
                  transformers.LlamaModel(small_llama(transformers)), transformers.T5ForConditionalGeneration(t5)):
        with pytest.raises(ValueError, match=rf"tern\.export\(torch\.export.* takes a {type(model).__name__}"):
            tern.export_llm(model, tmp_path / "a.tern")


def test_weights_and_adapters_of_a_decoder(tmp_path):
    """A checkpoint by its own names, and an adapter by PEFT's, fit the archive of export_llm."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors.torch")
    torch.manual_seed(0)
    config = small_llama(transformers, tie_word_embeddings=False)
    model, other = (transformers.AutoModelForCausalLM.from_config(config).eval() for _ in range(2))
    tern.export_llm(model, tmp_path / "a.tern")
    archive = tern.load(tmp_path / "a.tern")
    ids = torch.randint(3, 90, (1, 9))
    one = (np.array(0, "float32"), np.array(0), np.array(1, "float32"))

    def close(archive, module):
        logits = archive.session()["prefill"](ids.numpy(), np.array([0]), *one)[1].numpy()
        with torch.no_grad():
            return np.allclose(logits, module(ids).logits[:, -1].numpy(), atol=1e-4)

    assert close(archive, model) and not close(archive, other)
    safetensors.save_file({k: v.contiguous() for k, v in other.state_dict().items()}, tmp_path / "other.safetensors")
    assert close(archive.with_weights(str(tmp_path / "other.safetensors")), other)
    adapter = {}
    for layer in (0, 1):
        for name in ("q_proj", "v_proj"):
            weight = model.model.layers[layer].self_attn.get_submodule(name).weight
            a, b = torch.randn(4, weight.shape[1]), torch.randn(weight.shape[0], 4)
            for part, matrix in (("A", a), ("B", b)):
                adapter[f"base_model.model.model.layers.{layer}.self_attn.{name}.lora_{part}.weight"] = matrix
            weight.data += 0.5 * b @ a
    safetensors.save_file(adapter, tmp_path / "adapter.safetensors")
    assert close(archive.with_lora(str(tmp_path / "adapter.safetensors"), scale=0.5), model) and not close(archive, model)


def test_export_of_a_folder(tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("torch")
    model = transformers.AutoModelForCausalLM.from_config(small_llama(transformers, bos_token_id=1, eos_token_id=2))
    model.save_pretrained(tmp_path / "decoder")
    command = [sys.executable, "-c", "import sys, tern._command; tern._command.main()", "export"]
    words = [tmp_path / "decoder", "--llm", "--context", "32", "-o", tmp_path / "a.tern", "--quantize", "int8"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    metadata = tern.load(tmp_path / "a.tern").metadata
    assert metadata["llm.bos"] == "1" and metadata["llm.eos"] == "2" and "the cache has 32 positions" in done.stdout
    bert = transformers.BertConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, vocab_size=90)
    transformers.BertForSequenceClassification(bert).save_pretrained(tmp_path / "encoder")
    done = subprocess.run([*command, tmp_path / "encoder", "--llm"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "the folder has a BertForSequenceClassification" in done.stderr


@pytest.mark.parametrize("device", DEVICES)
def test_slots(tmp_path, device):
    """Texts in slots get transformers' tokens, at different positions and with a slot between them that waits."""
    report = tern.export(SEABIRDS / "seabirds.pt2", tmp_path / "a.tern", llm={"batch": 3})
    assert report.context == 272
    model = tern.load(tmp_path / "a.tern", device=device)
    assert (model.metadata["llm"], model.metadata["llm.batch"]) == ("2", "3")
    session = model.session()
    answers = {0: 1, 2: 0}  # numbers of the expected answers, by slot
    expected = json.loads((SEABIRDS / "expected.json").read_text())

    def run(function, tokens, slots, positions):
        n = len(slots)
        token, logits = session[function](
            tokens=np.array(tokens), slot=np.array(slots), position=np.array(positions),
            temperature=np.zeros(n, "float32"), top_k=np.zeros(n, "int64"), top_p=np.ones(n, "float32"),
            seed=np.zeros(n, "int64"), draw=np.zeros(n, "int64"))
        assert logits.numpy().shape == (n, 160)
        return token.numpy()[:, 0].tolist()

    made, positions = {}, {}
    for slot, i in answers.items():
        made[slot] = run("prefill", [expected[i]["ids"]], [slot], [0])
        positions[slot] = len(expected[i]["ids"])
    for _ in range(23):
        slots = list(answers)
        tokens = run("decode", [[made[s][-1]] for s in slots], slots, [positions[s] for s in slots])
        for slot, token in zip(slots, tokens, strict=True):
            made[slot].append(token)
            positions[slot] += 1
    for slot, i in answers.items():
        assert made[slot] == expected[i]["tokens"]


def test_example(tmp_path):
    tern.export(SEABIRDS / "seabirds.pt2", tmp_path / "a.tern", llm=True)
    answer = json.loads((SEABIRDS / "expected.json").read_text())[0]
    command = [sys.executable, SEABIRDS / "generate.py", tmp_path / "a.tern", ",".join(map(str, answer["ids"]))]
    done = subprocess.run([*command, "--max-tokens", "24"], capture_output=True, text=True, check=False)
    assert done.stdout.split()[1:] == [str(t) for t in answer["tokens"]], done.stderr
    done = subprocess.run([*command, "--top-p", "0"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "top_p must be above 0" in done.stderr
    tern.export(SEABIRDS / "seabirds.pt2", tmp_path / "b.tern", llm={"batch": 2})
    prompts = [",".join(map(str, a["ids"])) for a in json.loads((SEABIRDS / "expected.json").read_text())]
    for options in (["--max-tokens", "24"], ["--max-tokens", "40", "--temperature", "0.9", "--seed", "3"]):
        commands = [[sys.executable, SEABIRDS / "generate.py", tmp_path / a, *prompts, *options] for a in ("a.tern", "b.tern")]
        alone, slots = (subprocess.run(c, capture_output=True, text=True, check=True).stdout for c in commands)
        assert alone == slots and len(alone.splitlines()) == len(prompts)
    for archive in ("a.tern", "b.tern"):
        command = [sys.executable, SEABIRDS / "generate.py", tmp_path / archive, prompts[0], "--max-tokens", "0"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "--max-tokens counts from 1" in done.stderr
