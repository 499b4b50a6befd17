// Traces runs of a program, alone or on several ranks (docs/traces.md):
//   trace MODEL TRACE [DEVICE]                         e.g. trace digits.tern run.json.gz
//   RANK=0 WORLD_SIZE=2 trace MODEL TRACE cpu ADDRESS  in each of two processes; ADDRESS is rank 0's: 127.0.0.1:4711
#include <tern/collective.h>
#include <tern/tern.h>
#include <tern/trace.h>

#include <cstdio>
#include <cstdlib>

namespace {

int number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

std::vector<tern::Tensor> zeros(const tern::Model& model) {
  std::vector<tern::Tensor> inputs;
  for (const tern::ValueInfo& input : model.functions()[0].inputs) {
    std::vector<std::int64_t> sizes;
    for (const tern::SizeInfo& size : input.sizes) sizes.push_back(size.constant ? size.value : size.min);
    if (input.fixed.empty()) inputs.emplace_back(input.dtype, sizes);
  }
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "trace MODEL TRACE [DEVICE [ADDRESS]]\n"), 2;
  try {
    const tern::Model model = tern::Model::open(argv[1]);
    tern::PrepareOptions prepare;
    if (argc > 3) prepare.device = argv[3];
    tern::Session session(model.prepare(prepare));
    tern::TraceOptions options;
    options.rank = number("RANK", 0);
    options.world_size = number("WORLD_SIZE", 1);
    if (argc > 4) {
      tern::GroupOptions group;
      group.rank = options.rank;
      group.size = options.world_size;
      group.address = argv[4];
      options.backend = "gloo";
      session.set_group(tern::connect_group(options.backend, group));
    }

    tern::Trace trace(argv[2], options);
    const std::vector<tern::Tensor> inputs = zeros(model);
    for (int i = 0; i < 3; ++i) {
      const tern::Trace::Scope scope(i == 0 ? "warm-up" : "steady");
      session.run(model.functions()[0].name, inputs);
    }
    std::printf("%llu events\n", static_cast<unsigned long long>(trace.stop().events));
  } catch (const tern::Error& e) {
    return std::fprintf(stderr, "%s\n", e.what()), 1;
  }
}
