// The text of a kernel: a family's declarations of operands, parameters and types, and the family's text file
// (text/NAME.inc), assembled in a device's dialect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/portable/launcher.h"
#include "kernels/portable/types.h"

namespace tern::portable {

class KernelSource {
 public:
  /// `name`: the family's text file; the file uses TERN_KERNEL { ... } once, and `p.NAME` for parameters.
  explicit KernelSource(std::string name) : name_(std::move(name)) {}

  /// Adds a library text, after its dependencies; "math" means only the functions.
  void add_library(std::string_view file);
  /// MACRO(exp)(x) is the exponential of a value of the type f32 or f64; likewise for all functions.
  void math(std::string_view macro, DType t);
  void define(std::string_view name, std::string_view value);
  void define(std::string_view name, std::int64_t value);
  /// NAME is the C type of elements of `t`.
  void type(std::string_view name, DType t);
  /// NAME(p, i) is element i of p, memory of type `from`, converted to `to`.
  void load(std::string_view name, DType from, DType to);
  /// The same, through a third type.
  void load(std::string_view name, DType from, DType by, DType to);
  /// NAME(p, i, v) stores v, of type `from`, in element i of p, memory of type `to`.
  void store(std::string_view name, DType from, DType to);
  /// PREFIX_T is the type; PREFIX_ADD(a, b), _SUB, _MUL, _FMA(a, b, c), _ZERO, _ONE its arithmetic. For types of sums.
  void arithmetic(std::string_view prefix, DType t);
  /// Adds text before the family's text.
  void add(std::string_view text) { body_ += text; }

  // Arguments of the kernel, in the order of launching; the parameters come last.
  void buffer(std::string_view name, DType t, bool writes);
  /// A parameter `p.name`, an array for several values (at least one).
  void parameter(std::string_view name, std::span<const std::int64_t> values);
  void parameter(std::string_view name, std::int64_t value);
  /// A floating parameter of the type f32 or f64.
  void parameter(std::string_view name, DType t, double value);
  /// NAME is a number of the node passed as a parameter p.NAME: all values share a text.
  void choice(std::string_view name, std::int64_t value);
  /// at_NAME(i, &p) is the offset of element i of the view, in row-major order. Contiguous tensors cost nothing.
  void view(std::string_view name, std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides);
  void view(std::string_view name, const TensorView& v);

  const std::string& name() const { return name_; }
  /// Call this after all declarations; the functions below refer to this device.
  void complete(const Target& target);
  /// Size of a group, used by the compiler to limit registers; 0: any.
  void require_group(std::uint32_t items) { group_ = items; }
  /// Identifies the text on a device: differs for different texts.
  std::string key() const;
  std::string text(const Target& target) const;
  std::span<const std::byte> parameters() const { return values_; }

 private:
  struct Buffer {
    std::string name, type;
    bool is_written;
  };
  struct View {
    std::string name;
    std::vector<std::int64_t> sizes, strides;
    bool contiguous;
  };
  void append(std::uint64_t slot);
  void declare(const View& v);
  void declare_any(const View& v);
  void add_view(const std::string& name, const std::string& body);

  std::string name_;
  std::uint32_t group_ = 0;
  std::vector<std::string> files_;
  std::string body_, struct_, views_;
  std::vector<Buffer> buffers_;
  std::vector<View> pending_;
  std::vector<std::byte> values_;
};

}  // namespace tern::portable
