"""Type checkers over programs that import the package: they read neither torch nor transformers, and take seconds."""

import ast
import importlib.util
import inspect
import os
import pathlib
import subprocess
import sys
import time

import pytest

import tern

PACKAGE = pathlib.Path(tern.__file__).parent
HEAVY = {"torch", "transformers"}

PROGRAM = '''
import io
import os
import pathlib

import numpy as np
import tern


def main(path: pathlib.Path, program: tern.ExportReport | None) -> float:
    report: tern.ExportReport = tern.export("digits.pt2", path, quantize=["int8"], calibrate=[{"images": np.ones(3)}])
    print(report.path, report.bytes + report.nodes, program)
    with tern.load(io.BytesIO(path.read_bytes()), threads=1) as model, model.session() as session:
        logits = session(np.zeros((2, 1, 8, 8), "float32"))
        assert isinstance(logits, tern.Tensor)
        shape: tuple[int, ...] = logits.shape
        try:
            model.read_state("cache").numpy()
        except tern.Cancelled as e:
            print(e.code, e.node)
        except tern.Error as e:
            raise SystemExit(str(e)) from e
        session.cancel()
        total = float(logits[0, 0] + 1)
        with tern.Trace("run.json") as trace, tern.scope("warm-up"):
            session(logits)
        graph = session.capture(logits)
        print(trace.events, graph.outputs.shape, graph.replay(), total, repr(logits).upper())
        with session.profile() as times:
            session(logits)
        print([n.seconds for n in times.nodes], tern.inspect(path).functions["forward"].root["features"].nodes)
    tern.set_log(lambda level, message: print(level.upper(), message))
    tern.load(path)
    tern.load(os.fspath(path))
    tern.load(b"")
    names: list[str] = [v.name for v in tern.load(path).inputs]
    return float(len(shape) + len(names) + sum(d.name == "cpu" for d in tern.devices()))
'''

WRONG = '''
import tern

tern.load(3)
tern.export("a.pt2", "b.tern").no_such
tern.no_such_function()
'''


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("path", sorted([*PACKAGE.glob("*.py"), *PACKAGE.glob("*.pyi")]), ids=lambda p: p.name)
def test_nothing_heavy_is_imported_by_statement(path):
    """Type checkers do not read modules that import_module loads."""
    assert not HEAVY & {name.split(".")[0] for name in imported(path)}


def test_the_stub_has_all_names():
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text())
    names = {a.asname for n in stub.body if isinstance(n, ast.ImportFrom) for a in n.names} | {"__version__"}
    assert names == set(tern.__all__)
    for name in names - {"__version__"}:
        assert inspect.getdoc(getattr(tern, name)), name


def check(folder, text):
    """mypy's status, output and seconds, without a cache."""
    (folder / "program.py").write_text(text)
    # Errors of the package are ignored, like errors of installed packages.
    (folder / "mypy.ini").write_text("[mypy]\nstrict = True\n[mypy-tern.*]\nignore_errors = True\n")
    env = dict(os.environ, MYPYPATH=str(PACKAGE.parent))
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-sqlite-cache", "program.py"], cwd=folder, env=env, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr, time.monotonic() - start


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="no mypy")
def test_mypy(tmp_path):
    status, text, seconds = check(tmp_path, PROGRAM)
    assert status == 0, text
    assert seconds < 120  # an idle machine takes 6 s
    read = {p.name for p in tmp_path.glob(".mypy_cache/*/*")}
    assert "tern" in read
    assert not HEAVY & {name.split(".")[0] for name in read}, read
    status, text, _ = check(tmp_path, WRONG)
    assert status == 1 and text.count("error:") == 3, text
