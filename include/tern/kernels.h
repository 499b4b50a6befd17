// The kernels that devices have loaded for the programs of this process: of an archive that brought them compiled, or
// compiled here (PrepareOptions::native_code).
#pragma once

#include <tern/api.h>

#include <string>
#include <vector>

namespace tern {

struct LoadedKernel {
  std::string name;           ///< of its family: "tern_pointwise"
  bool from_archive = false;  ///< else its text was compiled, or found compiled in the device's cache
  std::string refused;        ///< why a module of the archive was not taken; empty where it had none
};

/// By name. Fails for "cpu", whose kernels are part of the library.
TERN_API std::vector<LoadedKernel> loaded_kernels(const std::string& device);

}  // namespace tern
