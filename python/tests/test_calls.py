"""Calls: what they take, and that their results are PyTorch's."""

import array
import gc

import numpy as np
import pytest

import tern
from conftest import in_order, program


def close(actual, expected):
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=1e-4, atol=1e-5)


def test_results_are_those_of_pytorch(digits, recorded):
    logits = digits(recorded["images"])
    assert isinstance(logits, tern.Tensor)
    assert logits.shape == (360, 10) and logits.dtype == "float32"
    close(logits, recorded["logits"])


def test_inputs_by_name_and_place(digits, images):
    close(digits(images=images), digits(images))
    close(digits["forward"](images), digits(images))


def test_results_outlive_the_model(digits_path, images, recorded):
    model = tern.load(digits_path)
    logits = model(images)
    array_, later = np.asarray(logits), model(images * 0)
    del model, logits, later
    gc.collect()
    close(array_, recorded["logits"][:2])


def test_results_are_apart(digits, images):
    first, second = digits(images), digits(images)
    assert first.data_ptr != second.data_ptr


def test_out_is_written_in_place(digits, images, recorded):
    out = np.zeros((2, 10), "float32")
    assert digits(images, out=out) is out
    close(out, recorded["logits"][:2])
    with pytest.raises(tern.InvalidArgument, match=r"result .* is float32\[2, 10\], but .* is float32\[3, 10\]"):
        digits(images, out=np.zeros((3, 10), "float32"))


def test_out_is_of_calls_alone(digits, images):
    session, out = digits.session(), np.zeros((2, 10), "float32")
    for act in (session.capture, session.time):
        with pytest.raises(tern.InvalidArgument, match="'forward' has no input 'out'; it takes 'images'"):
            act(images, out=out)
    assert not out.any()


def test_numpy_numbers_are_python_numbers():
    assert tern.Tensor(np.float64(2.5)).dtype == "float64" and tern.Tensor(np.float32(2.5)).dtype == "float32"
    with pytest.raises(tern.InvalidArgument, match="takes int64, which cannot hold the number"):
        tern.Tensor(2**63)


def test_strided_and_read_only_inputs(digits, images, recorded):
    wide = np.zeros((2, 1, 8, 16), "float32")
    wide[..., ::2] = images
    close(digits(wide[..., ::2]), recorded["logits"][:2])
    close(digits(images[::-1]), recorded["logits"][:2][::-1])
    images.flags.writeable = False
    close(digits(images), recorded["logits"][:2])


def test_buffers_of_other_types(digits, images, recorded):
    flat = array.array("f", images.ravel())
    view = memoryview(flat).cast("B").cast("f", images.shape)
    close(digits(view), recorded["logits"][:2])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda x: x.astype("float64"), r"input 'images' is float64\[2, 1, 8, 8\], where the program takes float32"),
        (lambda x: x[0], r"input 'images' is float32\[1, 8, 8\]"),
        (lambda x: x[:, :, :7], r"(size|takes|axis)"),
        (lambda x: x.astype(">f4"), "byte order of another processor"),
        (lambda x: x.astype("U1"), "elements of a type that Tern does not have"),
    ],
)
def test_wrong_arrays(digits, images, change, text):
    with pytest.raises(tern.InvalidArgument, match=text) as e:
        digits(change(images))
    assert isinstance(e.value, ValueError) and e.value.code == "invalid_argument"


def test_wrong_arguments(digits, images):
    with pytest.raises(TypeError, match="input 'images' is of type list.*numpy.asarray"):
        digits([1, 2])
    with pytest.raises(tern.InvalidArgument, match="'forward' takes 1 inputs .'images'., but 2 were given"):
        digits(images, images)
    with pytest.raises(tern.InvalidArgument, match="takes 1 inputs"):
        digits()
    with pytest.raises(tern.InvalidArgument, match="has no input 'x'; it takes 'images'"):
        digits(x=images)
    with pytest.raises(tern.InvalidArgument, match="input 'images' was given twice"):
        digits(images, images=images)
    with pytest.raises(tern.InvalidArgument, match="no function 'decode'; it has: forward"):
        digits["decode"]


def test_memory_of_other_devices(digits):
    class OnGpu:
        def __dlpack_device__(self):
            return (2, 1)

        def __dlpack__(self, **_):
            raise AssertionError("must not be called")

    with pytest.raises(tern.InvalidArgument, match=r"input 'images' is on cuda:1.*x.cpu\(\)"):
        digits(OnGpu())


NAMES = """cond cond_nested cond_two_outputs data_dependent dynamic_arith eigh_batched float8_casts item_size kv_cache map
    mx_mxfp4 scan while_loop while_newton opt_sgd opt_adamw batchnorm_train buffer_mutation user_input_mutation
    unbacked_raw kitchen_raw mut_dec""".split()


def leaves_of(x):
    if isinstance(x, (list, tuple, dict)):
        return [leaf for y in (x.values() if isinstance(x, dict) else x) for leaf in leaves_of(y)]
    return [x]


@pytest.mark.parametrize("name", NAMES)
def test_programs(name):
    """Control flow, mutation, data-dependent sizes and small floats, from the .pt2 file."""
    path, calls = program("pt215_" + name)
    model = tern.load(path)
    names = [v.name for v in model.inputs if not v.fixed]
    for call in calls:
        inputs, expected = in_order(call, "in"), in_order(call, "out")
        results = leaves_of(model(**dict(zip(names, inputs))))
        assert len(results) == len(expected)
        for actual, wanted in zip(results, expected):
            assert actual.shape == wanted.shape
            if wanted.dtype.itemsize == 1 or wanted.dtype.kind == "V":
                np.testing.assert_array_equal(actual.bits().numpy().view("uint8"), wanted.view("uint8"))
            else:
                close(actual, wanted)
        for key, wanted in call.items():
            if key.startswith("mut"):
                close(inputs[int(key[3:])], wanted)  # written to the caller's array
