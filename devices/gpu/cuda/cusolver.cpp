#include "devices/gpu/cuda/cusolver.h"

#include <cstdlib>
#include <memory>

#include "devices/gpu/libraries/shared_library.h"
#include "devices/gpu/status.h"

namespace tern::gpu {
namespace {

constexpr const char* kCusolverFiles[] = {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so",
                                          "/usr/local/cuda/lib64/libcusolver.so"};
constexpr LibraryPlaces kCusolverPlaces = {"cuSOLVER", "TERN_CUSOLVER", kCusolverFiles,
                                           "install it with the CUDA Toolkit, or from PyPI: nvidia-cusolver"};
constexpr const char* kBlasFiles[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                      "/usr/local/cuda/lib64/libcublas.so"};
constexpr LibraryPlaces kBlasPlaces = {"cuBLAS", "TERN_CUBLAS", kBlasFiles,
                                       "install it with the CUDA Toolkit, or from PyPI: nvidia-cublas"};

template <class F>
bool find(void* library, const char* symbol, F* function) {
  *function = reinterpret_cast<F>(platform::find_symbol(library, symbol));
  return *function != nullptr;
}

/// libraryPropertyType: 0, 1 and 2 are major, minor and patch version.
std::string version_of(void* library, const char* symbol) {
  int (*property)(int, int*) = nullptr;
  int parts[3] = {};
  if (!find(library, symbol, &property)) return "of unknown version";
  for (int i = 0; i < 3; ++i) property(i, &parts[i]);
  return std::to_string(parts[0]) + "." + std::to_string(parts[1]) + "." + std::to_string(parts[2]);
}

/// Formats "cuBLAS error 3": the libraries number errors differently.
std::string name_of_error(int error) {
  return (error < 0 ? "cuBLAS" : "cuSOLVER") + std::string(" error ") + std::to_string(std::abs(error));
}

/// Returns the driver's conflict with a library for this CUDA major version; empty if none.
std::string too_new(int cuda, const GpuDevice& d, const std::string& title, const std::string& name) {
  if (cuda <= d.driver_number / 1000) return {};
  return title + " needs a driver of CUDA " + std::to_string(cuda) + "; this one is of " + d.driver +
         ": update the driver, or set another " + name + " in TERN_CU" + (name == "cuBLAS" ? "BLAS" : "SOLVER");
}

#define TERN_GPU_FIND(name, symbol, parameters) \
  if (!find(library, TERN_GPU_PREFIX #symbol, &c.api.name)) return file + " lacks " TERN_GPU_PREFIX #symbol;
#define TERN_GPU_FIND_TYPES(name, s, d, c_, z, parameters)                                                           \
  {                                                                                                                  \
    const char* const symbols[] = {TERN_GPU_PREFIX #s, TERN_GPU_PREFIX #d, TERN_GPU_PREFIX #c_, TERN_GPU_PREFIX #z}; \
    for (int i = 0; i < 4; ++i)                                                                                      \
      if (!find(library, symbols[i], &c.api.name[i])) return file + " lacks " + symbols[i];                          \
  }

std::string load_blas(Cusolver& c, void* library, const std::string& file, const GpuDevice& d) {
  const std::string version = version_of(library, "cublasGetProperty");
  if (std::string why = too_new(std::atoi(version.c_str()), d, "cuBLAS " + version + " (" + file + ")", "cuBLAS");
      !why.empty())
    return why;

#define TERN_GPU_PREFIX "cublas"
  TERN_GPU_CUBLAS_FUNCTIONS(TERN_GPU_FIND_TYPES)
  TERN_GPU_CUBLAS_COMMON(TERN_GPU_FIND)
#undef TERN_GPU_PREFIX
  return {};
}

std::string load_solver(Cusolver& c, void* library, const std::string& file) {
#define TERN_GPU_PREFIX "cusolverDn"
  TERN_GPU_CUSOLVER_FUNCTIONS(TERN_GPU_FIND_TYPES)
  TERN_GPU_CUSOLVER_COMMON(TERN_GPU_FIND)
#define TERN_GPU_TRY_FIND(name, symbol, parameters) find(library, TERN_GPU_PREFIX #symbol, &c.api.name);
  TERN_GPU_CUSOLVER_NEWER(TERN_GPU_TRY_FIND)
#undef TERN_GPU_TRY_FIND
#undef TERN_GPU_FIND_TYPES
#undef TERN_GPU_FIND
#undef TERN_GPU_PREFIX
  c.version = version_of(library, "cusolverGetProperty");
  return {};
}

/// Creates the missing handles: after a failure the next call continues.
int create(const CusolverApi& api, Cusolver::Handles* handles) {
  const int error = handles->solver == nullptr ? api.create(&handles->solver) : kSuccess;
  if (error != kSuccess || handles->blas != nullptr) return error;
  return cublas_error(api.blas_create(&handles->blas));
}

/// Returns the reason for the libraries being unusable on the device; empty if usable. cuSOLVER 11 belongs to CUDA 12,
/// and 12 to CUDA 13.
std::string start(Cusolver& c, void* library, const std::string& file, const GpuDevice& d) {
  if (std::string why = load_solver(c, library, file); !why.empty()) return why + "; update cuSOLVER";
  const int cuda = std::atoi(c.version.c_str()) + 1;
  if (std::string why = too_new(cuda, d, "cuSOLVER " + c.version + " (" + file + ")", "cuSOLVER"); !why.empty())
    return why;
  std::string why;
  open_library(
      kBlasPlaces, [&](void* blas, const char* path) { return load_blas(c, blas, path, d); }, &why);
  if (!why.empty()) return "cuSOLVER " + c.version + " is not used: " + why;
  const int error = create(c.api, &c.handles);
  return error == kSuccess ? "" : "cuSOLVER " + c.version + " does not start: " + name_of_error(error);
}

}  // namespace

namespace {

struct OpenCusolvers {
  std::mutex mutex;
  std::map<int, Cusolver> solvers;
};
OpenCusolvers& opened() {
  // Never destroyed: streams of static objects may outlive static objects of this library.
  static OpenCusolvers* const all = std::make_unique<OpenCusolvers>().release();
  return *all;
}

}  // namespace

Cusolver* opened_cusolver(const GpuDevice& d) {
  const std::lock_guard lock(opened().mutex);
  const auto at = opened().solvers.find(d.id);
  return at == opened().solvers.end() ? nullptr : &at->second;
}

Cusolver& cusolver_of(const GpuDevice& d) {
  const std::lock_guard lock(opened().mutex);
  const auto [at, is_new] = opened().solvers.try_emplace(d.id);
  Cusolver& c = at->second;
  if (is_new)
    open_library(
        kCusolverPlaces, [&](void* library, const char* file) { return start(c, library, file, d); }, &c.why);
  return c;
}

tern_device_status handles_of(Cusolver& c, Stream stream, Cusolver::Handles* handles) {
  Cusolver::Handles& own = c.stream_handles[stream];
  int error = create(c.api, &own);
  if (error == kSuccess) error = c.api.set_stream(own.solver, stream);
  if (error == kSuccess) error = cublas_error(c.api.blas_set_stream(own.blas, stream));
  *handles = own;
  return cusolver_checked(error, "making handles for a stream");
}

tern_device_status end_handles(Cusolver& c, Stream stream) {
  const auto at = c.stream_handles.find(stream);
  if (at == c.stream_handles.end()) return TERN_DEVICE_OK;
  const Cusolver::Handles own = at->second;
  c.stream_handles.erase(at);
  const int blas = own.blas == nullptr ? kSuccess : cublas_error(c.api.blas_destroy(own.blas));
  const int solver = own.solver == nullptr ? kSuccess : c.api.destroy(own.solver);
  return cusolver_checked(blas == kSuccess ? solver : blas, "destroying the handles of a stream");
}

tern_device_status cusolver_checked(int error, const char* call) {
  if (error == kSuccess) return TERN_DEVICE_OK;
  const bool is_full = error == cusolver::kAllocFailed || error == cublas_error(cusolver::kBlasAllocFailed);
  return failed(is_full ? TERN_DEVICE_OUT_OF_MEMORY : TERN_DEVICE_FAILED,
                std::string(call) + ": " + name_of_error(error));
}

}  // namespace tern::gpu
