// Finds the kernels of a program for a kind of device, without a device.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "exporter/kernels/recording_device.h"
#include "schema/program.h"

namespace tern {

/// Sizes of symbols by name. The first sizes of all symbols belong together, likewise the second ones, and so on.
using SymbolSizes = std::map<std::string, std::vector<std::int64_t>>;

/// Maps the source of each kernel to its name, for runs of these sizes, with and without PrepareOptions::reproducible.
/// Symbols without sizes take typical sizes inside their range. Never reads weights. Fails (unsupported) if such
/// devices cannot run the program.
std::map<std::string, std::string> record_kernels(const Program& program, const DeviceKind& kind,
                                                  const SymbolSizes& sizes);

}  // namespace tern
