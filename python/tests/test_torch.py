"""With torch: tensors without copies, programs in memory, and verify()."""

import gc
import re

import numpy as np
import pytest

import tern
from conftest import DIGITS, ROOT

torch = pytest.importorskip("torch")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)

    def forward(self, x, options, scale=1.0):
        h = torch.relu(self.first(x)) * options["gain"]
        return {"logits": self.second(h) * scale, "hidden": (h, [h.sum()])}


def exported():
    torch.manual_seed(0)
    args = (torch.randn(3, 8), {"gain": torch.randn(16)})
    batch = torch.export.Dim("batch", max=64)
    program = torch.export.export(Net().eval(), args, dynamic_shapes=({0: batch}, {"gain": None}))
    return program, args


def test_a_program_in_memory(tmp_path):
    program, args = exported()
    path = tmp_path / "net.tern"
    tern.export(program, path)
    model = tern.load(path)
    for n in (3, 5):
        x = torch.randn(n, 8)
        expected = program.module()(x, args[1])
        got = model(x, args[1])
        assert list(got) == ["logits", "hidden"] and isinstance(got["hidden"][1], list)
        torch.testing.assert_close(got["logits"].torch(), expected["logits"].detach())
        torch.testing.assert_close(got["hidden"][1][0].torch(), expected["hidden"][1][0].detach())
    named = model(options={"gain": args[1]["gain"]}, x=x)
    np.testing.assert_array_equal(named["logits"].numpy(), got["logits"].numpy())
    flat = model(**{"x": x, "options.gain": args[1]["gain"]})
    np.testing.assert_array_equal(flat["logits"].numpy(), got["logits"].numpy())
    with pytest.raises(TypeError, match=r"options takes a dictionary with the keys \['gain'\]"):
        model(x, {"loss": x})
    with pytest.raises(TypeError, match="argument 'options' of 'forward' was not given"):
        model(x)
    with pytest.raises(TypeError, match="has no argument 'y'"):
        model(x, args[1], y=x)


