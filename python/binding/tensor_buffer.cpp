#include "python/binding/tensor_buffer.h"

#include <tern/tensor.h>

#include <memory>
#include <vector>

#include "python/binding/arrays.h"

namespace nb = nanobind;

namespace tern::python {
namespace {

/// Sizes and strides in bytes; a view points to them.
struct BufferLayout {
  std::vector<Py_ssize_t> sizes, strides;
};

int refuse(const char* why) {
  PyErr_SetString(PyExc_BufferError, why);
  return -1;
}

/// Column-major without gaps.
bool is_column_major(const Tensor& t) {
  const std::vector<std::int64_t> strides = t.strides();
  std::int64_t dense = 1;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (t.sizes()[i] > 1 && strides[i] != dense) return false;
    dense *= t.sizes()[i];
  }
  return true;
}

/// True if the memory has the layout required by the caller.
bool has_layout(const Tensor& t, int flags) {
  const auto asks = [flags](int bits) { return (flags & bits) == bits; };
  if (t.numel() == 0) return true;
  if (asks(PyBUF_C_CONTIGUOUS) || !asks(PyBUF_STRIDES)) return t.is_contiguous();
  if (asks(PyBUF_F_CONTIGUOUS)) return is_column_major(t);
  return !asks(PyBUF_ANY_CONTIGUOUS) || t.is_contiguous() || is_column_major(t);
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  if (!nb::inst_ready(self)) return refuse("the tensor was made by __new__ and never initialized");
  const Tensor& t = *nb::inst_ptr<Tensor>(self);
  if (t.device() != "cpu") return refuse("the tensor is on a device; use its cpu()");
  const char* format = buffer_format(t.dtype());
  if (format == nullptr)
    return refuse("Python's buffers do not support this element type; Tensor.bits() returns the codes");
  if (t.read_only() && (flags & PyBUF_WRITABLE) != 0) return refuse("the tensor is read-only");
  if (!has_layout(t, flags)) return refuse("the tensor has other strides; Tensor.copy() is contiguous");
  auto layout = std::make_unique<BufferLayout>();
  const int size = element_size(t.dtype());
  for (const std::int64_t s : t.sizes()) layout->sizes.push_back(s);
  for (const std::int64_t s : t.strides()) layout->strides.push_back(s * size);
  view->buf = const_cast<void*>(t.data());
  view->len = static_cast<Py_ssize_t>(t.byte_size());
  view->itemsize = size;
  view->readonly = t.read_only();
  view->ndim = static_cast<int>(layout->sizes.size());
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
  view->shape = (flags & PyBUF_ND) != 0 ? layout->sizes.data() : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? layout->strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = layout.release();
  view->obj = Py_NewRef(self);
  return 0;
}

void release_buffer(PyObject*, Py_buffer* view) {
  const std::unique_ptr<BufferLayout> layout(static_cast<BufferLayout*>(view->internal));
}

}  // namespace

PyType_Slot* tensor_buffer_slots() {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                                {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                                {0, nullptr}};
  return slots;
}

}  // namespace tern::python
