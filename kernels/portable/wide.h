// Several neighbouring elements for an item, on devices with groups: accesses of up to 16 bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/portable/launches.h"
#include "schema/pointwise.h"

namespace tern::portable {

/// Number of elements of an item, at most `most`: halved until the items fill a device.
std::int64_t enough_items(std::int64_t count, std::int64_t most);

/// Wide items for pointwise work (text/pointwise_wide.inc).
class WideItems {
 public:
  /// `views` have the sizes of `out`, which is contiguous; views without data type are absent. Empty if an item for
  /// each element is as fast: few elements, long expressions, operands without contiguous neighbours.
  static std::optional<WideItems> choose(const Target& target, const TensorView& out, std::span<const TensorView> views,
                                         const PointwiseExpr& expr);
  /// The text of an element of operand k, with the buffer and view `name`; `single` is the text for an item with a
  /// single element.
  std::string load(std::size_t k, const std::string& name, const TensorView& view, const std::string& single);
  /// Must follow all declarations except WIDE_EXPRESSION.
  void add(Launches& list, Launch k, const TensorView& out);

 private:
  enum class Way : std::uint8_t { words, once, elements };
  static std::optional<Way> way_of(const TensorView& view, std::int64_t each);
  void misaligned(const std::string& name, std::int64_t bytes);

  std::int64_t element_count_ = 1;
  std::vector<Way> ways_;
  std::string read_, misaligned_;
};

}  // namespace tern::portable
