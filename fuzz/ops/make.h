// A program of a single op under construction: operands with wild data, sizes and strides, and the op's attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporter/builder.h"
#include "fuzz/run/choices.h"
#include "fuzz/run/tame.h"
#include "schema/program.h"

namespace tern::fuzz {

using Sizes = std::vector<std::int64_t>;
using Key = AttrKey;

/// Tolerated defects. on: the node may break the op's rules. off: some sizes also reach or exceed a kernel's loop
/// length.
enum class Wild : bool { off, on };

class Make {
 public:
  Make(Op op, Choices& c, Wild wild = Wild::on);

  // Choices.
  bool tame() const { return wild_ == Wild::off; }
  std::int64_t in(std::int64_t low, std::int64_t high) { return choices.between(low, high); }
  bool chance(int percent) { return choices.chance(percent); }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return choices.pick(of);
  }
  DType any();       ///< every dtype
  DType real();      ///< integers, booleans and floats of 16 bits and more
  DType floating();  ///< usually 16 bits or more
  DType index() { return pick({DType::i64, DType::i32}); }
  DType matrix() { return pick({DType::f32, DType::f64, DType::c64, DType::c128}); }
  double number();  ///< also NaN, infinities and extremes if wild
  /// Sizes 1 to 5, now and then `low`.
  Sizes shape(std::int64_t rank, std::int64_t low = 0);
  Sizes any_shape(std::int64_t low = 0) { return shape(in(0, 4), low); }
  /// A size in [low, high]; sometimes more if tame.
  std::int64_t extent(std::int64_t low, std::int64_t high);
  std::int64_t axis(const Sizes& shape) { return in(0, static_cast<std::int64_t>(shape.size()) - 1); }
  Sizes list(std::int64_t count, std::int64_t low, std::int64_t high);

  // Operands.
  /// A state, an input or a strided view; some sizes are symbols.
  ValueId tensor(DType dtype, const Sizes& shape);
  /// The node's next operand.
  void operand(DType dtype, const Sizes& shape) { node.inputs.push_back(tensor(dtype, shape)); }
  void absent() { node.inputs.push_back(kNoValue); }
  /// An operand, or none.
  void optional(DType dtype, const Sizes& shape, int percent = 50);
  /// `value`, or a symbol equal to `value` at run time.
  Dim size(std::int64_t value);
  /// A symbol for the node to bind.
  Dim unbound();

  /// A quantized state of any format, the last size rounded up to a multiple of four; perhaps 2:4 sparse.
  ValueId quantized(const Sizes& shape, bool sparse = true);

  // Attributes.
  void set(Key key, Dim d) { node.set(key, Dims{d}); }
  void set(Key key, const Sizes& v) { node.set(key, Dims(v.begin(), v.end())); }
  void set(Key key, Dims v) { node.set(key, std::move(v)); }
  void set(Key key, DType t) { set(key, Dim(static_cast<std::int64_t>(t))); }
  void numbers(Key key, std::vector<double> v) { node.set(key, std::move(v)); }
  void text(Key key, std::string_view v) { node.set(key, std::string(v)); }

  /// Infers the types of the results, sometimes perturbs the node, and adds the results to the outputs of the program.
  /// Throws tern::Error if the op's rule refuses the node.
  void finish();

  // Constraints of tame programs:
  SpecialData special = SpecialData::yes;  ///< of data
  bool independent = false;                ///< no element of an operand is another one's
  Choices& choices;
  Program program;
  Builder b;
  Node node;

 private:
  void give_planes(TensorType& type);
  ValueId source(DType dtype, const Dims& shape, const Sizes& sizes);
  ValueId state(TensorType type, const Sizes& sizes);
  ValueId strided(DType dtype, const Sizes& shape);
  void change_attribute();
  void change_result(TensorType& type);
  Wild wild_;
  int symbols_ = 0;
};

}  // namespace tern::fuzz
