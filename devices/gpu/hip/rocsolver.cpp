#include "devices/gpu/hip/rocsolver.h"

#include <memory>

#include "devices/gpu/libraries/shared_library.h"
#include "devices/gpu/status.h"

namespace tern::gpu {
namespace {

constexpr const char* kRocsolverFiles[] = {"librocsolver.so.0", "librocsolver.so.1", "librocsolver.so",
                                           "/opt/rocm/lib/librocsolver.so"};
constexpr LibraryPlaces kRocsolverPlaces = {"rocSOLVER", "TERN_ROCSOLVER", kRocsolverFiles,
                                            "install the package rocsolver of ROCm"};
constexpr const char* kBlasFiles[] = {"librocblas.so.5", "librocblas.so.4", "librocblas.so",
                                      "/opt/rocm/lib/librocblas.so"};
constexpr LibraryPlaces kBlasPlaces = {"rocBLAS", "TERN_ROCBLAS", kBlasFiles, "install the package rocblas of ROCm"};

template <class F>
bool find(void* library, const char* symbol, F* function) {
  *function = reinterpret_cast<F>(platform::find_symbol(library, symbol));
  return *function != nullptr;
}

std::string load_blas(Rocsolver& r, void* library, const std::string& file) {
#define TERN_GPU_FIND(name, symbol, parameters) \
  if (!find(library, "rocblas_" #symbol, &r.api.name)) return file + " lacks rocblas_" #symbol;
  TERN_GPU_ROCBLAS_FUNCTIONS(TERN_GPU_FIND)
#undef TERN_GPU_FIND
  return {};
}

std::string load_solver(Rocsolver& r, void* library, const std::string& file) {
  const auto find_all = [&](auto* functions, std::initializer_list<const char*> symbols) {
    for (const char* symbol : symbols)
      if (!find(library, symbol, functions++)) return file + " lacks " + symbol + "; update rocSOLVER";
    return std::string();
  };
#define TERN_GPU_FIND_TYPES(name, s, d, c, z, parameters)                                                           \
  if (std::string why = find_all(r.api.name, {"rocsolver_" #s, "rocsolver_" #d, "rocsolver_" #c, "rocsolver_" #z}); \
      !why.empty())                                                                                                 \
    return why;
#define TERN_GPU_FIND_REAL(Real, first, second, parameters)                                                      \
  if (std::string why = find_all(r.api.syevj_##Real, {"rocsolver_" #first, "rocsolver_" #second}); !why.empty()) \
    return why;
  TERN_GPU_ROCSOLVER_FUNCTIONS(TERN_GPU_FIND_TYPES)
  TERN_GPU_ROCSOLVER_JACOBI(TERN_GPU_FIND_REAL)
#undef TERN_GPU_FIND_REAL
#undef TERN_GPU_FIND_TYPES
  int (*version)(char*, std::size_t) = nullptr;
  char text[64] = "of unknown version";
  if (find(library, "rocsolver_get_version_string", &version)) version(text, sizeof text);
  r.version = text;
  return {};
}

/// Returns the reason for the libraries being unusable on the device; empty if usable.
std::string start(Rocsolver& r, void* library, const std::string& file) {
  if (std::string why = load_solver(r, library, file); !why.empty()) return why;
  // Handles must come from the rocBLAS linked with rocSOLVER, not necessarily the first rocBLAS found.
  std::string why = load_blas(r, library, file);
  if (!why.empty())
    open_library(
        kBlasPlaces, [&](void* blas, const char* path) { return load_blas(r, blas, path); }, &why);
  if (!why.empty()) return "rocSOLVER " + r.version + " is not used: " + why;
  const int error = r.api.create(&r.handle);
  return error == kSuccess ? "" : "rocSOLVER " + r.version + " does not start: error " + std::to_string(error);
}

}  // namespace

namespace {

struct OpenRocsolvers {
  std::mutex mutex;
  std::map<int, Rocsolver> solvers;
};
OpenRocsolvers& opened() {
  // Never destroyed: streams of static objects may outlive static objects of this library.
  static OpenRocsolvers* const all = std::make_unique<OpenRocsolvers>().release();
  return *all;
}

}  // namespace

Rocsolver* opened_rocsolver(const GpuDevice& d) {
  const std::lock_guard lock(opened().mutex);
  const auto at = opened().solvers.find(d.id);
  return at == opened().solvers.end() ? nullptr : &at->second;
}

Rocsolver& rocsolver_of(const GpuDevice& d) {
  const std::lock_guard lock(opened().mutex);
  const auto [at, is_new] = opened().solvers.try_emplace(d.id);
  Rocsolver& r = at->second;
  if (is_new)
    open_library(
        kRocsolverPlaces, [&](void* library, const char* file) { return start(r, library, file); }, &r.why);
  return r;
}

tern_device_status handle_of(Rocsolver& r, Stream stream, Address work, std::uint64_t bytes, RocblasHandle* handle) {
  RocblasHandle& own = r.stream_handles[stream];
  int error = own == nullptr ? r.api.create(&own) : kSuccess;
  if (error == kSuccess) error = r.api.set_stream(own, stream);
  if (error == kSuccess) error = r.api.set_workspace(own, work, bytes);
  *handle = own;
  return rocsolver_checked(error, "making a handle for a stream");
}

tern_device_status end_handle(Rocsolver& r, Stream stream) {
  const auto at = r.stream_handles.find(stream);
  if (at == r.stream_handles.end()) return TERN_DEVICE_OK;
  const RocblasHandle own = at->second;
  r.stream_handles.erase(at);
  return rocsolver_checked(own == nullptr ? kSuccess : r.api.destroy(own), "destroying the handle of a stream");
}

tern_device_status rocsolver_checked(int error, const char* call) {
  if (error == kSuccess) return TERN_DEVICE_OK;
  return failed(error == rocsolver::kMemoryError ? TERN_DEVICE_OUT_OF_MEMORY : TERN_DEVICE_FAILED,
                std::string(call) + ": rocSOLVER error " + std::to_string(error));
}

}  // namespace tern::gpu
