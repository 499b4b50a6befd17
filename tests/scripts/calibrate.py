#!/usr/bin/env python3
"""Quantizing guided by data, from the command line: errors as PyTorch finds them, formats for a target, charts, messages.

  calibrate.py --tern TERN      ends with `N passed, N failed`

The model, its samples and their errors are those of tests/data/calibrate/make.py.
"""
import argparse
import json
import pathlib
import struct
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/calibrate"
MODEL, SAMPLES = DATA / "blocks.pt2", DATA / "samples.safetensors"
DIGITS, IMAGES = ROOT / "examples/digits/digits.pt2", ROOT / "examples/digits/digits_test.safetensors"
LADDER = ["mxfp4", "nvfp4", "int4", "int8", None]
TARGETS = [5, 12, 15, 18, 20, 25, 30, 35, 40, 42, 45, 50]
SVG = "{http://www.w3.org/2000/svg}"
# Change of an SQNR by float32 sums, in dB.
CLOSE = 0.02


class QuantizingChecks(checks.Checks):
    def export(self, *options, model=MODEL, output="model.tern"):
        return self.run("export", model, "-o", self.folder / output, *options)

    def report(self, *options, **places):
        done = self.export("--json", *options, **places)
        return json.loads(done.stdout)["quantized"] if done.returncode == 0 else {"error": done.stderr}


def errors_are_those_of_pytorch(c):
    for name, expected in json.loads((DATA / "errors.json").read_text()).items():
        got = c.report("--quantize", name, "--rule", "torchao", "--calibrate", SAMPLES).get("calibration")
        if got is None:
            c.check(f"errors of {name}", False, "no report")
            continue
        layers = {layer["layer"]: layer for layer in got["layers"]}
        c.check(f"layers of {name}", layers.keys() == expected["own"].keys(), list(layers))
        pairs = [(f"{kind} of {layer}", layers[layer][kind], errors)
                 for kind in ("own", "accumulated") for layer, errors in expected[kind].items() if layer in layers]
        pairs.append(("the result", got["results"][0], expected["result"]))
        wrong = [f"{what}: {mine['sqnr_db']} dB, {mine['cosine']}; PyTorch {its['sqnr_db']} dB, {its['cosine']}"
                 for what, mine, its in pairs
                 if abs(mine["sqnr_db"] - its["sqnr_db"]) > CLOSE or abs(mine["cosine"] - its["cosine"]) > 1e-5]
        c.check(f"errors of {name}", not wrong, "; ".join(wrong))


def formats_follow_the_target(c):
    before = None
    for target in TARGETS:
        got = c.report("--calibrate", SAMPLES, "--target-sqnr", target)
        if "error" in got:
            c.check(f"target {target}", False, got["error"])
            continue
        chosen = {w["weight"]: LADDER.index(w["format"]) for w in got["weights"]}
        chosen |= {k["weight"]: LADDER.index(None) for k in got["kept"]}
        stored = got["bytes"] + sum(k["bytes"] for k in got["kept"])
        reached = got["calibration"]["target"]["reached_db"]
        result = got["calibration"]["results"][0]["sqnr_db"]
        c.check(f"target {target} is reached", reached >= target and reached == result, f"{reached}, {result}")
        c.check(f"target {target}, every weight", len(chosen) == 6, chosen)
        c.check(f"target {target}, reasons", all(f"--target-sqnr {target}: in int8" in k["reason"] for k in got["kept"]),
                got["kept"])
        if before is not None:
            c.check(f"target {target} takes no fewer bytes", stored >= before[1], f"{stored} after {before[1]}")
            # int4 takes more bytes than nvfp4, and either may have less error: formats are ordered by bytes.
            c.check(f"target {target} makes no weight smaller", all(chosen[w] >= before[0][w] for w in chosen),
                    f"{chosen} after {before[0]}")
        before = chosen, stored
    c.check("a high target costs more than a low one", before[1] > 22000, before)


def a_list_of_formats(c):
    got = c.report("--quantize", "int8,mxfp4", "--quantize", "float8:head", "--calibrate", SAMPLES, "--target-sqnr", 20)
    formats = {w["weight"]: w["format"] for w in got.get("weights", [])}
    c.check("formats of a list", set(formats.values()) <= {"int8", "mxfp4", "float8"}, got)
    c.check("formats of a pattern", formats.get("head.weight") == "float8", formats)
    low = c.report("--quantize", "int8,mxfp4", "--calibrate", SAMPLES, "--target-sqnr", 3)
    c.check("the smallest comes first", {w["format"] for w in low["weights"]} == {"mxfp4"}, low)


