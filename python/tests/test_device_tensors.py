"""Arrays in memory of a device. They run where there is one: tests/scripts/device.sh cuda tests/scripts/python.sh build."""

import os

import numpy as np
import pytest

import tern

DEVICE = next((d.name for d in tern.devices() if d.name != "cpu" and not d.problem), None)
needed = os.environ.get("TERN_TEST_NEEDS")
assert not needed or (DEVICE or "").startswith(needed), f"there is no {needed}"
pytestmark = pytest.mark.skipif(DEVICE is None, reason="no device but the CPU")
has_dlpack = pytest.mark.skipif((DEVICE or "").split(":")[0] not in ("cuda", "rocm"), reason="DLPack has no such device")


@pytest.fixture(scope="module")
def there(digits_path):
    return tern.load(digits_path, device=DEVICE)


def images(seed=0, n=2):
    return np.random.default_rng(seed).standard_normal((n, 1, 8, 8)).astype("float32")


class Producer:
    """Another library's array: memory of a tern.Tensor, and what was asked of it."""

    def __init__(self, tensor):
        self.tensor, self.streams = tensor, []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, stream=None, max_version=None):
        self.streams.append(stream)
        return self.tensor.__dlpack__(stream=stream, max_version=max_version)


def test_there_and_back():
    x = images()
    t = tern.Tensor(x).to(DEVICE)
    assert t.device.split(":")[0] == DEVICE.split(":")[0] and t.shape == x.shape and f"device={t.device}" in repr(t)
    np.testing.assert_array_equal(t.cpu().numpy(), x)
    t.copy_from(2 * x)
    np.testing.assert_array_equal(t.copy().cpu().numpy(), 2 * x)
    with pytest.raises(tern.InvalidArgument, match="takes no elements of"):
        t.copy_from(x[:1])


def test_host_memory_is_not_pretended():
    t = tern.Tensor(images()).to(DEVICE)
    with pytest.raises(TypeError, match=r"is on .*use its cpu\(\)"):
        t.numpy()
    with pytest.raises(BufferError, match="is on a device"):
        memoryview(t)
    with pytest.raises(tern.InvalidArgument, match="is on"):
        t.bits()


def test_results_stay_where_the_inputs_are(there, digits):
    x = images()
    expected = digits(x).numpy()
    result = there(tern.Tensor(x).to(DEVICE))
    assert result.device != "cpu"
    np.testing.assert_allclose(result.cpu().numpy(), expected, rtol=1e-5, atol=1e-5)
    assert there(x).device == "cpu"
    out = tern.Tensor(np.zeros((2, 10), "float32")).to(DEVICE)
    assert there(tern.Tensor(x).to(DEVICE), out=out) is out
    np.testing.assert_allclose(out.cpu().numpy(), expected, rtol=1e-5, atol=1e-5)


def test_a_model_of_the_cpu_refuses_them(digits):
    with pytest.raises(tern.InvalidArgument, match=r"input 'images' is on .*, but the session runs on cpu"):
        digits(tern.Tensor(images()).to(DEVICE))


def test_replays_read_and_write_the_device(there, digits):
    x = tern.Tensor(images()).to(DEVICE)
    graph = there.session().capture(x)
    for seed in range(3):
        x.copy_from(images(seed))
        result = graph.replay()
        assert result.device == x.device
        np.testing.assert_allclose(result.cpu().numpy(), digits(images(seed)).numpy(), rtol=1e-5, atol=1e-5)


@has_dlpack
def test_dlpack_shares_the_memory(there, digits):
    t = tern.Tensor(images()).to(DEVICE)
    assert t.__dlpack_device__() == ({"cuda": 2, "rocm": 10}[t.device.split(":")[0]], 0)
    foreign = Producer(t)
    assert tern.Tensor(foreign).data_ptr == t.data_ptr
    result = there(foreign)
    # The producer receives the stream waiting for it.
    assert all(isinstance(s, int) and s > 2 for s in foreign.streams)
    np.testing.assert_allclose(result.cpu().numpy(), digits(images()).numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(np.from_dlpack(t, device="cpu"), images())
    with pytest.raises(BufferError):
        t.__dlpack__(dl_device=(1, 0), copy=False)


@has_dlpack
def test_dlpack_of_objects_that_do_not_say_where_they_are(there):
    t = tern.Tensor(images()).to(DEVICE)

    class Capsule:
        def __dlpack__(self):
            return t.__dlpack__()

    taken = tern.Tensor(Capsule())
    assert (taken.device, taken.data_ptr) == (t.device, t.data_ptr)


def test_dlpack_copies_to_the_cpu():
    t = tern.Tensor(images()).to(DEVICE)

    class There:
        def __dlpack__(self, **_):
            return t.__dlpack__(max_version=(1, 1), dl_device=(1, 0))

    np.testing.assert_array_equal(tern.Tensor(There()).numpy(), images())
    with pytest.raises(BufferError, match="is on"):
        t.__dlpack__(dl_device=(1, 0), copy=False)


@pytest.mark.skipif((DEVICE or "").split(":")[0] in ("cuda", "rocm"), reason="DLPack has such a device")
def test_other_devices_have_no_dlpack():
    with pytest.raises(BufferError, match="has no DLPack form"):
        tern.Tensor(images()).to(DEVICE).__dlpack_device__()