def test_an_unknown_operator(tmp_path):
    class Unknown(torch.nn.Module):
        def forward(self, x):
            return torch.ops.tern_test.twice(x)

    @torch.library.custom_op("tern_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    twice.register_fake(lambda x: torch.empty_like(x))
    program = torch.export.export(Unknown(), (torch.ones(2),))
    with pytest.raises(tern.Unsupported, match="tern_test.twice") as e:
        tern.export(program, tmp_path / "x.tern")
    assert isinstance(e.value, NotImplementedError)


def test_no_program(tmp_path):
    with pytest.raises(TypeError, match="a Net is not a program: pass a torch.nn.Module with args="):
        tern.export(Net(), tmp_path / "x.tern")


TYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
TYPES += "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz".split()


@pytest.mark.parametrize("name", TYPES)
def test_types_share_memory(name):
    x = torch.tensor([[1, 0], [1, 1]]).to(getattr(torch, name))
    t = tern.Tensor(x)
    assert (t.dtype, t.shape, t.data_ptr) == (name, (2, 2), x.data_ptr())
    back = t.torch()
    assert back.dtype == x.dtype and back.data_ptr() == x.data_ptr()
    assert tern.Tensor(x.T).strides == x.T.stride()
    del x, t
    gc.collect()
    assert back.to(torch.complex128 if back.is_complex() else torch.float64).sum() == 3


def test_views_that_torch_computes_later(digits):
    x = torch.view_as_complex(torch.randn(3, 2))
    for view, name in ((x.conj(), "conj"), (x.conj().imag, "neg")):
        with pytest.raises(tern.InvalidArgument, match=rf"pass x.resolve_{name}\(\)"):
            tern.Tensor(view)
    assert tern.Tensor(torch.ones(2, requires_grad=True).detach()).tolist() == [1, 1]
    with pytest.raises(tern.InvalidArgument, match="input 'array' .*meta"):
        tern.Tensor(torch.ones(2, device="meta"))


def test_tensors_without_memory(digits):
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        fake = torch.empty(2, 1, 8, 8)
    others = [torch.ones(2, 1, 8, 8).to_sparse()]
    if torch.backends.mkldnn.is_available():
        others.append(torch.ones(2, 1, 8, 8).to_mkldnn())
    for x in [fake, *others]:
        with pytest.raises(tern.InvalidArgument, match="input 'images' .*") as e:
            digits(x)
        assert "\n" not in str(e.value)


def export_module(function, args, path):
    class Module(torch.nn.Module):
        pass

    Module.forward = function
    program = torch.export.export(Module(), args)
    tern.export(program, path)
    return program, tern.load(path)


def test_python_numbers_must_fit(tmp_path):
    types = (torch.int32, torch.uint8, torch.int64, torch.float32)
    args = tuple(torch.tensor(1, dtype=t) for t in types)

    def forward(self, i, b, l, f):
        return i.clone(), b.clone(), l.clone(), f.clone()

    model = export_module(forward, args, tmp_path / "numbers.tern")[1]
    for good in ((2**31 - 1, 255, 2**63 - 1, 2**70), (-(2**31), 0, -(2**63), np.float64(0.5))):
        assert [t.item() for t in model(*good)] == [*good[:3], float(good[3])]
    for i, values in enumerate(([2**31, -(2**31) - 1, 2**40 + 7, 2**70], [256, -1, 300], [2**63, -(2**63) - 1], [10**400])):
        for value in values:
            numbers = [0, 0, 0, 0]
            numbers[i] = value
            name = str(types[i]).removeprefix("torch.")
            with pytest.raises(tern.InvalidArgument, match=f"input '{'iblf'[i]}' takes {name}, which cannot hold the number"):
                model(*numbers)


def test_unsigned_numbers(tmp_path):
    def forward(self, u):
        return (u.clone(),)

    model = export_module(forward, (torch.tensor(1, dtype=torch.uint64),), tmp_path / "unsigned.tern")[1]
    for value in (0, 2**63, 2**64 - 1):
        (result,) = model(value)
        assert result.item() == value
    for value in (-1, 2**64, -(2**70)):
        with pytest.raises(tern.InvalidArgument, match="input 'u' takes uint64"):
            model(value)


def test_fixed_arguments(tmp_path):
    def forward(self, x, y, scale=1.0):
        return x + y * scale

    x = torch.ones(2)
    program, model = export_module(forward, (x, x, 2.0), tmp_path / "fixed.tern")
    assert model(x, x, 2.0).tolist() == model(x, x).tolist() == [3, 3]
    with pytest.raises(Exception, match="Guard|guard|specialized|[Ee]xpected"):
        program.module()(x, x, 3.0)
    with pytest.raises(tern.InvalidArgument, match="argument 'scale' .* fixed to 2.* but 3.0 was given"):
        model(x, x, 3.0)


def test_an_input_named_out(tmp_path):
    def forward(self, x, out):
        return x + out

    x = np.ones(2, "float32")
    model = export_module(forward, (torch.ones(2), torch.ones(2)), tmp_path / "out.tern")[1]
    assert model(x, out=3 * x).tolist() == model(x, 3 * x).tolist() == [4, 4]
    graph = model.session().capture(x, out=2 * x)
    assert graph.replay().tolist() == [3, 3]


def test_verify_of_views_and_wide_numbers():
    class Conj(torch.nn.Module):
        def forward(self, z):
            return z.conj(), z.conj().imag, (z * 2).to(torch.complex128)

    z = torch.randn(4, dtype=torch.complex64)
    for value in (z, z.to(torch.complex128)):
        found = tern.verify(torch.export.export(Conj(), (value,)), value, min_sqnr=60)
        assert found.ok, found


def test_results_as_torch_tensors(digits_path, recorded):
    images = torch.from_numpy(recorded["images"])
    result = torch.from_dlpack(tern.load(digits_path)(images))
    gc.collect()
    torch.testing.assert_close(result, torch.from_numpy(recorded["logits"]), rtol=1e-4, atol=1e-5)


def test_verify():
    program, args = exported()
    found = tern.verify(program, *args, min_sqnr=60)
    assert found and found.ok and not found.failures
    assert {r["name"] for r in found.results} >= {"logits"}
    assert any(n["own"] for n in found.nodes) and "SQNR" in repr(found)
    narrow = tern.verify(program, *args, precision="float16", min_sqnr=200)
    assert not narrow and narrow.failures and "FAILED" in repr(narrow)
    assert tern.verify(DIGITS / "digits.pt2", torch.zeros(2, 1, 8, 8))


def test_verify_mutation_and_fixed_arguments(tmp_path):
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def forward(self, x, scale, mode, flag=None):
            self.total += x
            x.mul_(2)
            return self.total * scale if mode == "scaled" else self.total

    args = (torch.ones(3), 2.5, "scaled", None)
    program = torch.export.export(Counter(), args)
    found = tern.verify(program, torch.arange(3.0), 2.5, "scaled", None)
    assert found.ok, found
    assert any(r["name"] == "x after the call" for r in found.results), found.results  # input modified by the program
    with pytest.raises(TypeError, match="takes 4 inputs"):
        tern.verify(program, torch.ones(3))
    tern.export(program, tmp_path / "counter.tern")
    model = tern.load(tmp_path / "counter.tern")
    x = torch.ones(3)
    assert model(x, 2.5, "scaled", None).tolist() == [2.5] * 3 and x.tolist() == [2] * 3
    assert model(x).tolist() == [7.5] * 3  # the state is kept; fixed arguments may be left out
    frozen = np.ones(3, "float32")
    frozen.flags.writeable = False
    with pytest.raises(tern.InvalidArgument, match="writes input 'x' back, but it was given read-only"):
        model(frozen)


def test_the_example_of_the_readme(digits_path):
    text = (ROOT / "README.md").read_text()
    (numbers,) = re.findall(r"^    \[\[(.*)\]\]$", text, re.M)
    x = torch.ones(1, 1, 8, 8)
    expected = torch.export.load(DIGITS / "digits.pt2").module()(x).detach().numpy()[0]
    np.testing.assert_allclose(expected, np.array(numbers.split(), "float32"), atol=0.006)
    np.testing.assert_allclose(tern.load(digits_path)(x).numpy()[0], expected, rtol=1e-4, atol=1e-5)


class Flow(torch.nn.Module):
    """The residual of Burgers' equation: derivatives of a network by its inputs, to the second order."""

    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))

    def forward(self, x):
        x = x.requires_grad_(True)
        u = self.net(x)
        (first,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first[:, 0].sum(), x, create_graph=True)
        return first[:, 1] + u[:, 0] * first[:, 0] - 0.01 * second[:, 0]


