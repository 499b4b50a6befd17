// What torch.save wrote into an entry of a .pt2 file: a zip archive of its own, with a pickle and the storages that it
// refers to.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "exporter/pt2/name_map.h"

namespace tern::pt2 {

/// Bytes of the file, and where they begin in it.
struct SavedPart {
  std::span<const std::byte> bytes;
  std::uint64_t offset = 0;
};

struct SavedObject {
  SavedPart pickle;
  NameMap<SavedPart> storages;  ///< by key: "0" for the entry ROOT/data/0
};

/// Checks the inner archive as strictly as the file's own, but for compression and its CRCs: the CRC of the outer entry
/// covers them. `offset` is the place of `bytes` in the file; messages name `label`. Throws Error: bad_file or
/// unsupported.
SavedObject read_saved_object(std::span<const std::byte> bytes, std::uint64_t offset, const std::string& label);

}  // namespace tern::pt2
