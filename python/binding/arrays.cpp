#include "python/binding/arrays.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <tern/error.h>

#include <string>
#include <vector>

#include "dtypes/convert.h"
#include "python/binding/dlpack.h"
#include "python/binding/owner.h"
#include "python/binding/tensor.h"

namespace nb = nanobind;

namespace tern::python {
namespace {

struct BufferFormat {
  DType dtype;
  const char* letters;
};

/// Letters of Python's struct module, used by NumPy. Integers are found by their sizes.
constexpr BufferFormat kBufferFormats[] = {
    {DType::boolean, "?"}, {DType::u8, "B"},  {DType::i8, "b"},   {DType::i16, "h"},  {DType::u16, "H"},
    {DType::i32, "i"},     {DType::u32, "I"}, {DType::i64, "q"},  {DType::u64, "Q"},  {DType::f16, "e"},
    {DType::f32, "f"},     {DType::f64, "d"}, {DType::c64, "Zf"}, {DType::c128, "Zd"}};

DType integer_of(bool is_signed, Py_ssize_t size) {
  switch (size) {
    case 1: return is_signed ? DType::i8 : DType::u8;
    case 2: return is_signed ? DType::i16 : DType::u16;
    case 4: return is_signed ? DType::i32 : DType::u32;
    case 8: return is_signed ? DType::i64 : DType::u64;
    default: return DType::invalid;
  }
}

DType dtype_of(const Py_buffer& view) {
  std::string_view letters = view.format == nullptr ? "B" : view.format;
  if (letters.size() > 1 && (letters[0] == '@' || letters[0] == '=' || letters[0] == '<')) letters.remove_prefix(1);
  if (letters.size() == 1 && std::string_view("bhilqn").find(letters) != std::string_view::npos)
    return integer_of(true, view.itemsize);
  if (letters.size() == 1 && std::string_view("BHILQN").find(letters) != std::string_view::npos)
    return integer_of(false, view.itemsize);
  for (const BufferFormat& f : kBufferFormats) {
    if (letters == f.letters) return f.dtype;
  }
  return DType::invalid;
}

[[noreturn]] void refuse(std::string_view name, const std::string& why) {
  fail(ErrorCode::invalid_argument, fmt::format("input '{}' {}", name, why));
}

/// Strides in elements, empty for memory without gaps in row-major order.
std::vector<std::int64_t> element_strides(std::span<const Py_ssize_t> shape, const Py_ssize_t* bytes, Py_ssize_t size,
                                          std::string_view name) {
  Py_ssize_t dense = size;
  bool contiguous = true;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return {};
    contiguous = contiguous && (shape[i] == 1 || bytes[i] == dense);
    dense *= shape[i];
  }
  if (contiguous) return {};
  std::vector<std::int64_t> strides;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (bytes[i] % size != 0)
      refuse(name, "has strides that are not whole numbers of elements; pass numpy.ascontiguousarray of it");
    strides.push_back(bytes[i] / size);
  }
  return strides;
}

Tensor borrow(void* data, bool read_only, DType dtype, std::span<const Py_ssize_t> shape, const Py_ssize_t* bytes,
              Py_ssize_t size, std::shared_ptr<void> owner, std::string_view name) {
  std::vector<std::int64_t> strides;
  if (bytes != nullptr) strides = element_strides(shape, bytes, size, name);
  std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  if (read_only)
    return Tensor::borrow(static_cast<const void*>(data), dtype, std::move(sizes), std::move(strides),
                          std::move(owner));
  return Tensor::borrow(data, dtype, std::move(sizes), std::move(strides), std::move(owner));
}

Tensor tensor_of_buffer(std::unique_ptr<Py_buffer, ReleaseBuffer> view, std::string_view name) {
  const Py_buffer& v = *view;
  const DType dtype = dtype_of(v);
  if (dtype == DType::invalid) {
    const std::string_view letters = v.format == nullptr ? "" : v.format;
    if (letters.starts_with('>') || letters.starts_with('!'))
      refuse(name, "has the byte order of another processor; pass x.astype(x.dtype.newbyteorder('='))");
    refuse(name, fmt::format("has elements of a type that Tern does not have (buffer format '{}', {} bytes each)",
                             letters, v.itemsize));
  }
  const std::span<const Py_ssize_t> shape(v.shape, static_cast<std::size_t>(v.ndim));
  return borrow(v.buf, v.readonly != 0, dtype, shape, v.strides, v.itemsize, owner_of(std::move(view)), name);
}

/// The types of ml_dtypes, without letters in the buffer protocol.
DType small_float(const std::string& name) {
  if (name == "float8_e8m0fnu") return DType::f8_e8m0;
  if (name == "float6_e2m3fn") return DType::f6_e2m3;
  if (name == "float6_e3m2fn") return DType::f6_e3m2;
  const DType dtype = dtype_from_name(name);
  return is_floating(dtype) && element_size(dtype) <= 2 ? dtype : DType::invalid;
}

