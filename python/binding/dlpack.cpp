#include "python/binding/dlpack.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <tern/dlpack.h>
#include <tern/error.h>

#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "python/binding/dlpack_exchange.h"

namespace nb = nanobind;

namespace tern::python {
namespace {

constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kPlain = "dltensor";

constexpr std::pair<int, const char*> kDevices[] = {
    {2, "cuda"},  {3, "pinned memory of cuda"},   {4, "opencl"}, {7, "vulkan"}, {8, "metal"},
    {10, "rocm"}, {13, "managed memory of cuda"}, {14, "oneapi"}};

void refuse_device(std::string_view name, int type, int id) {
  if (type == dlpack::kCpu) return;
  std::string device = "device type " + std::to_string(type);
  for (const auto& [number, text] : kDevices) {
    if (number == type) device = text;
  }
  fail(ErrorCode::invalid_argument,
       fmt::format("input '{}' lies on {}:{}, but Tern takes arrays in the CPU's memory and copies them to its devices "
                   "itself; pass x.cpu()",
                   name, device, id));
}

template <class Managed>
void delete_unused(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;  // it was taken, and has another name
  auto* const tensor = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (tensor->deleter != nullptr) tensor->deleter(tensor);
}

Tensor of_capsule(nb::handle capsule) {
  PyObject* const o = capsule.ptr();
  if (PyCapsule_IsValid(o, kVersioned)) {
    Tensor t = from_dlpack(static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(o, kVersioned)));
    PyCapsule_SetName(o, "used_dltensor_versioned");
    return t;
  }
  auto* const tensor = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(o, kPlain));
  if (tensor == nullptr) throw nb::python_error();
  Tensor t = from_dlpack(tensor);
  PyCapsule_SetName(o, "used_dltensor");
  return t;
}

nb::object call_dlpack(nb::handle object) {
  try {
    return object.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(dlpack::kMajor, dlpack::kMinor));
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;
  }
  return object.attr("__dlpack__")();  // of DLPack 0
}

/// As tensor_of_dlpack(), with whatever errors.
bool take(nb::handle object, std::string_view name, Tensor* tensor) {
  if (const DlpackExchange* exchange = exchange_of(object, name)) {
    dlpack::Versioned* managed = nullptr;
    if (exchange->from_python(object.ptr(), &managed) != 0) throw nb::python_error();
    const dlpack::Device device = managed->array.device;
    try {
      refuse_device(name, device.type, device.id);
      *tensor = from_dlpack(reinterpret_cast<DLManagedTensorVersioned*>(managed));
    } catch (...) {
      managed->deleter(managed);
      throw;
    }
    return true;
  }
  if (!nb::hasattr(object, "__dlpack__")) return false;
  if (nb::hasattr(object, "__dlpack_device__")) {
    const nb::object device = object.attr("__dlpack_device__")();  // whose items Python checks
    refuse_device(name, nb::cast<int>(nb::int_(device[0])), nb::cast<int>(nb::int_(device[1])));
  }
  *tensor = of_capsule(call_dlpack(object));
  return true;
}

[[noreturn]] void refuse(ErrorCode code, std::string_view name, std::string_view why) {
  fail(code, fmt::format("input '{}' cannot be taken by DLPack: {}", name, why.substr(0, why.find('\n'))));
}

}  // namespace

bool tensor_of_dlpack(nb::handle object, std::string_view name, Tensor* tensor) {
  if (PyType_Check(object.ptr())) return false;  // a class has the methods of its instances
  try {
    return take(object, name, tensor);
  } catch (const Error& e) {
    if (std::string_view(e.what()).starts_with("input '")) throw;
    refuse(e.code(), name, e.what());
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_Exception)) throw;  // Ctrl-C
    const bool memory = e.matches(PyExc_MemoryError);
    const std::string text = nb::cast<std::string>(nb::str(e.value()));
    refuse(memory ? ErrorCode::out_of_memory : ErrorCode::invalid_argument, name,
           text.empty() ? nb::cast<std::string>(nb::str(e.type().attr("__name__"))) : text);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {  // a cast of what is no tuple, no number
    refuse(ErrorCode::invalid_argument, name, e.what());
  }
}

nb::object capsule_of(const Tensor& tensor, bool versioned) {
  if (versioned) {
    return nb::steal(PyCapsule_New(to_dlpack_versioned(tensor), kVersioned,
                                   [](PyObject* c) { delete_unused<dlpack::Versioned>(c, kVersioned); }));
  }
  return nb::steal(
      PyCapsule_New(to_dlpack(tensor), kPlain, [](PyObject* c) { delete_unused<dlpack::Managed>(c, kPlain); }));
}

}  // namespace tern::python
