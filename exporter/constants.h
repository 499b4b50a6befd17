// Constant tensors created by lowering (tables, computed weights): states with bytes held by the program's source,
// besides the file's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "exporter/raw_bytes.h"
#include "schema/program.h"

namespace tern {

class Builder;

/// Storages of a file, then bytes added at export. No thread may read during add and replace.
class ExtendableSource : public StorageSource {
 public:
  /// `base` holds the first `base_count` storages; null with 0 for a program without storages.
  ExtendableSource(std::shared_ptr<StorageSource> base, std::uint32_t base_count)
      : base_(std::move(base)), base_count_(base_count) {}
  std::span<const std::byte> bytes(std::uint32_t storage) override;
  void release(std::uint32_t storage) override;
  /// Returns the new storage's number.
  std::uint32_t add(std::vector<std::byte> bytes);
  std::uint32_t add(RawBytes bytes);
  /// Computes a storage's new bytes from its old bytes.
  using ByteUpdate = std::function<std::vector<std::byte>(std::span<const std::byte> old_bytes)>;
  /// Replaces the storage's bytes by the result of `update`, applied after earlier changes. The first request for the
  /// bytes applies the changes; `discard` invalidates spans of them, and the next request applies the changes again.
  void replace(std::uint32_t storage, ByteUpdate update);
  void discard(std::uint32_t storage);

 private:
  struct Replacement {
    std::vector<ByteUpdate> updates;
    std::vector<std::byte> bytes;
  };
  std::span<const std::byte> original_bytes(std::uint32_t storage);
  std::shared_ptr<StorageSource> base_;
  std::uint32_t base_count_;
  struct AddedStorage {
    std::shared_ptr<const void> owner;
    std::span<const std::byte> bytes;
  };
  std::vector<AddedStorage> added_storages_;
  std::mutex mutex_;  ///< over the replacements' bytes
  std::map<std::uint32_t, Replacement> replacements_;
};

/// Returns the program's source, after conversion to an ExtendableSource if needed.
ExtendableSource& extendable_source(Program& program);

/// Adds a storage with these bytes to the program.
std::uint32_t add_storage(Program& program, std::vector<std::byte> bytes);
std::uint32_t add_storage(Program& program, RawBytes bytes);

/// True if the state is immutable, row-major, without blocks, and the sole view of its whole storage: its bytes may be
/// replaced.
bool is_own_storage(const Program& program, const State& state);
/// is_own_storage(), and float32.
bool is_own_float_storage(const Program& program, const State& state);

/// Adds a constant state with these bytes (row-major) to the builder's program, as an input of its function. Equal
/// constants are shared.
ValueId add_constant(Builder& b, DType dtype, const std::vector<std::int64_t>& sizes, const void* bytes);

/// The number of a reduction's name in attribute `kind` of Op::reduce; fails on an unknown name.
std::int64_t reduce_kind_number(std::string_view name);

}  // namespace tern
