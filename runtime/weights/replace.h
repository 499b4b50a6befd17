// Programs with replaced weights: nodes stay, states view other bytes.
#pragma once

#include <tern/tern.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loader/file_bytes.h"
#include "loader/memory_pages.h"
#include "schema/program.h"

namespace tern {

/// True for states that may view other bytes without affecting derived data. False for states merged by export into
/// other weights (metadata "folded"), states created by export, and different views of a shared storage.
std::vector<bool> replaceable_states(const Program& program);

/// True if export merged the state of this name into other weights.
bool is_folded(const Program& program, std::string_view name);

/// A copy of a program with new bytes for its states.
class WeightReplacement {
 public:
  explicit WeightReplacement(const Program& program, std::shared_ptr<const FileBytes> file);
  /// Assigns bytes in row-major order to the state and all tied states. Aligned bytes in the state's own order are
  /// viewed in place, others copied. The bytes belong to the file or to `owned`.
  void set(std::uint32_t state, std::span<const std::byte> bytes, MemoryPages owned = {});
  std::shared_ptr<const Program> finish() { return std::move(program_); }

 private:
  class Source;
  std::shared_ptr<Program> program_;
  std::shared_ptr<Source> source_;
};

/// Collects names for a message.
class NameList {
 public:
  void add(std::string_view name);
  bool empty() const { return count_ == 0; }
  /// "a, b and 12 more"
  std::string text() const;

 private:
  std::string names_;
  std::size_t count_ = 0;
};

}  // namespace tern
