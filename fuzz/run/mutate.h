// Changes to an archive's index and weights that keep it an archive: fields, lists, references and bytes change, the
// index's hash is made right.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "fuzz/run/choices.h"

namespace tern::fuzz {

/// Where prologue and index are sound, else nothing: the index.
std::span<const std::byte> index_of(std::span<const std::byte> archive);

/// Makes the hash of the index right. False where there is no index.
bool make_hash_right(std::span<std::byte> archive);

/// The archive with one to three fields of its index changed; empty where it has no index that can be read.
std::vector<std::byte> mutate_archive(std::span<const std::byte> archive, Choices& c);

}  // namespace tern::fuzz
