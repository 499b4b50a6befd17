"""Messages name types and shapes of wrong arguments, and never print contents."""

import subprocess
import sys

import numpy as np
import pytest

import tern
from conftest import DIGITS, program

MARK = 123.456
ARRAY = np.full((3, 50), MARK, "float32")


class Other:
    def __repr__(self):
        return str(MARK) * 1000


def message(act):
    with pytest.raises((TypeError, tern.Error, ValueError)) as e:
        act()
    text = str(e.value)
    assert "123.4" not in text and len(text) < 1000, text[:2000]
    return text


def test_wrong_arrays(digits, images):
    assert "float64[2, 1, 8, 8]" in message(lambda: digits(images.astype("float64")))
    assert "float32[3, 50]" in message(lambda: digits(ARRAY))
    assert "buffer format 'O'" in message(lambda: digits(np.full((2, 1, 8, 8), Other(), object)))
    assert "list of 3" in message(lambda: digits(ARRAY.tolist()))
    assert "type Other" in message(lambda: digits(Other()))
    assert "float32[3, 50]" in message(lambda: digits(images, out=ARRAY))
    message(lambda: digits(images, ARRAY))
    message(lambda: digits(imagess=ARRAY))
    message(lambda: digits.write_state(digits.states[0].name, ARRAY))
    message(lambda: digits.seed(ARRAY))
    message(lambda: digits[ARRAY])


def test_long_names_take_no_time(digits, images):
    name = "x" * 10**6  # seconds where a pattern begins again at each character
    for act in (lambda: digits(images, **{name: images}), lambda: digits.read_state(name)):
        with pytest.raises(tern.InvalidArgument):
            act()
    assert tern.InvalidArgument(f"a, 'b' ({name} m.py:12)").line == "m.py:12"
    assert tern.InvalidArgument("node " + "9" * 5000 + " of 'f' (add)").node is None


def test_wrong_sources():
    class Path:
        def __init__(self, path):
            self.path = path

        def __fspath__(self):
            return self.path

    for source in ("a\0b", Path("a\0b"), Path(5), "\ud800"):
        for act in (tern.load, tern.Trace):
            with pytest.raises((TypeError, ValueError)) as e:
                act(source)
            assert "bad_cast" not in str(e.value)
    for data in (b"", b"text", b"PK\3\4"):
        with pytest.raises(tern.BadFile) as e:
            tern.load(data)
        assert str(e.value).startswith("<memory>: "), e.value


def test_subinterpreters():
    code = f"import sys; sys.path[:] = {sys.path!r}; import tern"
    interpreters = "_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters"
    script = f"""
import tern, {interpreters} as interpreters
other = interpreters.create()
try:
    result = interpreters.run_string(other, {code!r})
except BaseException as error:
    result = error
assert "interpreter" in str(result), result
interpreters.destroy(other)
print(tern.Tensor(bytearray(4)).size)
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert result.stdout == "4\n", result.stderr


def test_wrong_structures():
    path, _ = program("pt215_kv_cache")
    model = tern.load(path)
    message(lambda: model({"a": ARRAY, ARRAY.tobytes()[:900]: 1}))
    message(lambda: model([ARRAY] * 20))


def test_wrong_options(tmp_path):
    path = tmp_path / "x.tern"
    for options in ({"quantize": ARRAY}, {"keep": [ARRAY]}, {"size": {"s34": ARRAY}}, {"annotate": {"*": {"k": ARRAY}}},
                    {"train": {"lr": ARRAY}}, {"llm": {"eos": [ARRAY]}}, {"target": [ARRAY]}, {"target": ARRAY}):
        name = next(iter(options))
        text = message(lambda: tern.export(DIGITS / "digits.pt2", path, **options))
        assert "numpy.ndarray of float32 [3, 50]" in text, (name, text)
    assert "numpy.ndarray of float32 [3, 50]" in message(lambda: tern.export(ARRAY, path))
    assert "numpy.ndarray of float32 [3, 50]" in message(lambda: tern.inspect(DIGITS / "digits.pt2", size={"s34": ARRAY}))
    message(lambda: tern.load(ARRAY.tolist()))
    message(lambda: tern.load(DIGITS / "digits.pt2", device=ARRAY))


def test_wrong_torch_tensors(digits):
    torch = pytest.importorskip("torch")
    tensor = torch.full((3, 50), MARK, dtype=torch.float64)
    message(lambda: digits(tensor))
    message(lambda: digits(tensor.to(torch.complex32)))
    message(lambda: tern.export(tensor, "x.tern"))


def test_fixed_arguments():
    from tern._pytree import _shown

    assert _shown(ARRAY) == "a numpy.ndarray of float32 [3, 50]" and _shown(2.5) == "2.5"
    assert len(_shown("x" * 1000)) < 80
