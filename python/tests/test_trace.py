"""Traces of runs."""

import gzip
import json
import threading

import pytest

import tern


def events(path):
    with (gzip.open(path) if str(path).endswith(".gz") else open(path, "rb")) as f:
        return json.load(f)["traceEvents"]


def test_runs_and_scopes_of_all_threads(digits, images, tmp_path):
    path = tmp_path / "run.json.gz"
    with tern.Trace(path, rank=1, world_size=2, backend="gloo") as trace:
        with tern.scope("outer"):
            digits(images)
            with tern.scope("inner"):
                digits(images)
        other = threading.Thread(target=lambda: digits(images))
        other.start()
        other.join()
    whole = json.load(gzip.open(path))
    found = [e for e in whole["traceEvents"] if e.get("ph") == "X"]
    assert whole["distributedInfo"]["rank"] == 1
    outer, inner = ([e for e in found if e["name"] == name] for name in ("outer", "inner"))
    assert len(outer) == len(inner) == 1
    assert outer[0]["ts"] <= inner[0]["ts"] <= inner[0]["ts"] + inner[0]["dur"] <= outer[0]["ts"] + outer[0]["dur"]
    nodes = [e for e in found if e["cat"] == "cpu_op" and "convolution" in e["name"]]
    assert len({e["tid"] for e in nodes}) == 2
    within = [e for e in nodes if outer[0]["ts"] <= e["ts"] <= outer[0]["ts"] + outer[0]["dur"]]
    assert len(nodes) * 2 == len(within) * 3
    assert trace.events > 0 and trace.dropped == trace.unnamed == 0 and trace.path == str(path)
    assert [p.name for p in tmp_path.iterdir()] == ["run.json.gz"]


def test_a_block_that_fails_leaves_a_whole_file(digits, images, tmp_path):
    with pytest.raises(tern.InvalidArgument):
        with tern.Trace(tmp_path / "t.json"):
            digits(images)
            digits(images[:, :, :4])
    assert any(e.get("cat") == "cpu_op" for e in events(tmp_path / "t.json"))
    with tern.Trace(tmp_path / "again.json"):  # no trace records any more
        pass


def test_what_is_refused(digits, images, tmp_path):
    with pytest.raises(tern.IoError):
        with tern.Trace(tmp_path / "none" / "t.json"):
            pass
    with pytest.raises(tern.InvalidArgument):
        with tern.Trace(tmp_path / "t.json", rank=2, world_size=2):
            pass
    with tern.Trace(tmp_path / "a.json") as trace:
        with pytest.raises(tern.InvalidArgument):
            with tern.Trace(tmp_path / "b.json"):
                pass
        with pytest.raises(ValueError, match="already recording"):
            trace.__enter__()
    outer, inner = tern.scope("outer"), tern.scope("inner")
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(ValueError, match="reverse order"):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)
    with tern.scope("nothing records"):
        digits(images)
    assert not (tmp_path / "b.json").exists()


def test_events_in_the_process(digits, images):
    with tern.Trace() as trace:
        with pytest.raises(ValueError):
            trace.recorded
        with tern.scope("outer"):
            digits(images)
    assert trace.path is None
    found = trace.recorded
    assert len(found) == trace.events > 0
    product = next(e for e in found if e.name == "tern::convolution")
    assert product.type == "cpu_op" and product.annotation == "outer" and not product.unfinished
    assert product.begin <= product.end and product.sequence == -1 and product.device == -1
    assert product.input_sizes[0] == list(images.shape)
    assert json.loads(product.args)["Input Dims"] == product.input_sizes


def test_a_trace_with_a_file_has_no_events_in_the_process(digits, images, tmp_path):
    with tern.Trace(tmp_path / "t.json") as trace:
        digits(images)
    with pytest.raises(ValueError):
        trace.recorded
