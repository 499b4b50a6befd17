// The C++ example of README.md, repeated exactly below these lines; the tests compile and run it.
#include <tern/tern.h>

#include <cstdio>

int main(int argc, char** argv) {
  tern::Model model = tern::Model::open(argc > 1 ? argv[1] : "digits.tern");
  tern::Session session(model.prepare());

  tern::Tensor images(tern::DType::f32, {2, 1, 8, 8});  // zeros: fill in your own
  const std::vector<tern::Tensor>& outputs = session.run({images});
  for (float logit : outputs[0].span<const float>()) std::printf("%.3f\n", logit);
}
