// Runs a node's shape rule on operands of any types, for tests of rules.
#pragma once

#include <tern/error.h>

#include <string>
#include <utility>
#include <vector>

#include "schema/infer.h"

namespace tern::test {

class Rule {
 public:
  explicit Rule(Op op) { node_.op = op; }
  Rule& in(Dims shape, DType dtype = DType::f32) {
    types_.push_back({dtype, std::move(shape)});
    return *this;
  }
  /// int8 in blocks of 8.
  Rule& quantized(Dims shape) {
    types_.push_back({DType::i8, std::move(shape), {.columns = 8, .scale = DType::f32}});
    return *this;
  }
  Rule& typed(TensorType type) {
    types_.push_back(std::move(type));
    return *this;
  }
  Rule& set(AttrKey key, std::vector<std::int64_t> v) {
    node_.set(key, Dims(v.begin(), v.end()));
    return *this;
  }
  Rule& number(AttrKey key, double v) {
    node_.set(key, std::vector<double>{v});
    return *this;
  }
  Rule& dtype(DType t) { return set(AttrKey::dtype, {static_cast<std::int64_t>(t)}); }
  ExprPool& pool() { return program_.pool; }

  TensorType type(std::size_t output = 0) {
    std::vector<const TensorType*> inputs;
    for (const TensorType& t : types_) inputs.push_back(&t);
    return infer(program_, program_.pool, node_, inputs).at(output);
  }
  Dims shape(std::size_t output = 0) { return type(output).shape; }
  bool refused() {
    try {
      type();
      return false;
    } catch (const Error&) {
      return true;
    }
  }
  /// The message, or nothing.
  std::string refusal() {
    try {
      type();
      return {};
    } catch (const Error& e) {
      return e.what();
    }
  }

 private:
  Program program_;
  Node node_;
  std::vector<TensorType> types_;
};

}  // namespace tern::test
