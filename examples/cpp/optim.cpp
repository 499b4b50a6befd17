// Fits a line to points with AdamW, with Tern's kernels and without an archive: prints "y = 2.000 x + 1.000".
#include <tern/optim.h>

#include <cstdio>

int main() {
  std::vector<tern::Tensor> params, grads;
  for (int i = 0; i < 2; ++i) {
    params.emplace_back(tern::DType::f32, std::vector<std::int64_t>{1});  // zeros
    grads.emplace_back(tern::DType::f32, std::vector<std::int64_t>{1});
  }
  tern::optim::Options options = tern::optim::defaults(tern::optim::Kind::adamw);
  options.lr = 0.05;
  options.weight_decay = 0;
  tern::optim::States states = tern::optim::make_states(options, params);
  for (int epoch = 0; epoch < 2000; ++epoch) {
    const float slope = params[0].span<float>()[0], offset = params[1].span<float>()[0];
    float slope_gradient = 0, offset_gradient = 0;
    for (float x = -1; x <= 1; x += 0.25F) {
      const float error = slope * x + offset - (2 * x + 1);
      slope_gradient += 2 * error * x;
      offset_gradient += 2 * error;
    }
    grads[0].span<float>()[0] = slope_gradient;
    grads[1].span<float>()[0] = offset_gradient;
    tern::optim::step(options, params, grads, states);
  }
  std::printf("y = %.3f x + %.3f\n", params[0].span<float>()[0], params[1].span<float>()[0]);
}
