// The system and the GPUs that the environment asks for: TERN_EMULATOR_MACOS is the version of macOS (14, 15, 26),
// TERN_EMULATOR_DEVICES the number of GPUs, TERN_EMULATOR_MEMORY the bytes of memory of each.
#pragma once

#include <cstdint>
#include <memory>

#include "tests/gpu/machine/machine.h"

namespace tern::emulator::metal {

std::int64_t system_version();

// Of a GPU of the machine; it stays retained.
std::shared_ptr<Context> context_of(int device);

// Addresses of the GPU are other numbers than those of the host, though the memory is the same.
constexpr std::uint64_t kGpuBit = std::uint64_t{1} << 56;

}  // namespace tern::emulator::metal
