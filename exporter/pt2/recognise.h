// Tells archives of torch.export.save (PyTorch 2.9 or newer) from similar archives.
#pragma once

#include <string>
#include <vector>

#include "exporter/pt2/zip_directory.h"

namespace tern::pt2 {

/// Returns the root folder of a .pt2 archive (without a slash). Throws Error: unsupported, with advice, for PyTorch's
/// other archives; bad_file for unknown archives.
std::string recognise_archive(const std::vector<ZipRecord>& records, const std::string& label);

}  // namespace tern::pt2