def the_same_each_time(c):
    for output in ("first.tern", "second.tern"):
        c.export("--calibrate", SAMPLES, "--target-sqnr", 30, output=output)
    first, second = ((c.folder / f"{name}.tern").read_bytes() for name in ("first", "second"))
    c.check("the same archive each time", first == second)
    formats = c.report("--calibrate", SAMPLES, "--target-sqnr", 30)["weights"]
    rules = [text for w in formats for text in ("--quantize", f"{w['format']}:{w['module'].replace('<', '?')}")]
    c.export(*rules, "--calibrate", SAMPLES, output="rules.tern")
    c.check("the archive is that of the formats by name", (c.folder / "rules.tern").read_bytes() == first)
    c.check("it validates", c.run("validate", c.folder / "first.tern").returncode == 0)


def importance_comes_of_samples(c):
    c.export("--quantize", "int4", output="plain.tern")
    c.export("--quantize", "int4", "--calibrate", SAMPLES, output="weighed.tern")
    c.export("--quantize", "int4", "--rule", "torchao", output="torchao.tern")
    c.export("--quantize", "int4", "--rule", "torchao", "--calibrate", SAMPLES, output="torchao_too.tern")
    plain, weighed, torchao, too = ((c.folder / f"{name}.tern").read_bytes()
                                    for name in ("plain", "weighed", "torchao", "torchao_too"))
    c.check("samples weigh errors", plain != weighed)
    c.check("torchao's scales do not depend on samples", torchao == too)


def errors_are_fed_back(c):
    for name in ("int4", "int8", "mxfp4", "nvfp4"):
        options = ["--quantize", name, "--calibrate", SAMPLES]
        search, fed = c.report(*options), c.report(*options, "--rule", "gptq")
        if "error" in search or "error" in fed:
            c.check(f"gptq in {name}", False, fed)
            continue
        own = {layer["layer"]: layer["own"]["sqnr_db"] for layer in search["calibration"]["layers"]}
        worse = {layer["layer"]: (layer["own"]["sqnr_db"], own[layer["layer"]]) for layer in fed["calibration"]["layers"]
                 if layer["own"]["sqnr_db"] < own[layer["layer"]]}
        c.check(f"gptq in {name}: every layer has less error", not worse, worse)
        c.check(f"gptq in {name}: the same bytes", fed["bytes"] == search["bytes"])
        c.check(f"gptq in {name}: the archive validates", c.run("validate", c.folder / "model.tern").returncode == 0)
    for output in ("first.tern", "second.tern"):
        c.export("--quantize", "int4", "--rule", "gptq", "--calibrate", SAMPLES, output=output)
    first, second = ((c.folder / f"{name}.tern").read_bytes() for name in ("first", "second"))
    c.check("gptq: the same archive each time", first == second)


def columns_are_scaled(c):
    plain = c.report("--quantize", "int4", "--calibrate", SAMPLES)
    scaled = c.report("--quantize", "int4", "--calibrate", SAMPLES, "--awq")
    c.check("awq keeps the formats", "error" not in scaled and scaled["bytes"] == plain["bytes"], scaled)
    own = {layer["layer"]: layer["own"]["sqnr_db"] for layer in plain["calibration"]["layers"]}
    worse = {layer["layer"]: (layer["own"]["sqnr_db"], own[layer["layer"]]) for layer in scaled["calibration"]["layers"]
             if layer["own"]["sqnr_db"] < own[layer["layer"]] - 1}
    c.check("awq: no layer has much more error", not worse, worse)


