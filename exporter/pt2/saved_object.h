// Object written by torch.save into an entry of a .pt2 file: a zip archive of its own, with a pickle and its storages.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "exporter/pt2/name_map.h"

namespace tern::pt2 {

/// Bytes of the file, and their offset.
struct SavedPart {
  std::span<const std::byte> bytes;
  std::uint64_t offset = 0;
};

struct SavedObject {
  SavedPart pickle;
  NameMap<SavedPart> storages;  ///< "0" is the key of entry ROOT/data/0
};

/// Checks the inner archive as strictly as the file's own, except for compression and CRCs: the outer entry's CRC
/// covers them. `offset` is the position of `bytes` in the file; messages name `label`. Throws Error: bad_file or
/// unsupported.
SavedObject read_saved_object(std::span<const std::byte> bytes, std::uint64_t offset, const std::string& label);

}  // namespace tern::pt2
