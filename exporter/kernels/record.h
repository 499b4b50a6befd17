// Which kernels a program needs on a kind of device, found without one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "exporter/kernels/recording_device.h"
#include "schema/program.h"

namespace tern {

/// Sizes of symbols by name: where there are several, the first ones of all symbols belong together, and so on.
using SymbolSizes = std::map<std::string, std::vector<std::int64_t>>;

/// The name of each kernel, by its text, for runs of these sizes, with and without PrepareOptions::reproducible.
/// Symbols without sizes take typical ones inside their range. No weight is looked at. Fails (unsupported) where the
/// program cannot run on such devices.
std::map<std::string, std::string> record_kernels(const Program& program, const DeviceKind& kind,
                                                  const SymbolSizes& sizes);

}  // namespace tern
