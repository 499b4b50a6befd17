"""Archives of export_embeddings(). Expected vectors are those of transformers, pooled by their formulas."""

import json
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import ROOT

import tern

DATA = ROOT / "tests/data/embeddings"
BERT = ROOT / "tests/data/text/tokenizers/bert.json"
CASES = json.loads((DATA / "expected.json").read_text())


@pytest.fixture(scope="module")
def embedder(tmp_path_factory):
    path = tmp_path_factory.mktemp("embeddings") / "encoder.tern"
    report = tern.export(DATA / "encoder.pt2", path, embeddings={"matryoshka": True}, tokenizer=BERT)
    assert (report.context, report.dimensions) == (24, 16)
    return tern.TextEmbedder(tern.load(path, threads=1))


def test_vectors_are_those_of_transformers(embedder):
    right = np.array([c["vector"] for c in CASES])
    assert (embedder.context, embedder.dimensions) == (24, 16)
    found = embedder.embed([c["text"] for c in CASES], truncate=True).numpy()
    assert found.dtype == np.float32 and np.abs(found - right).max() < 1e-6
    assert np.abs(embedder.embed([c["ids"] for c in CASES]).numpy() - right).max() < 1e-6
    cut = embedder.embed([CASES[0]["text"]], dimensions=4).numpy()[0]
    assert np.allclose(cut, right[0, :4] / np.linalg.norm(right[0, :4]), atol=1e-6)
    assert embedder.embed([]).numpy().shape == (0, 16)
    assert embedder.encode(CASES[0]["text"]) == CASES[0]["ids"]


def test_threads(embedder):
    right, wrong = np.array(CASES[0]["vector"]), []

    def call():
        for _ in range(10):
            wrong.append(np.abs(embedder.embed([CASES[0]["text"]] * 3).numpy() - right).max() > 1e-6)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wrong) == 80 and not any(wrong)


def test_errors(embedder, tmp_path):
    with pytest.raises(tern.InvalidArgument, match="at most 24"):
        embedder.embed(["a " * 70])
    with pytest.raises(tern.InvalidArgument, match="cannot be shortened"):
        embedder.embed(["a"], dimensions=17)
    with pytest.raises(tern.InvalidArgument, match="list of texts"):
        embedder.embed("a")
    with pytest.raises(tern.InvalidArgument, match="docs/embeddings.md"):
        tern.export(ROOT / "examples/digits/digits.pt2", tmp_path / "a.tern", embeddings=True)


def save_folder(folder, model, pooling, normalize, length):
    """As sentence-transformers saves it."""
    model.save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes(BERT.read_bytes())
    modules = ["Transformer", "Pooling", *(["Normalize"] if normalize else [])]
    listed = [{"idx": i, "name": str(i), "path": f"{i}_{name}" if i else "", "type": f"sentence_transformers.models.{name}"}
              for i, name in enumerate(modules)]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": 32, pooling: True}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": length}))


def test_folders_of_sentence_transformers(tmp_path):
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 900}
    kinds = {
        "bert": (transformers.BertConfig(**sizes, max_position_embeddings=40), "pooling_mode_cls_token", True),
        "roberta": (transformers.RobertaConfig(**sizes, max_position_embeddings=42), "pooling_mode_mean_tokens", False),
        "qwen3": (transformers.Qwen3Config(**sizes, num_key_value_heads=2, head_dim=8, max_position_embeddings=40), "pooling_mode_lasttoken", True),
    }
    for name, (config, pooling, normalize) in kinds.items():
        torch.manual_seed(0)
        model = transformers.AutoModel.from_config(config).eval()
        save_folder(tmp_path / name, model, pooling, normalize, 30)
        report = tern.export_embeddings(tmp_path / name, tmp_path / f"{name}.tern")
        assert (report.context, report.dimensions) == (30, 32)
        embedder = tern.TextEmbedder(tern.load(tmp_path / f"{name}.tern", threads=1))
        ids = [embedder.encode(text) for text in ("Where do terns nest?", "On a beach.", "word " * 9)]
        found = embedder.embed(ids).numpy()
        for row, tokens in zip(found, ids):
            with torch.no_grad():
                hidden = model(input_ids=torch.tensor([tokens])).last_hidden_state[0]
            vector = {"bert": hidden[0], "roberta": hidden.mean(0), "qwen3": hidden[-1]}[name]
            right = torch.nn.functional.normalize(vector, dim=0) if normalize else vector
            assert np.abs(row - right.numpy()).max() < 1e-5, name
    command = [sys.executable, "-c", "import sys, tern._command; tern._command.main()", "export"]
    words = [tmp_path / "bert", "--embeddings", "--pooling", "mean", "-o", tmp_path / "c.tern", "--context", "20"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "texts of at most 20 tokens" in done.stdout, done.stderr
    with pytest.raises(ValueError, match="no modules.json"):
        (tmp_path / "bert/modules.json").unlink()
        tern.export_embeddings(tmp_path / "bert", tmp_path / "a.tern")
