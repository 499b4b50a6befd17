"""Models: facts, states, sessions, graphs, profiles, errors, and what is refused."""

import io
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tern
from conftest import DIGITS, in_order, program


def test_facts(digits, digits_path):
    (images,) = digits.inputs
    assert (images.name, images.dtype, images.shape[1:], images.fixed) == ("images", "float32", (1, 8, 8), "")
    assert isinstance(images.shape[0], str)
    assert list(digits.functions) == ["forward"]
    assert digits.metadata["source"] == "pt2"
    assert (digits.path, digits.device, digits.precision) == (str(digits_path), "cpu", "exported")
    assert any(s.is_parameter for s in digits.states)
    assert "forward(images: float32[" in repr(digits)
    import inspect

    assert list(inspect.signature(digits).parameters) == ["images", "out"]


def test_options(digits_path, images, recorded):
    model = tern.load(digits_path, threads=1, reproducible=True, access="read", verify="now", weight_cache="off")
    np.testing.assert_allclose(model(images).numpy(), recorded["logits"][:2], rtol=1e-4, atol=1e-5)
    with pytest.raises(tern.InvalidArgument, match="access must be one of 'map', 'populate', 'read', not 'mmap'"):
        tern.load(digits_path, access="mmap")
    with pytest.raises(tern.Error, match="(?i)device"):
        tern.load(digits_path, device="nonsense")
    for options in ({"access": "read"}, {"verify": "now"}):
        with pytest.raises(tern.InvalidArgument, match="digits.pt2: a .pt2 file is imported"):
            tern.load(DIGITS / "digits.pt2", **options)


def test_state_is_kept_and_reset():
    path, calls = program("pt215_kv_cache")
    model = tern.load(path)
    inputs = in_order(calls[0], "in")
    mutable = [s.name for s in model.states if s.is_mutable]
    assert mutable
    before = model.read_state(mutable[0]).numpy()
    model(*inputs)
    after = model.read_state(mutable[0]).numpy()
    assert not np.array_equal(before, after)
    other = model.session()
    np.testing.assert_array_equal(other.read_state(mutable[0]).numpy(), before)
    other.write_state(mutable[0], after)
    np.testing.assert_array_equal(other.read_state(mutable[0]).numpy(), after)
    model.reset_state()
    np.testing.assert_array_equal(model.read_state(mutable[0]).numpy(), before)
    with pytest.raises(tern.InvalidArgument, match="no_such"):
        model.read_state("no_such")


def test_sessions_on_threads(digits, recorded):
    images, logits = recorded["images"], recorded["logits"]
    wrong = []

    def work(session):
        for i in range(0, 320, 8):
            if not np.allclose(session(images[i : i + 8]).numpy(), logits[i : i + 8], rtol=1e-4, atol=1e-5):
                wrong.append(i)

    callers = [digits.session() for _ in range(4)] + [digits] * 4
    threads = [threading.Thread(target=work, args=(c,)) for c in callers]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_graphs(digits_path, images, recorded):
    session = tern.load(digits_path).session()
    buffer = np.zeros_like(images)
    graph = session.capture(buffer)
    assert len(graph) > 3 and graph.memory_bytes > 0
    buffer[:] = images
    logits = graph.replay()
    np.testing.assert_allclose(logits.numpy(), recorded["logits"][:2], rtol=1e-4, atol=1e-5)
    address = logits.data_ptr
    buffer[:] = recorded["images"][2:4]
    del buffer  # the graph keeps the buffer alive
    assert graph.replay().data_ptr == address
    np.testing.assert_allclose(logits.numpy(), recorded["logits"][2:4], rtol=1e-4, atol=1e-5)
    view = np.asarray(logits)
    del graph, logits, session
    np.testing.assert_allclose(view, recorded["logits"][2:4], rtol=1e-4, atol=1e-5)


def test_profile(digits, images):
    profile = digits.profile(images, runs=3)
    assert profile.nodes and all(n.runs == 3 for n in profile.nodes) and profile.seconds > 0
    assert "us" in repr(profile) and "<table>" in profile._repr_html_()
    session = digits.session()
    with session.profile() as p:
        session(images)
    assert {n.op for n in p.nodes} == {n.op for n in profile.nodes}
    assert session.stats().arena_bytes > 0


