// A call of a group, checked and in words.
#pragma once

#include <tern/collective.h>

#include <cstddef>
#include <string>

namespace tern {

/// "all_reduce (sum) of 4 float32", "broadcast of 4 float32 from rank 1".
std::string describe(const Collective& call);

/// Fails (invalid_argument) where the call is none that rank `rank` of `ranks` can make.
void check_call(const Collective& call, int rank, int ranks);

bool reduces(CollectiveKind kind);
bool is_point_to_point(CollectiveKind kind);

/// Of what all ranks have to agree on: the same for calls that fit together.
std::uint64_t fingerprint(const Collective& call);

/// Bytes of `count` elements.
std::size_t bytes_of(const Collective& call, std::int64_t count);

/// Elements of `out` on rank `rank`.
std::int64_t results_of(const Collective& call, int rank, int ranks);

/// Fails (invalid_argument) where there is no such rank.
void check_rank(int rank, int ranks);

}  // namespace tern
