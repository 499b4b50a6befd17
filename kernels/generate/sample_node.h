// A sample as a node ready for preparing its kernel.
#pragma once

#include <vector>

#include "kernels/generate/samples.h"
#include "kernels/kernel.h"
#include "schema/infer.h"

namespace tern::generate {

inline TensorView view_of(const TensorType& t) {
  TensorView v;
  v.dtype = t.dtype;
  v.rank = t.rank();
  for (std::size_t i = 0; i < t.shape.size(); ++i) v.sizes[i] = t.shape[i].value();
  make_contiguous(v);
  return v;
}

/// Operands have no memory. Must not be moved or copied: its parts point to each other.
class SampleNode {
 public:
  explicit SampleNode(const Sample& sample) : types_(sample.inputs.size()) {
    node_.op = sample.op;
    node_.attrs = sample.attrs;
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      const SampleOperand& o = sample.inputs[i];
      const bool there = o.dtype != DType::invalid;
      types_[i].dtype = o.dtype;
      types_[i].shape.assign(o.sizes.begin(), o.sizes.end());
      node_.inputs.push_back(there ? static_cast<ValueId>(i) : kNoValue);
      operands_.push_back(there ? &types_[i] : nullptr);
      in_.push_back(there ? view_of(types_[i]) : TensorView{});
    }
  }
  SampleNode(const SampleNode&) = delete;
  SampleNode& operator=(const SampleNode&) = delete;

  /// Fails if the shape rule rejects the operands.
  std::vector<TensorType> results() { return infer(program_, program_.pool, node_, operands_); }
  KernelCall call(std::span<TensorView> out) {
    KernelCall call;
    call.node = &node_;
    call.in = in_;
    call.out = out;
    return call;
  }

 private:
  Program program_;
  Node node_;
  std::vector<TensorType> types_;
  std::vector<const TensorType*> operands_;
  std::vector<TensorView> in_;
};

}  // namespace tern::generate
