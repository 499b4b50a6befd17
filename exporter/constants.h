// Constant tensors that lowering makes (tables, weights it computed): states whose bytes the program's source holds
// beside the file's.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "schema/program.h"

namespace tern {

class Builder;

/// Storages of a file first, then bytes added at export. Add nothing while another thread reads.
class ExtendableSource : public StorageSource {
 public:
  /// `base` holds the first `base_count` storages; null with 0 for a program that has none.
  ExtendableSource(std::shared_ptr<StorageSource> base, std::uint32_t base_count)
      : base_(std::move(base)), base_count_(base_count) {}
  std::span<const std::byte> bytes(std::uint32_t storage) override;
  void release(std::uint32_t storage) override;
  /// Returns the new storage's number.
  std::uint32_t add(std::vector<std::byte> bytes);

 private:
  std::shared_ptr<StorageSource> base_;
  std::uint32_t base_count_;
  std::vector<std::vector<std::byte>> added_;
};

/// Adds a storage with these bytes to the program, whose source becomes an ExtendableSource when it is not one.
std::uint32_t add_storage(Program& program, std::vector<std::byte> bytes);

/// Adds a constant state with these bytes (row-major) to the builder's program, as an input of its function. Equal
/// constants are shared.
ValueId add_constant(Builder& b, DType dtype, const std::vector<std::int64_t>& sizes, const void* bytes);

/// The number of a reduction's name in attribute `kind` of Op::reduce; fails on an unknown name.
std::int64_t reduce_kind_number(std::string_view name);

}  // namespace tern
