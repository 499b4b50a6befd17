// ROCm-specific functions.
#include "devices/gpu/vendor.h"

#include <algorithm>
#include <cstring>

#include "devices/gpu/hip/graph_update.h"

namespace tern::gpu {
namespace {

template <class F>
F* symbol(const char* name) {
  return reinterpret_cast<F*>(driver_symbol(name));
}

// Encoding of hipDriverGetVersion: major * 10,000,000 + minor * 100,000 + patch.
constexpr int kMajor = 10'000'000, kMinor = 100'000;

// Earlier versions lose pages when mapping memory piece by piece.
constexpr int kSegmentsFrom = 7 * kMajor + 2 * kMinor;

// Targets of `tern export --target`: devices supported by ROCm 6 and 7.
constexpr const char* kTargets =
    "rocm:gfx906 rocm:gfx908 rocm:gfx90a rocm:gfx942 rocm:gfx950 rocm:gfx1030 rocm:gfx1100 rocm:gfx1101 rocm:gfx1102 "
    "rocm:gfx1200 rocm:gfx1201";

// True for hiprtc inside the runtime library (before ROCm 5.3). That version ends the process for unknown architectures
// and for concurrent compilations. All versions report 9.0.
bool is_old(const Compiler& c) {
  return c.path.find("libamdhip64") != std::string::npos;
}
constexpr const char* kOldArchitectures = "gfx906 gfx908 gfx90a gfx1030";

CompileOptions options_for(const std::string& arch) {
  // hiprtc rounds division and square roots correctly by default.
  return {{"--offload-arch=" + arch, "-std=c++17", "-O3", "-ffp-contract=off", "-fno-fast-math", "-w"}, false, {}};
}

/// Returns the architecture in the compiler's notation: "gfx90a:sramecc+:xnack-". The struct of properties differs
/// between versions of ROCm (version 6 has a separate function), so the code searches the struct for the name.
std::string architecture(int device) {
  auto get = symbol<Status(void*, int)>("hipGetDevicePropertiesR0600");
  if (get == nullptr) get = symbol<Status(void*, int)>("hipGetDeviceProperties");
  constexpr std::size_t kRoom = 8192;  // the struct uses about 1,500 bytes
  std::string properties(kRoom, '\0');
  if (get == nullptr || get(properties.data(), device) != kSuccess) return {};
  const std::size_t at = properties.find("gfx", 256);  // the device's name takes the first 256 bytes
  return at == std::string::npos ? "" : properties.substr(at, std::strlen(properties.c_str() + at));
}

}  // namespace

std::string error_text(Status error) {
  const auto get = symbol<const char*(Status)>("hipGetErrorString");
  const char* text = get == nullptr ? nullptr : get(error);
  return std::string(text == nullptr ? "unknown error" : text) + " (HIP error " + std::to_string(error) + ")";
}

std::string describe_device(GpuDevice& d) {
  for (const char* needed : {"hipGetDevice", "hipSetDevice"})
    if (driver_symbol(needed) == nullptr) return std::string("the runtime lacks ") + needed;
  d.arch = architecture(d.id);
  return d.arch.empty() ? "the runtime does not report the device's architecture" : "";
}

bool has_sparse_units(const GpuDevice& d) {
  // gfx90a expands the weight in registers of its matrix units, which takes no memory either.
  constexpr const char* kPrefixes[] = {"gfx90a", "gfx94", "gfx950"};
  return std::ranges::any_of(kPrefixes, [&](const char* prefix) { return d.arch.starts_with(prefix); });
}

namespace {

Status set_device(int id) {
  static const auto set = symbol<Status(int)>("hipSetDevice");
  return set(id);
}

}  // namespace

Status enter_device(const GpuDevice& d, CallerDevice& caller) {
  static const auto get = symbol<Status(int*)>("hipGetDevice");
  if (const Status error = get(&caller.id); error != kSuccess || caller.id == d.id) return error;
  const Status error = set_device(d.id);
  caller.changed = error == kSuccess;
  return error;
}

void leave_device(const CallerDevice& caller) {
  if (caller.changed) set_device(caller.id);
}

std::string version_text(int version) {
  return "HIP " + std::to_string(version / kMajor) + "." + std::to_string(version % kMajor / kMinor);
}

bool has_segments(const GpuDevice& d) {
  return d.driver_number >= kSegmentsFrom && api().granularity != nullptr && api().reserve != nullptr &&
         api().memory_create != nullptr && api().memory_map != nullptr;
}

bool has_threads(const Compiler& c) {
  return !is_old(c);
}

CompileOptions compile_options(const GpuDevice& d, const Compiler&) {
  return options_for(d.arch);
}

const char* archive_targets() {
  return kTargets;
}

CompileOptions archive_options(const std::string& target, const Compiler& c) {
  const std::string arch = target.substr(std::strlen("rocm:"));
  CompileOptions o = options_for(arch);
  if (is_old(c) && (kOldArchitectures + std::string(" ")).find(arch + " ") == std::string::npos)
    o.error = "hiprtc before ROCm 5.3 (" + c.path + ") compiles for " + kOldArchitectures +
              " only: set that of a later ROCm in TERN_HIPRTC";
  return o;
}

std::string device_targets(const GpuDevice& d) {
  return "rocm:" + d.arch.substr(0, d.arch.find(':'));
}

std::string reason_of_refusal(const GpuDevice&, Status, const std::string&) {
  return {};
}

std::string ptx_of(const Compiler&, Program) {
  return {};
}

Status update_graph(GraphExec exec, Graph graph) {
  static const auto update = symbol<GraphExecUpdate>(kGraphExecUpdate);
  if (update == nullptr) return names::kNotSupported;
  GraphNode node = nullptr;
  int result = 0;
  return update(exec, graph, &node, &result);
}

names::Peer peer_of(const GpuDevice& d) {
  return d.id;
}

}  // namespace tern::gpu
