#include "python/binding/tensor.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <tern/error.h>

#include <utility>
#include <vector>

#include "python/binding/arrays.h"
#include "python/binding/dlpack.h"
#include "python/binding/gil.h"
#include "python/binding/instance.h"
#include "python/binding/tensor_buffer.h"
#include "python/binding/tensor_summary.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tern::python {
namespace {

PyTypeObject* tensor_type = nullptr;  // owned by the module, alive as long as the interpreter

nb::tuple tuple_of(const std::vector<std::int64_t>& numbers) {
  nb::list list;
  for (const std::int64_t n : numbers) list.append(n);
  return nb::tuple(list);
}

/// Python helpers of numpy() and similar functions, because NumPy is a Python module.
nb::object helper(const char* name) {
  return nb::module_::import_("tern._arrays").attr(name);
}

/// The elements' codes as unsigned integers, in the same memory.
Tensor bits(const Tensor& t) {
  constexpr DType kUnsigned[] = {DType::u8, DType::u16, DType::u32, DType::u64};
  if (t.device() != "cpu")
    fail(ErrorCode::invalid_argument, fmt::format("bits(): the tensor is on {}; use bits() of its cpu()", t.device()));
  const int size = element_size(t.dtype());
  if (elements_per_byte(t.dtype()) != 1)
    return Tensor::borrow(t.data(), DType::u8, {static_cast<std::int64_t>(t.byte_size())}, {},
                          std::make_shared<Tensor>(t));
  int log2 = 0;
  while ((1 << log2) < size) ++log2;
  if (log2 > 3) fail(ErrorCode::unsupported, fmt::format("bits() does not support elements of {} bytes", size));
  auto owner = std::make_shared<Tensor>(t);
  if (t.read_only()) return Tensor::borrow(t.data(), kUnsigned[log2], t.sizes(), t.strides(), std::move(owner));
  return Tensor::borrow(owner->data(), kUnsigned[log2], t.sizes(), t.strides(), owner);
}

Tensor copy_on(const Tensor& t, const std::string& device) {
  const WithoutGil released;
  return t.to(device);
}

nb::object dlpack_of(const Tensor& t, nb::handle stream, nb::handle max_version, nb::handle device, nb::handle copy) {
  const bool on_host = t.device() == "cpu";
  // Elements on a device are complete: calls wait for their results.
  if (on_host && !stream.is_none()) fail(ErrorCode::invalid_argument, "__dlpack__: memory of the CPU has no stream");
  const bool versioned = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;
  const bool copies = !copy.is_none() && nb::cast<bool>(copy);
  const bool to_host = !device.is_none() && nb::cast<int>(nb::int_(device[0])) == 1;
  const bool moves = !device.is_none() && (to_host ? !on_host : !nb::tuple(device).equal(place_of(t)));
  if (moves && (!to_host || (!copy.is_none() && !copies)))
    throw nb::buffer_error(
        fmt::format("the tern.Tensor is on {}; move the result of from_dlpack instead", t.device()).c_str());
  return capsule_of(moves ? copy_on(t, "cpu") : copies ? copy_on(t, t.device()) : t, versioned);
}

}  // namespace

const Tensor* own_tensor(nb::handle object) {
  return Py_TYPE(object.ptr()) == tensor_type ? &instance<Tensor>(object.ptr()) : nullptr;
}

nb::object tensor_object(Tensor tensor) {
  return tensor.dtype() == DType::invalid ? nb::none() : nb::cast(std::move(tensor));
}

