// Compiles CUDA C++ by NVRTC, translates its PTX and runs the kernels, for tests.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/gpu/kernel.h"
#include "tests/gpu/ptx/translate.h"

namespace tern::emulated {

// The PTX of a source, for compute_90. Throws std::runtime_error with NVRTC's messages, or with instructions to install
// NVRTC.
std::string ptx_of(const std::string& cuda);

struct Grid {
  std::array<std::uint32_t, 3> blocks{1, 1, 1}, threads{32, 1, 1};
  std::uint32_t shared_bytes = 0;  // dynamic
  double most_work = 1e9;          // limit for counted launches
};

class Kernels {
 public:
  // Compiles CUDA source; from_ptx: PTX.
  explicit Kernels(const std::string& cuda, Counts counts = Counts::off) { load(ptx_of(cuda), counts); }
  static Kernels from_ptx(const std::string& ptx);
  ~Kernels();
  Kernels(Kernels&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  Kernels& operator=(Kernels&&) = delete;

  const tern_emulated_kernel& kernel(const std::string& name) const;

  // Arguments must have the kernel's declared sizes. A trap ends the process with status 3 and its message on standard
  // error; cudaGraphSetConditional writes to conditionals().
  template <class... Arguments>
  void run(const std::string& name, const Grid& grid, const Arguments&... arguments) const {
    run_with(kernel(name), grid,
             {Argument{static_cast<const void*>(&arguments), static_cast<std::uint32_t>(sizeof arguments)}...},
             nullptr);
  }
  // Runs a counting kernel.
  template <class... Arguments>
  tern_emulated_counts count(const std::string& name, const Grid& grid, const Arguments&... arguments) const {
    tern_emulated_counts counts{};
    counts.most_work = grid.most_work;
    run_with(kernel(name), grid,
             {Argument{static_cast<const void*>(&arguments), static_cast<std::uint32_t>(sizeof arguments)}...},
             &counts);
    return counts;
  }

  struct Conditional {
    std::uint64_t handle;
    std::uint32_t value;
  };
  const std::vector<Conditional>& conditionals() const { return conditionals_; }

 private:
  struct Argument {
    const void* bytes;
    std::uint32_t size;
  };

  Kernels() = default;
  void load(const std::string& ptx, Counts counts);
  void run_with(const tern_emulated_kernel& kernel, const Grid& grid, const std::vector<Argument>& arguments,
                tern_emulated_counts* counts) const;

  void* handle_ = nullptr;
  mutable std::vector<Conditional> conditionals_;
};

}  // namespace tern::emulated
