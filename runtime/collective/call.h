// Checks and descriptions of collective calls.
#pragma once

#include <tern/collective.h>

#include <cstddef>
#include <string>

namespace tern {

/// Describes the call: "all_reduce (sum) of 4 float32", "broadcast of 4 float32 from rank 1".
std::string describe(const Collective& call);

/// Fails (invalid_argument) if rank `rank` of `ranks` cannot make this call.
void check_call(const Collective& call, int rank, int ranks);

bool reduces(CollectiveKind kind);
bool is_point_to_point(CollectiveKind kind);

/// Hashes the properties required to be equal on all ranks. Matching calls have equal fingerprints.
std::uint64_t fingerprint(const Collective& call);

/// Bytes of `count` elements.
std::size_t bytes_of(const Collective& call, std::int64_t count);

/// Elements of `out` on rank `rank`.
std::int64_t results_of(const Collective& call, int rank, int ranks);

/// Fails (invalid_argument) if no such rank exists.
void check_rank(int rank, int ranks);

}  // namespace tern
