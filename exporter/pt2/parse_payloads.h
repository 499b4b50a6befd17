// Reads the table that says where the tensors of a program are.
#pragma once

#include <string>

#include "exporter/pt2/container.h"
#include "exporter/pt2/model.h"

namespace tern::pt2 {

/// `config` is the entry with the table; `folder`, under the root, is where the entries that it names are. Throws
/// Error: bad_file, also when a tensor does not lie inside its entry.
NameMap<Payload> parse_payloads(const Container& container, const Entry& config, const std::string& folder);

}  // namespace tern::pt2
