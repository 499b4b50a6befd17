#include "python/binding/dlpack.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <tern/dlpack.h>
#include <tern/error.h>
#include <tern/stream.h>

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/binding/dlpack_exchange.h"
#include "python/binding/gil.h"
#include "runtime/tensor_view.h"

namespace nb = nanobind;

namespace tern::python {
namespace {

constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kPlain = "dltensor";

constexpr int kCuda = 2, kRocm = 10;  // kDLCUDA, kDLROCM
constexpr std::pair<int, const char*> kDevices[] = {
    {2, "cuda"},  {3, "pinned memory of cuda"},   {4, "opencl"}, {7, "vulkan"}, {8, "metal"},
    {10, "rocm"}, {13, "managed memory of cuda"}, {14, "oneapi"}};

/// This thread's stream on the device of an array's memory; empty for the CPU.
std::optional<Stream> stream_of(std::string_view name, int type, int id) {
  if (type == dlpack::kCpu) return std::nullopt;
  std::string device = "device type " + std::to_string(type);
  for (const auto& [number, text] : kDevices) {
    if (number == type) device = text;
  }
  if (type != kCuda && type != kRocm)
    fail(
        ErrorCode::invalid_argument,
        fmt::format("input '{}' is on {}:{}, but Tern takes arrays in memory of the CPU, CUDA or ROCm and copies those "
                    "of the CPU to its devices itself; pass x.cpu()",
                    name, device, id));
  try {
    return Stream::current(fmt::format("{}:{}", device, id));
  } catch (const Error& e) {
    fail(e.code(),
         fmt::format("input '{}' is on {}:{}, which Tern cannot reach ({}); pass x.cpu()", name, device, id, e.what()));
  }
}

/// Waits for the producer of the array, through the stream ordered after the producer's work.
void wait(const Stream& stream) {
  const WithoutGil released;
  stream.synchronize();
}

template <class Managed>
void delete_unused(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;  // already taken and renamed
  auto* const tensor = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (tensor->deleter != nullptr) tensor->deleter(tensor);
}

Tensor tensor_of_capsule(nb::handle capsule) {
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

/// `options`: for an array on a device, the number of the stream to wait for the array.
nb::object call_dlpack(nb::handle object, nb::dict options) {
  const nb::object method = object.attr("__dlpack__");
  options["max_version"] = nb::make_tuple(dlpack::kMajor, dlpack::kMinor);
  try {
    return method(**options);
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;
  }
  nb::del(options["max_version"]);  // unknown to DLPack 0
  return method(**options);
}

/// Implements tensor_of_dlpack(), with any exceptions.
bool import_dlpack(nb::handle object, std::string_view name, Tensor* tensor) {
  if (const DlpackExchange* exchange = exchange_of(object, name)) {
    dlpack::Versioned* managed = nullptr;
    if (exchange->from_python(object.ptr(), &managed) != 0) throw nb::python_error();
    if (managed == nullptr) fail(ErrorCode::invalid_argument, "its type returns a null pointer");
    const dlpack::DeviceId device = managed->array.device;
    try {
      if (const std::optional<Stream> stream = stream_of(name, device.type, device.id)) {
        void* producer = nullptr;
        if (exchange->stream(device.type, device.id, &producer) != 0) throw nb::python_error();
        stream->wait_native(producer);
        wait(*stream);
      }
      *tensor = from_dlpack(reinterpret_cast<DLManagedTensorVersioned*>(managed));
    } catch (...) {
      if (managed->deleter != nullptr) managed->deleter(managed);
      throw;
    }
    return true;
  }
  if (!nb::hasattr(object, "__dlpack__")) return false;
  std::optional<Stream> stream;
  if (nb::hasattr(object, "__dlpack_device__")) {
    const nb::object device = object.attr("__dlpack_device__")();  // Python checks the items
    stream = stream_of(name, nb::cast<int>(nb::int_(device[0])), nb::cast<int>(nb::int_(device[1])));
  }
  nb::dict options;
  if (stream) options["stream"] = reinterpret_cast<std::uintptr_t>(stream->native());
  *tensor = tensor_of_capsule(call_dlpack(object, options));
  if (!stream && tensor->device() != "cpu") {  // no stream given: ready for the default stream
    stream = Stream::current(tensor->device());
    stream->wait_native(nullptr);
  }
  if (stream) wait(*stream);
  return true;
}

[[noreturn]] void refuse(ErrorCode code, std::string_view name, std::string_view why) {
  fail(code, fmt::format("input '{}' cannot be taken by DLPack: {}", name, why.substr(0, why.find('\n'))));
}

}  // namespace

bool tensor_of_dlpack(nb::handle object, std::string_view name, Tensor* tensor) {
  if (PyType_Check(object.ptr())) return false;  // a class has its instances' methods
  try {
    return import_dlpack(object, name, tensor);
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
  } catch (const std::exception&) {  // nb::cast failed
    refuse(ErrorCode::invalid_argument, name, "its __dlpack_device__() does not return two integers of 32 bits");
  }
}

nb::tuple place_of(const Tensor& tensor) {
  try {
    const dlpack::DeviceId place = dlpack_device(tensor);
    return nb::make_tuple(place.type, place.id);
  } catch (const Error& e) {
    throw nb::buffer_error(e.what());
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
