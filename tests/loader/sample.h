// A small program with every feature of an archive, and helpers to compare and spoil archives.
#pragma once

#include <tern/tern.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "exporter/archive/segments.h"
#include "exporter/archive_writer.h"
#include "schema/program.h"

namespace tern::test {

/// Bytes of storages in memory.
class VectorSource : public StorageSource {
 public:
  std::vector<std::vector<std::byte>> storages;
  std::span<const std::byte> bytes(std::uint32_t storage) override { return storages.at(storage); }
};

/// Two entry functions, bodies of cond and call, symbols, tied and aliased states, equal bytes, an MX state, an empty
/// state, attributes and annotations of every kind, two kernels with the same module, three attached files.
Program sample_program();

/// "" if both are equal except for bytes; else the first difference.
std::string difference(const Program& a, const Program& b);

/// Corrects the index hash of a changed archive.
void rehash(std::vector<std::byte>& archive);

/// The archive of the sample after `change`, hashes right.
std::vector<std::byte> changed(const std::function<void(Program&)>& change);

/// An archive with these segment bytes (starting at 64), followed by this index, with correct hashes.
std::vector<std::byte> assemble(std::span<const std::byte> segments, std::span<const std::byte> index);

/// The archive of a program with segment declarations edited by `change`; the index hashes are correct.
std::vector<std::byte> edit_segments(const Program& program, const WriteOptions& options,
                                     const std::function<void(writing::WrittenStorages&)>& change);

/// The error of opening the archive, or "".
std::string open_error(std::span<const std::byte> bytes, Verify verify = Verify::now);

/// Broken rules found by validate, in order.
std::vector<std::string> rules_broken(std::span<const std::byte> bytes);

}  // namespace tern::test