def test_inspect(digits):
    found = digits.inspect()
    forward = found.functions["forward"]
    assert "forward" in str(found)
    assert len(forward.root) == len(forward.nodes) > 5
    assert forward.root["features"].nodes or forward.root["features"].modules
    html = found._repr_html_()
    assert html.count("<details") == html.count("</details>") > 2
    assert tern.inspect(DIGITS / "digits.pt2").functions["forward"].nodes


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, io.BytesIO, "file"])
def test_load_from_memory(digits_path, images, recorded, kind):
    data = digits_path.read_bytes()
    source = open(digits_path, "rb") if kind == "file" else kind(data)
    model = tern.load(source, threads=1)
    if kind is bytearray:
        source[:] = bytes(len(source))  # the model has a copy
        del source[100:]
    np.testing.assert_allclose(model(images).numpy(), recorded["logits"][:2], rtol=1e-4, atol=1e-5)
    assert model.path == "<memory>" and "<memory>" in repr(model) and "<memory>" in str(model.inspect())
    open_files = len(os.listdir("/proc/self/fd"))
    model.close()
    assert len(os.listdir("/proc/self/fd")) == open_files - 1
    if kind == "file":
        assert source.read() == b""
        source.close()


def test_load_from_memory_of_other_kinds(digits_path, images, recorded):
    model = tern.load((DIGITS / "digits.pt2").read_bytes())
    np.testing.assert_allclose(model(images).numpy(), recorded["logits"][:2], rtol=1e-4, atol=1e-5)
    assert model.inspect().functions["forward"].nodes
    with pytest.raises(tern.InvalidArgument, match="<memory>: a .pt2 file is imported"):
        tern.load((DIGITS / "digits.pt2").read_bytes(), access="read")
    data = bytearray(digits_path.read_bytes())
    with pytest.raises(tern.BadFile, match="^<memory>: "):
        tern.load(data[:1000])
    with pytest.raises(tern.BadFile):
        tern.load(b"")
    with pytest.raises(TypeError, match=r"binary mode: open\(path, 'rb'\)"):
        tern.load(io.StringIO("text"))
    with pytest.raises(TypeError, match="load\\(\\) takes a path, bytes or a binary file, not a list of 2"):
        tern.load([1, 2])
    with pytest.raises(BufferError):
        tern.load(memoryview(data)[::2])
    assert tern.load(str(digits_path)).path == tern.load(digits_path).path == str(digits_path)


def mappings(path):
    return pathlib.Path("/proc/self/maps").read_text().count(str(path))


def test_close_frees_the_model(digits_path, images, recorded, tmp_path):
    digits_path = shutil.copy(digits_path, tmp_path / "own.tern")  # models of other tests may still map theirs
    with tern.load(digits_path) as model:
        assert not model.closed and mappings(digits_path) > 0
        session, forward = model.session(), model["forward"]
        logits, other = model(images), session(images)
    assert model.closed and session.closed and mappings(digits_path) == 0
    assert repr(model) == f"tern.Model('{digits_path}', closed)"
    for result in (logits, other):  # results are the caller's
        np.testing.assert_allclose(result.numpy(), recorded["logits"][:2], rtol=1e-4, atol=1e-5)
    acts = [lambda: model(images), lambda: forward(images), lambda: session(images), model.session, model.__enter__,
            lambda: model.states, lambda: model["forward"], lambda: model.seed(1), lambda: model.profile(images)]
    for act in acts:
        with pytest.raises(tern.InvalidArgument, match=r"the model is closed; tern.load\(\) opens it again"):
            act()
    model.close()
    assert model.path == str(digits_path)


def test_close_of_a_session(digits, images):
    with digits.session() as session:
        result = session(images)
        function = session["forward"]
        graph = session.capture(images)
    assert session.closed and not digits.closed
    for act in (lambda: session(images), lambda: function(images), graph.replay, session.stats, session.__enter__):
        with pytest.raises(tern.InvalidArgument, match=r"the session is closed; model.session\(\) makes another"):
            act()
    session.close()
    assert digits(images).shape == result.shape == graph.outputs.shape
    with pytest.raises(KeyError), digits.session() as session:
        raise KeyError
    assert session.closed


