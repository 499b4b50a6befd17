// The text of one kernel: what a family says about its operands, parameters and types, and the family's text file
// (text/NAME.inc), put together in a device's dialect.
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

class Source {
 public:
  /// `name`: the family's text file, which uses TERN_KERNEL { ... } once, and `p.NAME` for parameters.
  explicit Source(std::string name) : name_(std::move(name)) {}

  /// A library text that this one needs, after those that it needs; "math" is the functions alone.
  void use(const std::string& file);
  /// MACRO(exp)(x) is the exponential of a value of the type f32 or f64; likewise for all functions.
  void math(const std::string& macro, DType t);
  void define(const char* name, const std::string& value);
  void define(const char* name, std::int64_t value);
  void define(const std::string& name, const std::string& value) { define(name.c_str(), value); }
  void define(const std::string& name, std::int64_t value) { define(name.c_str(), value); }
  /// NAME is the C type of elements of `t`.
  void type(const std::string& name, DType t) { define(name, c_type(t)); }
  /// NAME(p, i) is element i of p, memory of type `from`, as `to`.
  void load(const std::string& name, DType from, DType to);
  /// The same by way of a third type.
  void load(const std::string& name, DType from, DType by, DType to);
  /// NAME(p, i, v) makes v, of type `from`, element i of p, memory of type `to`.
  void store(const std::string& name, DType from, DType to);
  /// PREFIX_T is the type; PREFIX_ADD(a, b), _SUB, _MUL, _FMA(a, b, c), _ZERO, _ONE its arithmetic. For types of sums.
  void arithmetic(const std::string& prefix, DType t);
  /// Text of its own, before the family's.
  void add(const std::string& text) { body_ += text; }

  // Arguments of the kernel, in this order when it is launched; the parameters come last.
  void buffer(const std::string& name, DType t, bool writes);
  /// A parameter `p.name`, an array where there are several (at least one).
  void parameter(const std::string& name, std::span<const std::int64_t> values);
  void parameter(const std::string& name, std::int64_t value) { parameter(name, std::span(&value, 1)); }
  /// A floating parameter of the type f32 or f64.
  void parameter(const std::string& name, DType t, double value);
  /// NAME is a number of the node's that makes no other text: a parameter p.NAME.
  void choice(const std::string& name, std::int64_t value) {
    parameter(name, value);
    define(name, "p." + name);
  }
  /// at_NAME(i, &p) is where element i, in row-major order, of such a view lies. Contiguous tensors cost nothing.
  void view(const std::string& name, std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides);
  void view(const std::string& name, const TensorView& v);

  const std::string& name() const { return name_; }
  /// Call this after all declarations; the functions below refer to this device.
  void complete(const Target& target);
  /// How many items a group has, so that the compiler makes the kernel fit; 0: any.
  void require_group(std::uint32_t items) { group_ = items; }
  /// Different for texts that differ, on one device.
  std::string key() const;
  std::string text(const Target& target) const;
  std::span<const std::byte> parameters() const { return values_; }

 private:
  struct Buffer {
    std::string name, type;
    bool writes;
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
