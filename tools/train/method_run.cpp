#include "tools/train/method_run.h"

#include <cstring>

namespace tern::train {

void MethodRun::capture(std::span<const Tensor> inputs) {
  for (const Tensor& t : inputs) inputs_.emplace_back(t.dtype(), t.sizes());
  captured_.capture_begin(session_.stream());
  outputs_ = session_.run(name_, inputs_);
  captured_.capture_end();
}

bool MethodRun::has_same_sizes(std::span<const Tensor> inputs) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].sizes() != inputs_[i].sizes()) return false;
  }
  return true;
}

const std::vector<Tensor>& MethodRun::operator()(std::span<const Tensor> inputs, bool repeats) {
  if (!graph_ || (inputs_.empty() && !repeats)) return session_.run(name_, inputs);
  if (inputs_.empty()) capture(inputs);
  if (!has_same_sizes(inputs)) return session_.run(name_, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].byte_size() > 0) std::memcpy(inputs_[i].data(), inputs[i].data(), inputs[i].byte_size());
  }
  captured_.replay();
  session_.stream().synchronize();
  return outputs_;
}

}  // namespace tern::train