def test_close_frees_memory_at_once(tmp_path):
    """States and intermediate values are private memory, of the size of a large input."""
    import resource

    def resident():
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    model = tern.load(DIGITS / "digits.pt2", weight_cache="off")
    x = np.zeros((4096, 1, 8, 8), "float32")
    session = model.session()
    session(x)
    used = session.stats().arena_bytes
    assert used > 10e6
    before = resident()
    session.close()
    assert before - resident() > 0.8 * used


def test_close_waits_for_runs(digits, recorded):
    session, wrong = digits.session(), []

    def work():
        try:
            while True:
                session(recorded["images"])
        except tern.InvalidArgument as e:
            wrong.append(str(e))

    threads = [threading.Thread(target=work)]
    [t.start() for t in threads]
    time.sleep(0.1)
    digits.close()
    [t.join(20) for t in threads]
    assert wrong == ["the model is closed; tern.load() opens it again"]


def test_validate(digits_path, tmp_path):
    assert tern.validate(digits_path) == []
    broken = tmp_path / "broken.tern"
    data = bytearray(digits_path.read_bytes())
    data[100] ^= 1
    broken.write_bytes(data)
    (finding, *_) = tern.validate(broken)
    assert finding.rule and finding.message and finding.rule in str(finding)
    with pytest.raises(tern.BadFile) as e:
        tern.load(broken, verify="now")
    assert e.value.rule == finding.rule and e.value.offset == finding.offset and isinstance(e.value, ValueError)
    with pytest.raises(tern.IoError, match="no-such") as e:
        tern.load("no-such.tern")
    assert isinstance(e.value, OSError) and e.value.code == "io"


def test_errors_name_node_and_line():
    from tern._errors import make_error

    e = make_error("runtime", "index 9 is out of range for 4 rows (node 3 of 'forward' (embedding, from aten.embedding.default, "
                              "lm.tok, model.py:4)); ids must be below 4")
    assert isinstance(e, tern.RunError) and isinstance(e, RuntimeError)
    assert (e.node, e.op, e.line, e.hint) == (3, "embedding", "model.py:4", "ids must be below 4")


def test_export_options(tmp_path, images, recorded):
    path = tmp_path / "small.tern"
    report = tern.export(DIGITS / "digits.pt2", path, quantize=["int8"], compress="zstd:3", name_size={"s34": "batch"})
    assert report.path == str(path) and report.bytes == path.stat().st_size
    assert report.quantized["weights"] and report.data["output"] == report.path and report.context is None
    text = repr(report)
    assert text.startswith(f"tern.ExportReport('{path}', ") and "quantized weights" in text and "\n" not in text and len(text) < 200
    with pytest.raises(AttributeError):
        report.bytes = 0
    model = tern.load(path)
    assert model.inputs[0].shape[0] == "batch"
    assert (model(images).numpy().argmax(1) == recorded["logits"][:2].argmax(1)).all()
    with pytest.raises(tern.InvalidArgument, match="int3"):
        tern.export(DIGITS / "digits.pt2", path, quantize="int3")
    with pytest.raises(tern.IoError):
        tern.export("no-such.pt2", path)
    with pytest.raises(tern.InvalidArgument, match="--tune measures"):
        tern.export(DIGITS / "digits.pt2", path, tune=True)
    with pytest.raises(tern.InvalidArgument, match="--group") as e:
        tern.export(DIGITS / "digits.pt2", path, quantize="int4", group="x")
    assert "no option" not in str(e.value)
    tern.export(DIGITS / "digits.pt2", path, train=None)
    assert list(tern.load(path).functions) == ["forward"]


def calibrated(path, samples, **options):
    report = tern.export(DIGITS / "digits.pt2", path, quantize="int4", calibrate=samples, **options)
    return report.quantized


def test_export_of_bytes(tmp_path, images, recorded):
    data = (DIGITS / "digits.pt2").read_bytes()
    for source in (data, bytearray(data), io.BytesIO(data)):
        tern.export(source, tmp_path / "a.tern")
        np.testing.assert_allclose(tern.load(tmp_path / "a.tern")(images).numpy(), recorded["logits"][:2], rtol=1e-4, atol=1e-5)
    with pytest.raises(tern.BadFile):
        tern.export(data[:1000], tmp_path / "a.tern")


