// CUDA-specific functions.
#include "devices/gpu/vendor.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <sstream>

#include "devices/gpu/cuda/context_api.h"
#include "devices/gpu/cuda/graph_update.h"
#include "platform/environment.h"
#include "platform/library.h"

namespace tern::gpu {
namespace {

template <class F>
F* symbol(const char* name) {
  return reinterpret_cast<F*>(driver_symbol(name));
}

template <class F>
F* symbol(const Compiler& compiler, const char* name) {
  return reinterpret_cast<F*>(platform::find_symbol(compiler.library, name));
}

// CU_DEVICE_ATTRIBUTE_...
constexpr int kMajor = 75, kMinor = 76;  // COMPUTE_CAPABILITY_MAJOR, MINOR
constexpr int kSegmentsAttribute = 102;  // VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED

/// First drivers able to load kernels of a CUDA version: tables 2 and 3 of the CUDA Toolkit's release notes.
struct FirstDriver {
  int major;
  const char *linux, *windows;
};
constexpr FirstDriver kFirstDrivers[] = {{12, "525.60.13", "527.41"}, {13, "580.65.06", "580.88"}};

/// Last toolkit supporting each dropped generation.
struct LastToolkit {
  int capability_limit;  ///< compute capability, times ten
  const char* toolkit;
};
constexpr LastToolkit kLastToolkits[] = {{50, "11.8"}, {75, "12.6"}};

int arch_number(const GpuDevice& d) {
  return std::atoi(d.arch.c_str() + 3);  // "sm_90"
}

std::string dotted(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

/// Returns the reason for the driver not loading this compiler's code; empty if it does.
std::string too_new(const GpuDevice& d, const Compiler& c) {
  if (c.major <= d.driver_number / 1000) return {};
  std::string first;
  for (const FirstDriver& f : kFirstDrivers)
    if (f.major == c.major) first = std::string(", from ") + f.linux + " (Linux) or " + f.windows + " (Windows) on";
  return version_of(c) + " (" + c.path + ") makes kernels for drivers of CUDA " + std::to_string(c.major) + first +
         "; this driver is of " + d.driver + ": update the driver, or set an NVRTC " +
         std::to_string(d.driver_number / 1000) + " in TERN_NVRTC";
}

/// True if the driver does not translate this compiler's PTX. Drivers translate PTX of their own version and earlier.
/// NVRTC has no option for the version of its PTX.
bool ptx_is_too_new(const GpuDevice& d, const Compiler& c) {
  return c.major * 1000 + c.minor * 10 > d.driver_number;
}

/// Lists the compiler's architectures, times ten; empty if unknown (before 11.2).
std::vector<int> architectures(const Compiler& c) {
  const auto count = symbol<Status(int*)>(c, "nvrtcGetNumSupportedArchs");
  const auto list = symbol<Status(int*)>(c, "nvrtcGetSupportedArchs");
  int n = 0;
  if (count == nullptr || list == nullptr || count(&n) != kSuccess) return {};
  std::vector<int> all(static_cast<std::size_t>(n));
  if (list(all.data()) != kSuccess) all.clear();
  return all;
}

// Targets of `tern export --target`.
constexpr const char* kTargets =
    "cuda:ptx cuda:sm_75 cuda:sm_80 cuda:sm_86 cuda:sm_87 cuda:sm_89 cuda:sm_90 cuda:sm_100 cuda:sm_103 cuda:sm_110 "
    "cuda:sm_120 cuda:sm_121";
constexpr const char* kPtxTarget = "cuda:ptx";

// Required for the bits of docs/reproducible.md.
const std::vector<std::string> kOptions = {"-std=c++17",       "--fmad=false", "--prec-div=true",
                                           "--prec-sqrt=true", "--ftz=false",  "-w"};

bool wants_ptx() {
  return platform::variable_is_on("TERN_CUDA_PTX", false);
}

const ContextApi& contexts() {
  static const ContextApi loaded = [] {
    ContextApi a;
    TERN_GPU_CONTEXT(TERN_GPU_LOAD_NEWER)
    return a;
  }();
  return loaded;
}

/// Shares the context of the CUDA runtime, thus of PyTorch and others. Never released. A failure may be temporary: the
/// process with exclusive use of the device ends.
Status retain_context(const GpuDevice& d) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (*d.context != nullptr) return kSuccess;
  Context made = nullptr;
  const Status error = contexts().retain(&made, d.id);
  if (error == kSuccess) *d.context = made;
  return error;
}

}  // namespace

std::string error_text(Status error) {
  const char* text = nullptr;
  const auto get = symbol<Status(Status, const char**)>("cuGetErrorString");
  if (get == nullptr || get(error, &text) != kSuccess || text == nullptr) text = "unknown error";
  return std::string(text) + " (CUDA error " + std::to_string(error) + ")";
}

std::string describe_device(GpuDevice& d) {
  if (!contexts().complete) return "the driver lacks functions of contexts; update the driver";
  int major = 0;
  int minor = 0;
  Status error = api().device_attribute(&major, kMajor, d.id);
  if (error == kSuccess) error = api().device_attribute(&minor, kMinor, d.id);
  d.arch = "sm_" + std::to_string(major * 10 + minor);
  return error == kSuccess ? "" : "no compute capability: " + error_text(error);
}

bool has_sparse_units(const GpuDevice& d) {
  constexpr int kLeast = 80;
  return arch_number(d) >= kLeast;
}

Status enter_device(const GpuDevice& d, CallerDevice& caller) {
  if (*d.context == nullptr)
    if (const Status error = retain_context(d); error != kSuccess) return error;
  Context current = nullptr;
  if (contexts().current(&current) == kSuccess && current == *d.context) return kSuccess;
  const Status error = contexts().push(*d.context);
  caller.changed = error == kSuccess;
  return error;
}

void leave_device(const CallerDevice& caller) {
  Context left = nullptr;
  if (caller.changed) contexts().pop(&left);
}

std::string version_text(int version) {
  return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

bool has_segments(const GpuDevice& d) {
  int supported = 0;
  return api().granularity != nullptr && api().reserve != nullptr && api().memory_create != nullptr &&
         api().memory_map != nullptr && api().device_attribute(&supported, kSegmentsAttribute, d.id) == kSuccess &&
         supported != 0;
}

bool has_threads(const Compiler&) {
  return true;
}

CompileOptions compile_options(const GpuDevice& d, const Compiler& c) {
  CompileOptions o{kOptions, false, {}};
  o.error = too_new(d, c);
  if (!o.error.empty()) return o;
  const int wanted = arch_number(d);
  const std::vector<int> known = architectures(c);
  int best = known.empty() ? wanted : 0;  // newest architecture supported by the device
  for (const int a : known)
    if (a <= wanted) best = std::max(best, a);
  if (best == 0) {
    o.error = version_of(c) + " (" + c.path + ") compiles for compute capability " +
              dotted(*std::ranges::min_element(known)) + " and later; this device has " + dotted(wanted);
    for (const LastToolkit& last : kLastToolkits)
      if (wanted < last.capability_limit) {
        o.error += std::string(": install the NVRTC of CUDA ") + last.toolkit + " and set its path in TERN_NVRTC";
        break;
      }
    return o;
  }
  // Machine code of a minor version runs on later minor versions of the same major version. Other devices need PTX,
  // translated by the driver.
  const bool needs_ptx = best / 10 != wanted / 10;
  if (needs_ptx && ptx_is_too_new(d, c)) {
    o.error = version_of(c) + " (" + c.path + ") has no machine code for compute capability " + dotted(wanted) +
              ", and its PTX is too new for this driver of " + d.driver +
              ": update the driver, or set an NVRTC of this device in TERN_NVRTC";
    return o;
  }
  o.to_ptx = needs_ptx || (wants_ptx() && !ptx_is_too_new(d, c));
  o.options.push_back(std::string("--gpu-architecture=") + (o.to_ptx ? "compute_" : "sm_") + std::to_string(best));
  return o;
}

const char* archive_targets() {
  return kTargets;
}

CompileOptions archive_options(const std::string& target, const Compiler& c) {
  CompileOptions o{kOptions, target == kPtxTarget, {}};
  const std::vector<int> known = architectures(c);
  // PTX for the oldest architecture runs on every later device.
  const int oldest = known.empty() ? 75 : *std::ranges::min_element(known);
  const int wanted = o.to_ptx ? oldest : std::atoi(target.c_str() + std::strlen("cuda:sm_"));
  if (!known.empty() && std::ranges::find(known, wanted) == known.end()) {
    o.error = version_of(c) + " (" + c.path + ") does not compile for compute capability " + dotted(wanted) +
              (wanted < oldest ? ": set an older one in TERN_NVRTC" : ": set a newer one in TERN_NVRTC");
  }
  o.options.push_back(std::string("--gpu-architecture=") + (o.to_ptx ? "compute_" : "sm_") + std::to_string(wanted));
  return o;
}

std::string device_targets(const GpuDevice& d) {
  // Machine code runs on devices of the same major version and an equal or later minor version.
  std::string list;
  const int wanted = arch_number(d);
  for (int minor = wanted % 10; minor >= 0; --minor) {
    const std::string target = "cuda:sm_" + std::to_string(wanted / 10 * 10 + minor);
    if ((std::string(kTargets) + " ").find(target + " ") != std::string::npos) list += target + " ";
  }
  return list + kPtxTarget;
}

std::string reason_of_refusal(const GpuDevice& d, Status error, const std::string& code) {
  constexpr Status kUnsupportedPtx = 222;  // CUDA_ERROR_UNSUPPORTED_PTX_VERSION
  if (error != kUnsupportedPtx) return {};
  std::istringstream words(code.substr(std::min(code.find(".version"), code.size())));
  std::string directive;
  std::string version;
  words >> directive >> version;
  return "PTX " + version + " is newer than this driver of " + d.driver +
         ": update the driver, compile the PTX with an older NVRTC, or export machine code (--target cuda:" + d.arch +
         ")";
}

std::string ptx_of(const Compiler& c, Program program) {
  const auto size = symbol<Status(Program, std::size_t*)>(c, "nvrtcGetPTXSize");
  const auto get = symbol<Status(Program, char*)>(c, "nvrtcGetPTX");
  std::size_t bytes = 0;
  if (size == nullptr || get == nullptr || size(program, &bytes) != kSuccess) return {};
  std::string text(bytes, '\0');
  if (get(program, text.data()) != kSuccess) return {};
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

Status update_graph(GraphExec exec, Graph graph) {
  static const auto update = symbol<GraphExecUpdate>(kGraphExecUpdate);
  if (update == nullptr) return names::kNotSupported;
  GraphUpdateResult result;
  return update(exec, graph, &result);
}

names::Peer peer_of(const GpuDevice& d) {
  return *d.context;
}

}  // namespace tern::gpu
