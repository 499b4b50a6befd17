// A node as a list of launches: created once for each plan, run with the current addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/portable/launcher.h"
#include "kernels/portable/source.h"

namespace tern::portable {

/// A kernel under construction, with its arguments, declared in the text's order.
class Launch {
 public:
  explicit Launch(std::string family) : source(std::move(family)) {}

  KernelSource source;

  /// Operand `k` of the node, as elements of `t`.
  void input(std::string_view name, std::size_t k, DType t) { argument(name, t, {Argument::Kind::input, k, 0}, false); }
  void output(std::string_view name, std::size_t k, DType t) {
    argument(name, t, {Argument::Kind::output, k, 0}, true);
  }
  /// The same for arguments missing in some nodes; HAS tells the text about their presence.
  void optional_input(std::string_view has, std::string_view name, std::size_t k, DType t, bool there) {
    source.choice(has, there ? 1 : 0);
    argument(name, t, {there ? Argument::Kind::input : Argument::Kind::none, k, 0}, false);
  }
  void optional_output(std::string_view has, std::string_view name, std::size_t k, DType t, bool wanted) {
    source.choice(has, wanted ? 1 : 0);
    argument(name, t, {wanted ? Argument::Kind::output : Argument::Kind::none, k, 0}, true);
  }
  /// Scratch from byte `offset` on (Launches::scratch).
  void scratch(std::string_view name, std::uint64_t offset, DType t, bool writes) {
    argument(name, t, {Argument::Kind::scratch, 0, offset}, writes);
  }
  /// Table `k` of Launches::table.
  void table(std::string_view name, std::size_t k, DType t) { argument(name, t, {Argument::Kind::table, k, 0}, false); }
  /// The kernel may TERN_FAIL(TERN_FAIL_index).
  void may_fail() { argument("tern_failure", DType::i32, {Argument::Kind::failure, 0, 0}, true); }

  /// Shortcuts for frequently used functions of KernelSource.
  void load(std::string_view name, DType from, DType to) { source.load(name, from, to); }
  void store(std::string_view name, DType from, DType to) { source.store(name, from, to); }
  void type(std::string_view name, DType t) { source.type(name, t); }
  template <class... T>
  void parameter(std::string_view name, T... values) {
    source.parameter(name, values...);
  }

  struct Argument {
    enum class Kind : std::uint8_t { input, output, scratch, table, failure, none };
    Kind kind;
    std::size_t index;
    std::uint64_t offset;
  };

 private:
  friend class Launches;
  void argument(std::string_view name, DType t, Argument source, bool writes);
  std::vector<Argument> arguments_;
};

class Launches : public KernelState {
 public:
  /// The call's launcher creates the list; any launcher of the same device can run the list, even after the first
  /// launcher is destroyed.
  explicit Launches(const KernelCall& call) : launcher_(*call.launcher) {}

  /// Adds a launch of items 0..items - 1 after the earlier launches. `items` may be 0: then nothing runs.
  /// `group`: size of a group, for a text using TERN_FOR_GROUPS.
  void add(Launch launch, std::int64_t items, std::uint32_t group = 0);
  /// Bytes of the node's scratch, 64-byte aligned: their offset.
  std::uint64_t scratch(std::uint64_t bytes);
  /// Adds memory owned by the plan, with these bytes; returns its number.
  std::size_t table(std::span<const std::byte> bytes);
  /// The same with memory filled by the family's own launches.
  std::size_t table(std::uint64_t bytes);
  std::byte* table_data(std::size_t k) const { return tables_[k]->data; }

  const Target& target() const { return launcher_.target(); }
  std::uint64_t scratch_bytes() const { return scratch_bytes_; }
  void run(KernelCall& call) const { run(call, 0, launches_.size()); }
  /// Runs a part of the list, for ops reading intermediate results.
  void run(KernelCall& call, std::size_t begin, std::size_t end) const;
  std::size_t size() const { return launches_.size(); }

 private:
  struct PreparedLaunch {
    KernelHandle kernel;
    std::vector<Launch::Argument> arguments;
    std::vector<std::byte> parameters;
    std::int64_t items;
    std::uint32_t group;
  };
  std::byte* address(const KernelCall& call, const Launch::Argument& place) const;

  Launcher& launcher_;
  std::vector<PreparedLaunch> launches_;
  std::vector<std::unique_ptr<Memory>> tables_;
  std::uint64_t scratch_bytes_ = 0;
};

/// A family: reads the node and the sizes of its operands (no data), and adds launches.
using Family = void (*)(const KernelCall& call, Launches& list);

namespace detail {
template <Family kFamily>
std::unique_ptr<KernelState> prepare(const KernelCall& call) {
  auto list = std::make_unique<Launches>(call);
  kFamily(call, *list);
  return list;
}
}  // namespace detail
void run_launches(KernelCall& call);
std::size_t scratch_of_launches(const KernelCall& call);

/// The kernel of a family; all operands may have any strides.
template <Family kFamily>
Kernel kernel() {
  Kernel k;
  k.run = run_launches;
  k.scratch = scratch_of_launches;
  k.prepare = detail::prepare<kFamily>;
  k.strided = kAllStrided;
  return k;
}

/// Copies between views of the same shape and dtype, any strides.
void copy(Launcher& launcher, const TensorView& from, const TensorView& to);

}  // namespace tern::portable
