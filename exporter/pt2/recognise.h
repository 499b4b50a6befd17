// Tells archives that torch.export.save of PyTorch 2.9 or newer wrote from others that look alike.
#pragma once

#include <string>
#include <vector>

#include "exporter/pt2/zip_directory.h"

namespace tern::pt2 {

/// Returns the root folder of a .pt2 archive (without a slash). Throws Error: unsupported for other kinds that PyTorch
/// writes, with advice; bad_file for unknown archives.
std::string recognise_archive(const std::vector<ZipRecord>& records, const std::string& label);

}  // namespace tern::pt2