def test_calibration_in_memory(tmp_path, recorded):
    """The errors are those of the same samples in a file."""
    images = recorded["images"]
    np.savez(tmp_path / "a.npz", images=images[:8])
    np.savez(tmp_path / "b.npz", images=images[8:16])
    wanted = calibrated(tmp_path / "x.tern", [tmp_path / "a.npz", tmp_path / "b.npz"])
    assert wanted["weights"][0]["sqnr_db"] > 0
    first, second = images[:8], images[8:16]
    for samples in ([first, second], [{"images": first}, {"images": second}], [(first,), (second,)],
                    ({"images": x} for x in (first, second)), iter([first, second]), [tmp_path / "a.npz", second],
                    [tern.Tensor(first), tern.Tensor(second)]):
        assert calibrated(tmp_path / "x.tern", samples) == wanted
    np.savez(tmp_path / "all.npz", images=images)
    wanted = calibrated(tmp_path / "x.tern", tmp_path / "all.npz")
    for samples in (images, {"images": images}, (images,)):
        assert calibrated(tmp_path / "x.tern", samples) == wanted
    for samples, text in (([], "there are no samples"), ([["a"]], "sample 0 is a str, not an array"), (7j, "not a complex"),
                          ([{"images": first}, {"images": "x"}], "input 'images' of sample 1 is a str")):
        with pytest.raises((TypeError, ValueError), match=text):
            calibrated(tmp_path / "x.tern", samples)
    with pytest.raises(tern.InvalidArgument, match="--calibrate"):
        calibrated(tmp_path / "x.tern", {"pictures": first})


def test_calibration_by_torch(tmp_path, recorded):
    torch = pytest.importorskip("torch")
    images = recorded["images"][:8]
    wanted = calibrated(tmp_path / "x.tern", [images])
    assert calibrated(tmp_path / "x.tern", [torch.from_numpy(images).requires_grad_()]) == wanted


def test_training(tmp_path):
    from conftest import ROOT, read_safetensors

    path = tmp_path / "train.tern"
    train = {"loss": "cross_entropy", "optimizer": "adamw", "lr": 1e-2}
    tern.export(ROOT / "examples/training/digits.pt2", path, train=train)
    session = tern.load(path).session()
    data = read_safetensors(DIGITS / "digits_test.safetensors")
    images, labels = data["images"][:32], data["labels"][:32].astype("int64")
    losses = [session.step(images, labels, rate=1e-2) for _ in range(8)]
    assert losses[-1] < losses[0]


def test_parameter_groups(tmp_path):
    from conftest import ROOT, read_safetensors

    path = tmp_path / "groups.tern"
    groups = {"ndim<2": {"weight_decay": 0, "betas": (0.8, 0.99)}, "classifier": {"lr": "0.5x"}, "features": {"frozen": True}}
    tern.export(ROOT / "examples/training/digits.pt2", path, train={"loss": "cross_entropy", "params": groups})
    session = tern.load(path).session()
    data = read_safetensors(DIGITS / "digits_test.safetensors")
    images, labels = data["images"][:32], data["labels"][:32].astype("int64")
    before = session.read_state("classifier.weight").numpy().copy()
    session.write_state("optimizer.lr_factor.classifier", np.array(0.0))
    session.step(images, labels, rate=1e-2)
    assert (session.read_state("classifier.weight").numpy() == before).all()
    session.write_state("optimizer.lr_factor.classifier", np.array(0.5))
    session.step(images, labels, rate=1e-2)
    assert (session.read_state("classifier.weight").numpy() != before).any()
    with pytest.raises(tern.InvalidArgument, match="the nearest is 'classifier"):
        tern.export(ROOT / "examples/training/digits.pt2", path, train={"params": {"clasifier": {"lr": 1}}})
    with pytest.raises(TypeError, match="takes a dictionary of settings"):
        tern.export(ROOT / "examples/training/digits.pt2", path, train={"params": {"classifier": 1}})


