// Program as the FlatBuffer at an archive's end (schema/archive.fbs).
#pragma once

#include <cstddef>
#include <vector>

#include "exporter/archive/segments.h"
#include "schema/program.h"

namespace tern::writing {

std::vector<std::byte> index_bytes(const Program& program, const WrittenStorages& storages);

}  // namespace tern::writing
