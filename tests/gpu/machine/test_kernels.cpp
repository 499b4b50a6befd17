// Handwritten kernels for the tests of the machine: a library in the translators' format.
#include <cstdint>
#include <cstring>

#include "tests/gpu/kernel.h"
#include "tests/gpu/machine/pointer.h"

namespace {

// The parameters: at most three addresses or 64-bit numbers.
struct Parameters {
  uint64_t a, b, c;
};

Parameters read(const tern_emulated_launch* launch, size_t bytes) {
  Parameters result{};
  std::memcpy(&result, launch->parameters, bytes);
  return result;
}

uint64_t threads(const tern_emulated_launch* launch) {
  uint64_t result = 1;
  for (int i = 0; i < 3; ++i) result *= uint64_t{1} * launch->grid[i] * launch->block[i];
  return result;
}

// Adds b to each of the numbers at a, a number per thread.
void add(const tern_emulated_launch* launch) {
  const Parameters p = read(launch, 16);
  for (uint64_t i = 0; i < threads(launch); ++i) tern::emulator::pointer<int>(p.a)[i] += static_cast<int>(p.b);
}

// Multiplies each of the numbers at a by b.
void multiply(const tern_emulated_launch* launch) {
  const Parameters p = read(launch, 16);
  for (uint64_t i = 0; i < threads(launch); ++i) tern::emulator::pointer<int>(p.a)[i] *= static_cast<int>(p.b);
}

// Sets condition a to the number at b.
void condition(const tern_emulated_launch* launch) {
  const Parameters p = read(launch, 16);
  launch->services->set_conditional(launch->machine, p.a, *tern::emulator::pointer<const uint32_t>(p.b));
}

// Decrements the number at b, and sets condition a to true unless the number is 0.
void count_down(const tern_emulated_launch* launch) {
  const Parameters p = read(launch, 16);
  launch->services->set_conditional(launch->machine, p.a, --*tern::emulator::pointer<uint32_t>(p.b) != 0 ? 1 : 0);
}

void trap(const tern_emulated_launch* launch) {
  launch->services->trap(launch->machine, "trap", "asked for");
}

void nothing(const tern_emulated_launch*) {}

constexpr tern_emulated_parameter kTwoPointers[] = {{0, 8}, {8, 8}};
constexpr tern_emulated_kernel kKernels[] = {
    {"add", 16, 2, kTwoPointers, 0, 0, 0, add},
    {"multiply", 16, 2, kTwoPointers, 0, 0, 0, multiply},
    {"condition", 16, 2, kTwoPointers, 0, 0, 0, condition},
    {"count_down", 16, 2, kTwoPointers, 0, 0, 0, count_down},
    {"trap", 0, 0, nullptr, 0, 0, 0, trap},
    {"local", 0, 0, nullptr, 16384, 256, 0, nothing},  // 16 KiB of local memory, at most 256 threads
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const tern_emulated_kernel* tern_emulated_kernels(uint32_t* count) {
  *count = sizeof(kKernels) / sizeof(kKernels[0]);
  return kKernels;
}
