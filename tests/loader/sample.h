// A small program with something of everything that an archive can hold, and helpers to compare and spoil archives.
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
/// one, attributes and annotations of every kind, two kernels with the same module.
Program sample_program();

/// "" when both hold the same, but for the bytes; else where they first differ.
std::string difference(const Program& a, const Program& b);

/// Gives an archive that was changed the hash that fits its index again.
void rehash(std::vector<std::byte>& archive);

/// The archive of the sample after `change`, hashes right.
std::vector<std::byte> changed(const std::function<void(Program&)>& change);

/// An archive with this index after these bytes of segments (which begin at 64); hashes right.
std::vector<std::byte> assemble(std::span<const std::byte> segments, std::span<const std::byte> index);

/// The archive of a program whose segments are declared as `change` leaves them; hashes of the index right.
std::vector<std::byte> with_segments(const Program& program, const WriteOptions& options,
                                     const std::function<void(writing::WrittenStorages&)>& change);

/// What opening says; "" when it succeeds.
std::string open_error(std::span<const std::byte> bytes, Verify verify = Verify::now);

/// The rules that validate finds broken, in order.
std::vector<std::string> rules_broken(std::span<const std::byte> bytes);

}  // namespace tern::test