void add_tensor(nb::module_& m) {
  nb::class_<Tensor> c(m, "Tensor", nb::type_slots(tensor_buffer_slots()),
                       R"(An array of elements of one type, in memory of the CPU or of a device.

Calls return them. numpy.asarray(t), torch.from_dlpack(t) and memoryview(t) share its memory, which they keep alive.
Tensor(x) shares the memory of x: a NumPy array, a torch tensor, or anything with DLPack or a buffer.)");
  c.def(
      "__init__", [](Tensor* self, nb::handle array) { new (self) Tensor(tensor_of(array, DType::invalid, "array")); },
      "array"_a, "Shares the memory of an array.");
  c.def_prop_ro(
      "shape", [](const Tensor& t) { return tuple_of(t.sizes()); }, nb::sig("def shape(self) -> tuple[int, ...]"),
      "Sizes of the axes, a tuple of int.");
  c.def_prop_ro(
      "strides", [](const Tensor& t) { return tuple_of(t.strides()); }, nb::sig("def strides(self) -> tuple[int, ...]"),
      "Elements from one to the next along each axis, a tuple of int.");
  c.def_prop_ro(
      "dtype", [](const Tensor& t) { return std::string(name_of(t.dtype())); },
      "Element type by PyTorch's name: 'float32', 'bfloat16', 'float8_e4m3fn'.");
  c.def_prop_ro(
      "ndim", [](const Tensor& t) { return t.sizes().size(); }, "Number of axes.");
  c.def_prop_ro("size", &Tensor::numel, "Number of elements.");
  c.def_prop_ro("nbytes", &Tensor::byte_size, "Bytes of all elements without gaps.");
  c.def_prop_ro(
      "data_ptr", [](const Tensor& t) { return reinterpret_cast<std::uintptr_t>(t.data()); },
      "Address of the first element.");
  c.def_prop_ro("read_only", &Tensor::read_only, "Whether the memory must not be written.");
  c.def_prop_ro(
      "device", [](const Tensor& t) { return t.device(); }, "Where the memory is: 'cpu', 'cuda:0'.");
  c.def("to", &copy_on, "device"_a, "A contiguous copy in memory of a device: 'cpu', 'cuda', 'xpu:1'.");
  c.def(
      "cpu", [](const Tensor& t) { return t.device() == "cpu" ? t : copy_on(t, "cpu"); },
      "The tensor if it is in the CPU's memory, else a copy there.");
  c.def(
      "copy_from",
      [](const Tensor& t, nb::handle source) {
        const Tensor from = tensor_of(source, t.dtype(), "source");
        const WithoutGil released;
        t.copy_from(from);
      },
      "source"_a, "Copies the elements of an array of the same dtype and shape, from any device to any.");
  c.def(
      "bits", &bits,
      "The codes of the elements as unsigned integers of their size, in the same memory; of elements that share bytes, "
      "the bytes.");
  c.def(
      "copy", [](const Tensor& t) { return copy_on(t, t.device()); },
      "A contiguous copy with its own memory, on the same device.");
  c.def(
      "numpy", [](nb::handle self) { return helper("numpy")(self); },
      nb::sig("def numpy(self) -> numpy.typing.NDArray[typing.Any]"),
      "A NumPy array in the same memory. bfloat16 and float8 need the package ml_dtypes.");
  c.def(
      "torch", [](nb::handle self) { return helper("torch")(self); }, nb::sig("def torch(self) -> typing.Any"),
      "A torch tensor in the same memory.");
  c.def(
      "tolist", [](nb::handle self) { return helper("numpy")(self).attr("tolist")(); },
      nb::sig("def tolist(self) -> typing.Any"), "The elements as nested lists of Python numbers.");
  c.def(
      "item", [](nb::handle self) { return helper("numpy")(self).attr("item")(); },
      nb::sig("def item(self) -> typing.Any"), "The only element as a Python number.");
  c.def(
      "__array__",
      [](nb::handle self, nb::handle dtype, nb::handle copy) { return helper("array")(self, dtype, copy); },
      "dtype"_a = nb::none(), "copy"_a = nb::none());
  c.def("__dlpack__", &dlpack_of, nb::kw_only(), "stream"_a = nb::none(), "max_version"_a = nb::none(),
        "dl_device"_a = nb::none(), "copy"_a = nb::none());
  c.def("__dlpack_device__", &place_of);
  c.def("__getitem__", [](nb::handle self, nb::handle key) { return nb::object(helper("numpy")(self)[key]); });
  c.def("__len__", [](const Tensor& t) {
    if (t.sizes().empty()) throw nb::type_error("a tensor without axes has no length");
    return t.sizes()[0];
  });
  c.def("__float__", [](nb::handle self) { return nb::float_(nb::object(helper("numpy")(self).attr("item")())); });
  c.def("__int__", [](nb::handle self) { return nb::int_(nb::object(helper("numpy")(self).attr("item")())); });
  c.def("__bool__", [](nb::handle self) { return nb::cast<bool>(helper("truth")(self)); });
  c.def("__repr__", [](nb::handle self) { return nb::module_::import_("tern._text").attr("text")(self); });
  c.def("_summary", &summary_of, "edge"_a);
  c.def("__reduce_ex__", [](nb::handle self, int) { return helper("reduce")(self); });
  tensor_type = reinterpret_cast<PyTypeObject*>(c.ptr());
}

}  // namespace tern::python
