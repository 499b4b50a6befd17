#include "python/binding/dlpack.h"

#include <fmt/format.h>
#include <tern/dlpack.h>
#include <tern/error.h>

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

}  // namespace

bool tensor_of_dlpack(nb::handle object, std::string_view name, Tensor* tensor) {
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
    const nb::tuple device = nb::cast<nb::tuple>(object.attr("__dlpack_device__")());
    refuse_device(name, nb::cast<int>(nb::int_(device[0])), nb::cast<int>(nb::int_(device[1])));
  }
  *tensor = of_capsule(call_dlpack(object));
  return true;
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
