// A call of a group, checked and in words.
#pragma once

#include <tern/collective.h>

#include <cstddef>
#include <string>

namespace tern {

/// "all_reduce (sum) of 4 float32", "broadcast of 4 float32 from rank 1".
std::string describe(const Collective& call);

/// Fails (invalid_argument) where the call is none that a group of `ranks` can make.
void check_call(const Collective& call, int ranks);

/// Whether ranks that make these are at the same place.
bool is_same(const Collective& a, const Collective& b);
/// Fails (runtime) where they are not, and names both.
void check_same(int rank_a, const Collective& a, int rank_b, const Collective& b);

/// Bytes of `count` elements.
std::size_t bytes_of(const Collective& call, std::int64_t count);

/// Fails (invalid_argument) where there is no such rank.
void check_rank(int rank, int ranks);

}  // namespace tern
