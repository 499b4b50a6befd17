// Programs with other weights: the nodes stay, states view other bytes.
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

/// For each state: whether all that was made of it is the state itself, and it can view other bytes. Not so for what
/// export merged into other weights (metadata "folded"), for what export made, and for one of several different views
/// of one storage.
std::vector<bool> replaceable_states(const Program& program);

/// Whether export merged the state of this name into other weights.
bool is_folded(const Program& program, std::string_view name);

/// A copy of a program whose states are given other bytes.
class WeightReplacement {
 public:
  explicit WeightReplacement(const Program& program, std::shared_ptr<const FileBytes> file);
  /// The state, and all that are tied to it, gets these bytes in row-major order: they are viewed in place if they are
  /// aligned and in the state's own order, else copied. They belong to the file or to `owned`.
  void set(std::uint32_t state, std::span<const std::byte> bytes, MemoryPages owned = {});
  std::shared_ptr<const Program> finish() { return std::move(program_); }

 private:
  class Source;
  std::shared_ptr<Program> program_;
  std::shared_ptr<Source> source_;
};

/// Collects names for one message.
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