def bits_are_a_limit(c):
    before = -100
    for bits in (4.4, 4.6, 5, 6, 8, 12, 20):
        got = c.report("--bits", bits, "--calibrate", SAMPLES)
        if "error" in got:
            c.check(f"bits {bits}", False, got["error"])
            continue
        stored = got["bytes"] + sum(k["bytes"] for k in got["kept"])
        numbers = sum(w["rows"] * w["columns"] for w in got["weights"]) + sum(k["bytes"] / 4 for k in got["kept"])
        reached = got["calibration"]["budget"]["reached"]
        result = got["calibration"]["results"][0]["sqnr_db"]
        c.check(f"bits {bits} are kept", reached <= bits and abs(stored * 8 / numbers - reached) < 1e-6,
                f"{reached}, {stored * 8 / numbers}")
        c.check(f"bits {bits} are used", reached > min(bits, 8) - 1 or bits > 8, reached)
        result = 200 if result is None else result
        c.check(f"bits {bits}: more bits have less error", result > before - 1, f"{result} after {before}")
        before = result


def the_archive_has_the_error(c):
    images = c.folder / "images.npy"
    tensors = IMAGES.read_bytes()
    (size,) = struct.unpack("<Q", tensors[:8])
    entry = json.loads(tensors[8:8 + size])["images"]
    begin, end = entry["data_offsets"]
    write_npy(images, "<f4", entry["shape"], tensors[8 + size + begin:8 + size + end])
    got = c.report("--quantize", "int4", "--calibrate", images, model=DIGITS)
    done = c.run("verify", c.folder / "model.tern", "--reference", DIGITS, "-i", images, "--json")
    verified = json.loads(done.stdout)["compared"][0]["results"][0]["sqnr_db"]
    reported = got["calibration"]["results"][0]["sqnr_db"]
    c.check("verify finds the same error", abs(verified - reported) < CLOSE, f"{verified}, {reported}")
    passed_over = c.report("--quantize", "int4", "--calibrate", IMAGES, model=DIGITS)
    c.check("labels beside inputs are passed over", passed_over == got, passed_over)


def charts(c):
    path = c.folder / "error.svg"
    c.export("--quantize", "int4", "--quantize", "int8:head", "--calibrate", SAMPLES, "--report", path)
    image = ElementTree.parse(path).getroot()
    bars = [g for g in image.iter(SVG + "g") if g.find(f"{SVG}rect[@class='bar']") is not None]
    titles = [g.find(SVG + "title").text for g in bars]
    c.check("a bar for every layer", len(bars) == 6 and len(set(titles)) == 6, titles)
    c.check("names of layers are text", sum("up<b>&\"'" in t for t in titles) == 2, titles)
    c.check("no elements come of names", {e.tag for e in image.iter()} <=
            {SVG + t for t in ("svg", "title", "desc", "style", "rect", "line", "text", "g")})
    c.check("the image is described", image.get("role") == "img" and len(image.find(SVG + "desc").text) > 20)
    c.check("the axis has a unit", any("(dB)" in (t.text or "") for t in image.iter(SVG + "text")))
    lengths = [float(g.find(f"{SVG}rect[@class='bar']").get("width")) for g in bars]
    c.check("int8 has the longest bar", lengths.index(max(lengths)) == 5, lengths)
    c.check("nothing else is left", not list(c.folder.glob("error.svg.*")))
    c.export("--quantize", "int4", "--report", path)
    weights = [t.text for t in ElementTree.parse(path).getroot().iter(SVG + "title")]
    c.check("weights without samples", sum(".weight, int4: " in t for t in weights) == 6, weights)
    done = c.export("--target-sqnr", "20", "--calibrate", SAMPLES, "--report")
    text = done.stdout
    rows = [line for line in text.splitlines() if line.endswith("###")]
    c.check("bars in a pipe", len(rows) == 6 and text.isascii(), text)
    c.check("no progress in a pipe", done.stderr == "", done.stderr)


def write_npy(path, kind, sizes, content):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({', '.join(map(str, sizes))},), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + content)


