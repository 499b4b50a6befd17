// Reads the table of a program's tensor locations.
#pragma once

#include <string>

#include "exporter/pt2/container.h"
#include "exporter/pt2/model.h"

namespace tern::pt2 {

/// `config` is the entry with the table; `folder`, under the root, contains its named entries. Throws Error: bad_file,
/// also for tensors outside their entry.
NameMap<Payload> parse_payloads(const Container& container, const ContainerEntry& config, const std::string& folder);

}  // namespace tern::pt2
