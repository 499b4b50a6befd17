// Opens a .tern archive: checks the prologue, the index's hash and every structural rule, and returns the program with
// mapped bytes.
#pragma once

#include <tern/tern.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Throws Error (io, bad_file, unsupported) naming the offset and the rule. The program's source keeps the file mapped
/// or its bytes in memory.
std::shared_ptr<const Program> open_archive(const std::string& path, const OpenOptions& options);
/// Borrows the bytes. The bytes must outlive the program, so a temporary is refused.
std::shared_ptr<const Program> open_archive(std::span<const std::byte> bytes, const OpenOptions& options);
std::shared_ptr<const Program> open_archive(std::vector<std::byte>&& bytes, const OpenOptions& options) = delete;

}  // namespace tern
