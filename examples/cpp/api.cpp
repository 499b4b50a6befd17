// The C++ example of docs/api.md.
#include <tern/tern.h>

#include <cstdio>

int main(int argc, char** argv) try {
  const tern::Model model = tern::Model::open(argc > 1 ? argv[1] : "digits.tern");
  const tern::FunctionInfo& function = model.functions().at(0);
  const tern::ValueInfo& input = function.inputs.at(0);
  for (const tern::SizeInfo& size : input.sizes) std::printf("%s ", size.constant ? size.text.c_str() : "?");
  std::printf("%s\n", std::string(name_of(input.dtype)).c_str());

  tern::PrepareOptions options;
  options.threads = 1;
  tern::Session session(model.prepare(options));

  // Inputs and results by name.
  tern::Tensor images(tern::DType::f32, {2, 1, 8, 8});
  session.run({{input.name, images}});
  for (float logit : session.output(function.outputs.at(0).name).span<const float>()) std::printf("%.3f\n", logit);

  // Results in your own memory, from inputs with strides: here one image, twice.
  alignas(64) float logits[2 * 10];
  const auto twice = tern::Tensor::borrow(images.data(), tern::DType::f32, {2, 1, 8, 8}, {0, 64, 8, 1});
  session.run_into({twice}, {tern::Tensor::borrow(logits, tern::DType::f32, {2, 10})});
  std::printf("%.3f\n", logits[10]);
} catch (const tern::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
