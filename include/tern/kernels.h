// The kernels loaded by a device in this process: from an archive (PrepareOptions::native_code), or compiled here from
// Tern's text.
#pragma once

#include <tern/api.h>

#include <string>
#include <vector>

namespace tern {

struct LoadedKernel {
  std::string name;           ///< "tern_pointwise"
  bool from_archive = false;  ///< false: compiled here, or found in the device's cache of compiled kernels
  std::string refused;        ///< the device's reason for refusing the archive's kernel; empty if the archive has none
};

/// The kernels sorted by name. Any thread may call this function. Throws tern::Error (invalid_argument) for "cpu": the
/// CPU's kernels are part of the library.
TERN_API std::vector<LoadedKernel> loaded_kernels(const std::string& device);

}  // namespace tern
