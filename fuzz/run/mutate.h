// Changes to an archive's index and weights within a valid container: fields, lists, references and bytes change, and
// the index's hash is corrected.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "fuzz/run/choices.h"

namespace tern::fuzz {

/// The index, or nothing if prologue or index are broken.
std::span<const std::byte> index_of(std::span<const std::byte> archive);

/// Corrects the hash of the index. False without an index.
bool make_hash_right(std::span<std::byte> archive);

/// The archive with one to three changed fields of its index; empty without a readable index.
std::vector<std::byte> mutate_archive(std::span<const std::byte> archive, Choices& c);

}  // namespace tern::fuzz
