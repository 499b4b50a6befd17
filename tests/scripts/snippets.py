#!/usr/bin/env python3
"""Compiles and runs the code of the pages: README.md, docs/*.md, and the README of each example.

  snippets.py --build BUILD [--torch PYTHON] [PAGE...]      ends with `N passed, N failed`

Of C++, whole programs are other tests' (tests/scripts/consumers.sh, tutorial.sh). Fragments become functions, compiled
together and, if they need nothing but what PREPARED makes, run. Python is parsed; with --torch, a Python that has PyTorch
and whose version the module in BUILD/python serves, it is run, all blocks of a page in order. Shell is run where a line
before the block says so. A line before a block says what the block cannot:

  <!-- given float* pixels -->      parameters of the function that the C++ fragment becomes
  <!-- run -->                      run this shell block, in a folder with model.pt2, tutorial.pt2 and tern
  <!-- part of examples/x.cpp -->   the file has this fragment, word for word
  <!-- of another library -->       not Tern's: Python is parsed, the rest is left alone
"""
import argparse
import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Parameters of additional runs of a fragment, and their values.
PREPARED = {
    "": "",
    "float* pixels": "pixels.data()",
    "std::vector<std::int64_t>& prompt": "prompt",
}
HEADERS = ["cancel", "collective", "graph", "linalg", "log", "optim", "sparse", "stream", "subgroup", "tern", "text", "text_embedder", "text_engine", "trace"]
# Pages whose blocks other tests compile or run verbatim.
ELSEWHERE = {"docs/tutorial.md": "tutorial.sh", "docs/api.md": "consumers.sh"}
# Definitions that Python blocks assume.
MODEL = """
import torch
from torch import nn
class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(64, 32), nn.ReLU())])
        self.lm_head = nn.Linear(32, 10)
    def forward(self, images):
        images = images.flatten(1)
        for layer in self.layers:
            images = layer(images)
        return self.lm_head(images)
class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(4))
    def forward(self, token):
        self.cache.add_(token)
        return self.cache.sum()
torch.manual_seed(0)
model, images, labels = Digits(), torch.randn(2, 1, 8, 8), torch.tensor([3, 7])
next_images, array = torch.randn(2, 1, 8, 8), torch.empty(2, 10)
import tern
tern.export_llm = lambda *_, **__: None  # needs a model of transformers, as python/tests/test_generate.py has
"""
# Definitions needed before the third block of docs/python.md, and so forth.
BETWEEN = {
    "docs/python.md": {
        2: """
torch.export.save(torch.export.export(Cached(), (torch.ones(4),)), "cached.pt2")
tern.export("cached.pt2", "cached.tern")
digits, model, token, array = model, tern.load("cached.tern"), torch.ones(4), torch.full((4,), 2.0)
""",
        4: "model, session = digits, digits.session()",
    },
}


def blocks(page):
    """(language, marker, text) of each fenced block."""
    text = page.read_text()
    for found in re.finditer(r"^(?:<!-- ([^\n]*) -->\n)?```(\w*)\n(.*?)^```$", text, re.M | re.S):
        yield found[2], found[1] or "", found[3]


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def add(self, name, problem):
        self.passed, self.failed = self.passed + (not problem), self.failed + bool(problem)
        if problem:
            print(f"FAIL {name}: {problem}")


def run(command, folder, **more):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    return done.stdout[-3000:] if done.returncode else ""


def fragments(found):
    """One program of all C++ fragments, with their lines, so that the compiler names page and line."""
    program = "".join(f"#include <tern/{name}.h>\n" for name in HEADERS)
    program += "#include <cstdint>\n#include <cstdio>\n#include <iostream>\n#include <vector>\nusing std::int64_t;\n"
    program += "struct Batch { void copy_to(tern::Tensor&, tern::Tensor&) const {} };  // the reader's own\n"
    calls = ""
    for i, (page, line, given, text) in enumerate(found):
        program += f"void fragment_{i}({given}) {{\n#line {line} \"{page}\"\n{text}}}\n"
        if given in PREPARED:
            calls += f"  std::puts(\"{page}:{line}\"); fragment_{i}({PREPARED[given]});\n"
    return program + ("int main() try {\n  std::vector<float> pixels(2 * 64);\n  std::vector<std::int64_t> prompt = {84, 104, 101};\n" +
                      calls + "} catch (const tern::Error& error) { return std::puts(error.what()), 1; }\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--torch")
    parser.add_argument("pages", nargs="*", default=["README.md", "docs/*.md", "examples/*/README.md"])
    args = parser.parse_args()
    build = (ROOT / args.build).resolve()
    checks = Checks()
    cpp, python = [], {}
    with tempfile.TemporaryDirectory() as work:
        shutil.copy(ROOT / "examples/digits/digits.pt2", f"{work}/model.pt2")
        shutil.copy(ROOT / "examples/tutorial/tutorial.pt2", work)
        pathlib.Path(work, "examples").symlink_to(ROOT / "examples")
        path = {**os.environ, "PATH": f"{build}:{os.environ['PATH']}"}
        for pattern in args.pages:
            for page in sorted(ROOT.glob(pattern)):
                name, text = str(page.relative_to(ROOT)), page.read_text()
                at = 0
                for language, marker, block in blocks(page):
                    at = text.index("\n" + block, at) + 1
                    line = text[:at].count("\n") + 1
                    ours = marker != "of another library"
                    if language == "python":
                        try:
                            ast.parse(block)
                            checks.add(f"{name}:{line}", "")
                        except SyntaxError as error:
                            checks.add(f"{name}:{line}", str(error))
                        if ours and name not in ELSEWHERE:
                            python.setdefault(name, []).append((line, block))
                    elif marker.startswith("part of "):
                        source = marker.removeprefix("part of ")
                        checks.add(f"{name}:{line}", "" if block in (ROOT / source).read_text() else f"{source} has other text")
                    elif language == "cpp" and ours and name not in ELSEWHERE and "int main(" not in block:
                        cpp.append((name, line, marker.removeprefix("given ") if marker.startswith("given ") else "", block))
                    elif language == "sh" and marker == "run" and name not in ELSEWHERE:
                        checks.add(f"{name}:{line}", run(["bash", "-ec", block], work, env=path))
        pathlib.Path(work, "fragments.cpp").write_text(fragments(cpp))
        compiled = run(["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-Wno-unused-but-set-variable",
                        f"-I{ROOT}/include", "fragments.cpp", f"-L{build}", "-ltern", "-ltern_text", f"-Wl,-rpath,{build}", "-o", "fragments"], work)
        checks.add(f"{len(cpp)} fragments of C++ compile", compiled)
        if not compiled:
            checks.add("fragments of C++ run", run(["./fragments"], work))
        if args.torch:
            path["PYTHONPATH"] = str(build / "python")
            for name, found in python.items():
                program = MODEL
                for i, (line, block) in enumerate(found):
                    program += BETWEEN.get(name, {}).get(i, "")
                    program += f"\nexec(compile({chr(10) * (line - 1) + block!r}, {name!r}, 'exec'))\n"
                pathlib.Path(work, "page.py").write_text(program)
                checks.add(f"{name}: Python", run([args.torch, "page.py"], work, env=path))
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(checks.failed > 0)


main()