def messages(c):
    names = ("images", "float64", "narrow", "nan", "words", "empty")
    images, wide, narrow, nan, words, empty = (c.folder / "bad" / f"{n}.npy" for n in names)
    images.parent.mkdir()
    empty.mkdir()
    write_npy(images, "<f4", [2, 1, 8, 8], struct.pack("<128f", *range(128)))
    write_npy(wide, "<f8", [2, 1, 8, 8], struct.pack("<128d", *range(128)))
    write_npy(narrow, "<f4", [2, 1, 8, 7], struct.pack("<112f", *range(112)))
    write_npy(nan, "<f4", [1, 1, 8, 8], struct.pack("<64f", *[float("nan")] * 64))
    write_npy(words, "<i8", [2], struct.pack("<2q", 1, 2000))
    int4 = ["--quantize", "int4", "--calibrate"]
    for name, status, text, model, options in [
        ("a type", 2, "input 'images' is float32, but", DIGITS, [*int4, wide]),
        ("a size", 2, "sample 0: input 'images' has size 7 on axis 3", DIGITS, [*int4, narrow]),
        ("NaN", 2, "input 'images' of sample 0 contains NaN", DIGITS, [*int4, nan]),
        ("NaN in a later sample", 2, "input 'images' of sample 1 contains NaN", DIGITS, [*int4, images, "--calibrate", nan]),
        ("no such input", 2, "there is no input 'image'", DIGITS, [*int4, f"image={images}"]),
        ("no input", 2, "input 'words' is not given (the files have: labels, images, logits); give --calibrate words=FILE",
         MODEL, [*int4, IMAGES]),
        ("no file", 3, "No such file", DIGITS, [*int4, c.folder / "nothing.npy"]),
        ("an empty folder", 2, "--calibrate: no .safetensors", DIGITS, [*int4, empty]),
        ("a run that fails", 6, "--calibrate: sample 0: ", MODEL, [*int4, words]),
        ("no layer", 2, "'*' keeps it", DIGITS, [*int4, images, "--keep", "*"]),
        ("no layer for a target", 2, "'*' keeps it", DIGITS, [*int4, images, "--keep", "*", "--target-sqnr", 9]),
        ("samples alone", 2, "needs --quantize, --target-sqnr or --bits", DIGITS, ["--calibrate", images]),
        ("a target alone", 2, "give them with --calibrate", DIGITS, ["--target-sqnr", 20]),
        ("a list without a target", 2, "with several formats give --target-sqnr or --bits", DIGITS, ["--quantize", "int4,int8"]),
        ("awq without samples", 2, "--awq needs example inputs", DIGITS, ["--quantize", "int4", "--awq"]),
        ("bits alone", 2, "--bits needs example inputs", DIGITS, ["--bits", 5]),
        ("bits and a target", 2, "exclude each other", DIGITS, ["--bits", 5, "--target-sqnr", 9, "--calibrate", images]),
        ("bits below every format", 2, "--bits 3: the smallest formats take", DIGITS, ["--bits", 3, "--calibrate", images]),
        ("gptq without samples", 2, "--rule gptq needs example inputs", DIGITS, ["--quantize", "int4", "--rule", "gptq"]),
        ("a format twice", 2, "'int8' occurs twice", DIGITS,
         ["--quantize", "int8,int8", "--calibrate", images, "--target-sqnr", 20]),
        ("no such function", 2, "there is no function 'run'", DIGITS, [*int4, images, "--function", "run"]),
        ("a function without samples", 2, "--function needs", DIGITS, ["--quantize", "int4", "--function", "run"]),
        ("a chart of nothing", 2, "--report needs --quantize", DIGITS, ["--report"]),
        ("a chart of another kind", 2, "ends in .svg", DIGITS, ["--quantize", "int8", "--report", "error.png"]),
        ("a target out of reach", 1, "is not reached with any weight in mxfp4. The closest: ", DIGITS,
         ["--quantize", "mxfp4", "--calibrate", images, "--target-sqnr", 90]),
    ]:
        archive = c.folder / "bad.tern"
        archive.unlink(missing_ok=True)
        done = c.export(*options, model=model, output="bad.tern")
        c.check(f"message: {name}", done.returncode == status and text in done.stderr and done.stdout == "",
                f"status {done.returncode}, {done.stderr.strip()}")
        c.check(f"no archive: {name}", not archive.exists())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tern", required=True, type=pathlib.Path)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        c = QuantizingChecks(a.tern.resolve(), pathlib.Path(folder))
        for part in (errors_are_those_of_pytorch, formats_follow_the_target, a_list_of_formats, the_same_each_time,
                     importance_comes_of_samples, errors_are_fed_back, columns_are_scaled, bits_are_a_limit,
                     the_archive_has_the_error, charts, messages):
            part(c)
    print(f"{c.passed} passed, {c.failed} failed")
    return c.failed > 0


if __name__ == "__main__":
    sys.exit(main())