/// A NumPy array with elements without letters.
Tensor tensor_of_array_interface(nb::handle object, std::string_view name) {
  const std::string type = nb::cast<std::string>(nb::str(object.attr("dtype").attr("name")));
  const DType dtype = small_float(type);
  if (dtype == DType::invalid) refuse(name, fmt::format("has elements of type {}, which Tern does not have", type));
  const nb::dict array = nb::cast<nb::dict>(object.attr("__array_interface__"));
  const nb::tuple data = nb::cast<nb::tuple>(array["data"]);
  const auto shape = nb::cast<nb::tuple>(array["shape"]);
  std::vector<Py_ssize_t> sizes, strides;
  for (nb::handle s : shape) sizes.push_back(nb::cast<Py_ssize_t>(s));
  if (!array["strides"].is_none()) {
    for (nb::handle s : nb::cast<nb::tuple>(array["strides"])) strides.push_back(nb::cast<Py_ssize_t>(s));
    if (strides.size() != sizes.size())
      refuse(name, fmt::format("has {} sizes, but {} strides (__array_interface__)", sizes.size(), strides.size()));
  }
  void* const address = PyLong_AsVoidPtr(data[0].ptr());
  if (address == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
  return borrow(address, nb::cast<bool>(data[1]), dtype, sizes, strides.empty() ? nullptr : strides.data(),
                element_size(dtype), owner_of(object), name);
}

bool can_represent(DType integer, std::int64_t value) {
  const int bits = 8 * element_size(integer);
  if (!is_signed_integer(integer)) return value >= 0 && (bits == 64 || value < std::int64_t{1} << bits);
  return bits == 64 || (value >= -(std::int64_t{1} << (bits - 1)) && value < std::int64_t{1} << (bits - 1));
}

[[noreturn]] void refuse_range(std::string_view name, DType dtype) {
  refuse(name, fmt::format("takes {}, which cannot hold the number that was given", name_of(dtype)));
}

/// A Python number as a tensor without axes.
Tensor tensor_of_number(nb::handle object, DType wanted, std::string_view name) {
  PyObject* const o = object.ptr();
  if (PyFloat_Check(o)) {
    if (wanted == DType::invalid) wanted = DType::f64;
    if (!is_floating(wanted) && !is_complex(wanted))
      throw nb::type_error(fmt::format("input '{}' takes {}, not a float", name, name_of(wanted)).c_str());
    Tensor t(wanted, {});
    const double value = PyFloat_AsDouble(o);
    convert(&value, DType::f64, t.data(), wanted, 1);
    return t;
  }
  if (wanted == DType::invalid) wanted = PyBool_Check(o) ? DType::boolean : DType::i64;
  Tensor t(wanted, {});
  int overflow = 0;
  const std::int64_t value = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow == 0) {
    if (is_integral(wanted) && !can_represent(wanted, value)) refuse_range(name, wanted);
    convert(&value, DType::i64, t.data(), wanted, 1);
  } else if (wanted == DType::u64) {
    const std::uint64_t large = PyLong_AsUnsignedLongLong(o);
    if (PyErr_Occurred() == nullptr) convert(&large, DType::u64, t.data(), wanted, 1);
  } else if (!is_integral(wanted)) {
    const double large = PyLong_AsDouble(o);
    if (PyErr_Occurred() == nullptr) convert(&large, DType::f64, t.data(), wanted, 1);
  } else {
    refuse_range(name, wanted);
  }
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse_range(name, wanted);
  }
  return t;
}

}  // namespace

const char* buffer_format(DType dtype) {
  for (const BufferFormat& f : kBufferFormats) {
    if (f.dtype == dtype) return f.letters;
  }
  return nullptr;
}

Tensor tensor_of(nb::handle object, DType wanted, std::string_view name) {
  PyObject* const o = object.ptr();
  if (const Tensor* own = own_tensor(object)) return *own;
  // Checked before buffers: numpy.float64 is a Python float, and a buffer of float64.
  if (PyFloat_Check(o) || PyLong_Check(o)) return tensor_of_number(object, wanted, name);
  if (PyObject_CheckBuffer(o)) {
    auto view = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(o, view.get(), PyBUF_FORMAT | PyBUF_STRIDES) == 0)
      return tensor_of_buffer(std::unique_ptr<Py_buffer, ReleaseBuffer>(view.release()), name);
    PyErr_Clear();
    if (nb::hasattr(object, "__array_interface__")) return tensor_of_array_interface(object, name);
  }
  Tensor tensor;
  if (tensor_of_dlpack(object, name, &tensor)) return tensor;
  throw nb::type_error(
      fmt::format("input '{}' is of type {}; Tern takes NumPy arrays, torch tensors, numbers and objects with DLPack "
                  "or a buffer (numpy.asarray makes an array from a list)",
                  name, nb::cast<std::string>(nb::module_::import_("tern._describe").attr("describe")(object)))
          .c_str());
}

}  // namespace tern::python
