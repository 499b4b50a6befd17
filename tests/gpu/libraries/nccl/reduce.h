// Reductions of the stand-ins, by the types and operations of nccl.h.
#pragma once

#include <cstddef>

namespace tern::stand_in {

/// Bytes of an element; ends the process for an unknown type.
std::size_t bytes_of(int type);

/// Reduces `all`, `count` elements of each rank, to `out`. Starts with the last rank, unlike Tern.
void reduce(int type, int op, const std::byte* all, int ranks, std::size_t count, std::byte* out);

}  // namespace tern::stand_in
