// The emulated system and GPUs: TERN_EMULATOR_MACOS is the version of macOS (14, 15, 26), TERN_EMULATOR_DEVICES the
// number of GPUs, TERN_EMULATOR_MEMORY the bytes of memory of each GPU.
#pragma once

#include <cstdint>
#include <memory>

#include "tests/gpu/machine/machine.h"

namespace tern::emulator::metal {

std::int64_t system_version();

// The context of a GPU of the machine, retained forever.
std::shared_ptr<Context> context_of(int device);

// GPU addresses differ from host addresses, although the memory is the same.
constexpr std::uint64_t kGpuBit = std::uint64_t{1} << 56;

}  // namespace tern::emulator::metal
