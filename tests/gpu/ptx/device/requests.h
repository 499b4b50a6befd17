// The requests of a warp: touched sectors of global memory and banks of shared memory.
#pragma once

#include <cstdint>
#include <span>

namespace tern::emulated {

// Sectors of 32 bytes. CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory": "the concurrent accesses of
// the threads of a warp will coalesce into a number of transactions equal to the number of 32-byte transactions
// necessary to service all of the threads of the warp."
constexpr std::uint64_t kSector = 32;

struct GlobalRequest {
  std::uint32_t sectors = 0;  // touched
  std::uint32_t minimum = 0;  // enough for the different bytes
};

// `addresses`: accesses of `bytes` each, by the participating lanes.
GlobalRequest global_request(std::span<const std::uint64_t> addresses, std::uint32_t bytes);

struct SharedRequest {
  std::uint32_t passes = 0;
  std::uint32_t minimum = 0;  // without conflicts
};

// CUDA C++ Programming Guide, "Shared Memory": "Shared memory has 32 banks that are organized such that successive
// 32-bit words map to successive banks [...] A shared memory request for a warp does not generate a bank conflict
// between two threads that access any address within the same 32-bit word". The banks give 128 bytes in a pass, so
// accesses of 8 bytes take at least two passes, by half warps, and accesses of 16 bytes four, by quarters. `lanes`: the
// lane of each address, in ascending order.
SharedRequest shared_request(std::span<const std::uint64_t> addresses, std::span<const std::uint32_t> lanes,
                             std::uint32_t bytes);

}  // namespace tern::emulated
