// Arbitrary bytes as the pickle of a weight, in a program that multiplies by the weight and accesses its inner tensors:
// an Error, or a program.
#include <tern/error.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "exporter/importer.h"
#include "tests/exporter/pickle_writer.h"
#include "tests/exporter/traced_model.h"

namespace {

using namespace tern;
using namespace tern::testing;

constexpr const char* kInner[] = {"qdata", "scale"};

/// The JSON of a program and of its weights, created once.
struct Texts {
  std::string model, weights;
};
Texts texts() {
  TracedModel m;
  m.buffer("w", meta({64, 64}));
  m.user("x", meta({5, 64}));
  m.weights()["config"]["w"]["use_pickle"] = true;
  m.node("torch.ops.aten.linear.default", {{"input", tensor("x")}, {"weight", tensor("b_w")}}, {{"y", meta({5, 64})}});
  m.result("y");
  m.node("torch.ops.aten.t.default", {{"self", tensor("b_w")}}, {{"t", meta({64, 64})}});
  m.node("torch.ops.aten.mm.default", {{"self", tensor("x")}, {"mat2", tensor("t")}}, {{"z", meta({5, 64})}});
  m.result("z");
  for (const char* name : kInner) {
    m.node("torch.ops.export.access_subclass_inner_tensor.default",
           {{"src_subclass_tensor", tensor("b_w")}, {"attr", {{"as_string", name}}}}, {{name, meta({64, 64})}});
    m.result(name);
  }
  Texts all;
  for (const auto& item : m.items()) {
    if (item.name.ends_with("_weights_config.json")) all.weights = item.data;
    if (item.name.ends_with("models/model.json")) all.model = item.data;
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Texts made = texts();
  const std::string pickle(reinterpret_cast<const char*>(data), size);
  const std::string file = TracedModel::write_archive(
      {{"t/data/weights/weight_0", pt2::test::saved(pickle, {std::string(4096, '\x31'), std::string(512, '\x7f'),
                                                             std::string(128, '\1'), std::string(4, '\1'), ""})},
       {"t/data/weights/model_weights_config.json", made.weights},
       {"t/data/constants/model_constants_config.json", R"({"config": {}})"},
       {"t/models/model.json", made.model}});
  try {
    import_pt2(pt2::Container::borrow(pt2::test::as_bytes(file), "fuzz"));
  } catch (const Error&) {
  }
  return 0;
}