def test_derivatives_inside_a_module(tmp_path):
    torch.manual_seed(0)
    flow, x = Flow(), torch.rand(8, 2)
    tern.export(flow, tmp_path / "flow.tern", args=(x,), dynamic_shapes=({0: torch.export.Dim("points", max=64)},))
    model = tern.load(tmp_path / "flow.tern")
    for n in (8, 2, 33):
        x = torch.rand(n, 2)
        torch.testing.assert_close(model(x).torch(), flow(x.clone()).detach(), rtol=1e-4, atol=1e-5)
    assert {s.name for s in model.states} >= {"net.0.weight", "net.2.bias"}


@pytest.mark.parametrize("name", ["grad", "vjp", "jvp", "jacfwd", "jacrev", "hessian", "linearize", "vmap"])
def test_transforms_of_torch_func(tmp_path, name):
    func = torch.func
    transforms = {
        "grad": lambda f, x: func.grad(lambda x: f(x).sum())(x),
        "vjp": lambda f, x: func.vjp(f, x)[1](x)[0],
        "jvp": lambda f, x: func.jvp(f, (x,), (x.cos(),))[1],
        "jacfwd": lambda f, x: func.jacfwd(f)(x),
        "jacrev": lambda f, x: func.jacrev(f)(x),
        "hessian": lambda f, x: func.hessian(lambda x: f(x).prod())(x),
        "linearize": lambda f, x: func.linearize(f, x)[1](x.sin()),
        "vmap": lambda f, x: func.vmap(func.jacrev(f))(torch.stack([x, x * 2])),
    }

    class Transformed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(5, 5, dtype=torch.float64))

        def forward(self, x):
            return transforms[name](lambda x: torch.softmax(self.weight @ x, 0) * x.tanh(), x)

    torch.manual_seed(0)
    module, x = Transformed(), torch.randn(5, dtype=torch.float64)
    torch.export.save(tern.capture(module, (x,)), tmp_path / "program.pt2")
    tern.export(tmp_path / "program.pt2", tmp_path / "program.tern")
    x = torch.randn(5, dtype=torch.float64)
    torch.testing.assert_close(tern.load(tmp_path / "program.tern")(x).torch(), module(x).detach(), rtol=1e-9, atol=1e-12)


def test_arguments_of_a_module(tmp_path):
    with pytest.raises(TypeError, match=r"pass a torch.nn.Module with args="):
        tern.export(Net(), tmp_path / "net.tern")
    with pytest.raises(TypeError, match="pass a tuple of arguments"):
        tern.export(Net(), tmp_path / "net.tern", args=torch.ones(3, 8))
    with pytest.raises(TypeError, match="belong to a module"):
        tern.export("net.pt2", tmp_path / "net.tern", kwargs={"scale": 2.0})
    x, options = torch.randn(3, 8), {"gain": torch.randn(16)}
    net = Net()
    tern.export(net, tmp_path / "net.tern", args=(x, options), kwargs={"scale": 2.0})
    logits = tern.load(tmp_path / "net.tern")(x, options)["logits"]
    torch.testing.assert_close(logits.torch(), net(x, options, 2.0)["logits"].detach())
