// "libraries": describes the vendor libraries used by this device.
#include "devices/gpu/devices.h"
#include "devices/gpu/libraries/crossovers.h"
#include "devices/gpu/libraries/lt.h"
#include "devices/gpu/libraries/nccl.h"
#include "devices/gpu/libraries/provider.h"
#include "devices/gpu/libraries/shared_library.h"
#include "devices/gpu/libraries/solver.h"
#include "devices/gpu/libraries/symmetric.h"
#include "devices/gpu/status.h"
#include "devices/gpu/tables.h"
#include "names.h"

namespace tern::gpu {
namespace {

std::string products(const GpuDevice& d) {
  const Lt& library = lt(d);
  return library.why.empty() ? std::string(names::kLt) + " " + library.version.text : library.why;
}

std::string solvers(const GpuDevice& d) {
  const std::string wrong = wrong_solver();
  return wrong.empty() ? describe_solvers(d) : wrong;
}

const char* describe(std::int32_t device) {
  thread_local std::string text;
  text.clear();
  const DeviceScope scope(device);
  const GpuDevice* const d = scope.device();
  if (d == nullptr) return (text = message()).c_str();
  if (!wants_libraries()) return (text = left_out()).c_str();
  text = products(*d);
  if (const std::string more = describe_vendor_libraries(*d); !more.empty()) text += "; " + more;
  text += "; " + solvers(*d) + "; " + describe_collectives();
  if (const std::string more = describe_symmetric(); !more.empty()) text += "; " + more;
  return text.c_str();
}

constexpr tern_device_library_functions kLibraries = {sizeof kLibraries, 0, describe};

}  // namespace

const tern_device_library_functions* library_functions() {
  return &kLibraries;
}

}  // namespace tern::gpu