def test_named_steps(tmp_path):
    from conftest import ROOT

    path, rng = tmp_path / "gan.tern", np.random.default_rng(0)
    steps = {
        "d": {"loss": "discriminator_loss", "trains": "discriminator", "optimizer": "adam"},
        "g": {"loss": 1, "trains": "generator", "optimizer": "sgd", "lr": 0.1},
    }
    tern.export(ROOT / "examples/training/gan.pt2", path, train={"step": steps})
    session = tern.load(path).session()
    real, noise = (rng.standard_normal((16, n), dtype="float32") for n in (2, 8))
    names = ("discriminator.0.weight", "generator.0.weight")

    def values():
        return [session.read_state(name).numpy().copy() for name in names]

    before = values()
    assert session.step(real, noise, rate=1e-3, method="d") > 0
    after = values()
    assert (after[0] != before[0]).any() and (after[1] == before[1]).all()
    assert session.step(real, noise, rate=1e-3, method="g") > 0
    assert (values()[0] == after[0]).all() and (values()[1] != after[1]).any()


def test_devices():
    first, *_ = tern.devices()
    assert first.name == "cpu" and first.problem == ""


def test_what_is_refused(digits):
    with pytest.raises(TypeError, match="load\\(\\) it there"):
        pickle.dumps(digits)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(digits.session())


def run_python(code, *args):
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    return subprocess.run([sys.executable, "-c", code, *map(str, args)], env=env, capture_output=True, text=True, timeout=60)


def test_fork_is_refused(digits_path):
    code = """
import os, sys, numpy, tern
model = tern.load(sys.argv[1])
x = numpy.zeros((2, 1, 8, 8), "float32")
model(x)
pid = os.fork()
if pid == 0:
    try:
        model(x)
    except tern.RunError as e:
        sys.exit(7 if "spawn" in str(e) else 8)  # by all destructors
    os._exit(9)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert run_python(code, digits_path).returncode == 7


def test_fork_is_refused_by_all_that_has_threads(digits_path):
    code = """
import os, sys, numpy, tern
path = sys.argv[1]
model = tern.load(path)
pid = os.fork()
if pid == 0:
    acts = [lambda: tern.load(path), lambda: tern.inspect(path), lambda: tern.validate(path), tern.devices,
            lambda: model.with_weights(path), lambda: model.with_lora(path), model.session]
    for act in acts:
        try:
            act()
        except tern.RunError as e:
            assert "spawn" in str(e)
        else:
            os._exit(9)
    os._exit(7)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert run_python(code, digits_path).returncode == 7


def test_ctrl_c_ends_the_command(digits_path):
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    code = "import sys, tern._command; print('started', flush=True); tern._command.main()"
    words = ["bench", str(digits_path), "--random", "--size", "s34=2", "--seconds", "600"]
    for handled, status in ((signal.SIG_DFL, -signal.SIGINT), (signal.SIG_IGN, -signal.SIGTERM)):
        command = subprocess.Popen(
            [sys.executable, "-c", code, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, handled),
        )  # fmt: skip
        assert command.stdout.readline() == b"started\n"
        time.sleep(0.5)
        command.send_signal(signal.SIGINT)
        if handled == signal.SIG_IGN:  # the choice of the command's caller
            time.sleep(0.2)
            assert command.poll() is None
            command.terminate()
        command.communicate(timeout=20)
        assert command.returncode == status


def test_exit_is_clean(digits_path):
    code = """
import sys, threading, numpy, tern
model = tern.load(sys.argv[1])
session = model.session()
x = numpy.zeros((2, 1, 8, 8), "float32")
graph = session.capture(x)
y, z = model(x), tern.Tensor(x)
capsule = z.__dlpack__()
array = numpy.from_dlpack(y)
cycle = [model]; cycle.append(cycle)
def call():
    while True:
        model(x)

for _ in range(3):  # at the end one of them runs, and others wait for the GIL
    threading.Thread(target=call, daemon=True).start()
import time; time.sleep(0.05)
"""
    for _ in range(3):
        done = run_python(code, digits_path)
        assert (done.returncode, done.stderr) == (0, "")


def test_import_is_lazy():
    code = "import sys, tern; print([m for m in ('numpy', 'torch', 'json', 're', 'tern._export') if m in sys.modules])"
    done = run_python(code)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_memory_does_not_grow(digits, images):
    import resource

    def grow(count):
        for _ in range(count):
            digits(images).numpy()
            tern.Tensor(images)
            digits.session()(images)

    grow(200)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    grow(2000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096  # KiB
