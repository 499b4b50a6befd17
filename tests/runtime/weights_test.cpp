// Models with weights from a safetensors file, and merged adapters.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "runtime/weights/safetensors.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;
using testing::values_of;
using Floats = std::vector<float>;

/// The bytes of a safetensors file with this header.
std::string file_of(const std::string& header, const Floats& data) {
  const std::uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes + header + std::string(reinterpret_cast<const char*>(data.data()), data.size() * sizeof(float));
}

class Weights : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::string write(const std::string& header, const Floats& data) {
    std::ofstream(path_, std::ios::binary) << file_of(header, data);
    return path_;
  }
  static std::string message_of(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }
  std::string path_ = ::testing::TempDir() + "tern_weights_" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".safetensors";
};

std::string entry(const std::string& name, const std::string& shape, int begin, int end) {
  return "\"" + name + R"(":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[)" + std::to_string(begin) + "," +
         std::to_string(end) + "]}";
}

/// in0 @ state0, a matrix of [2, 3] in row-major order or by columns.
struct Product : TestProgram {
  explicit Product(bool by_columns = false) {
    const ValueId x = input(DType::f32, {1, 2}), w = state({2, 3}, {1, 2, 3, 4, 5, 6}, false);
    if (by_columns) program().states[0].strides = {1, 2};  // [[1, 3, 5], [2, 4, 6]]
    output(b().matmul(x, w));
  }
};

Floats run(const Model& model, const Floats& x) {
  Session s(model.prepare());
  return values_of(s.run({floats({1, 2}, x)})[0]);
}

TEST_F(Weights, AreReplacedByName) {
  for (const bool by_columns : {false, true}) {
    Product p(by_columns);
    const Model before = p.model();
    for (const std::string& pad : {std::string(), std::string(" "), std::string("   ")}) {  // aligned, and not
      const Model after =
          before.with_weights(write("{" + pad + entry("state0", "[2,3]", 0, 24) + "}", {10, 20, 30, 40, 50, 60}));
      EXPECT_EQ(run(after, {1, 2}), (Floats{90, 120, 150}));
    }
    EXPECT_EQ(run(before, {1, 2}), by_columns ? (Floats{5, 11, 17}) : (Floats{9, 12, 15}));
  }
}

/// A source whose storages have identities, as in an archive.
class NamedSource : public StorageSource {
 public:
  explicit NamedSource(std::shared_ptr<StorageSource> source) : source_(std::move(source)) {}
  std::span<const std::byte> bytes(std::uint32_t storage) override { return source_->bytes(storage); }
  std::string identity(std::uint32_t storage) const override { return "storage " + std::to_string(storage); }

 private:
  std::shared_ptr<StorageSource> source_;
};

TEST_F(Weights, KeepTheirIdentityUnlessTheyAreReplaced) {
  Product p;
  p.state({2}, {1, 2}, false);
  p.program().source = std::make_shared<NamedSource>(p.program().source);
  const Model after = p.model().with_weights(write("{" + entry("state0", "[2,3]", 0, 24) + "}", Floats(6)));
  const Program& program = *after.program();
  ASSERT_EQ(program.states.size(), 2u);
  EXPECT_EQ(program.source->identity(program.states[0].storage), "");
  EXPECT_EQ(program.source->identity(program.states[1].storage), "storage 1");
}

TEST_F(Weights, AreFoundUnderAnotherModulePath) {
  struct {
    const char *state, *file_name;
  } const cases[] = {{"model.model.norm.weight", "model.norm.weight"},
                     {"model.norm.weight", "norm.weight"},
                     {"model.norm.weight", "base.text.norm.weight"},
                     {"norm.weight", "module.norm.weight"}};
  for (const auto& c : cases) {
    Product p;
    p.program().states[0].name = c.state;
    const Model after =
        p.model().with_weights(write("{" + entry(c.file_name, "[2,3]", 0, 24) + "}", {10, 20, 30, 40, 50, 60}));
    EXPECT_EQ(run(after, {1, 2}), (Floats{90, 120, 150})) << c.state;
  }
}

TEST_F(Weights, UnderSeveralModulePathsAreRefused) {
  Product p;
  p.state({2, 3}, Floats(6), false);
  p.program().states[0].name = "encoder.norm.weight";
  p.program().states[1].name = "decoder.norm.weight";
  const auto with = [&](const std::string& name) {
    return message_of([&] { p.model().with_weights(write("{" + entry(name, "[2,3]", 0, 24) + "}", Floats(6))); });
  };
  EXPECT_NE(with("norm.weight").find("may be the state 'decoder.norm.weight' or 'encoder.norm.weight'"),
            std::string::npos)
      << with("norm.weight");
  EXPECT_EQ(with("encoder.norm.weight"), "no error");
  EXPECT_EQ(with("model.encoder.norm.weight"), "no error");
}

TEST_F(Weights, ThatAreUnknownHaveANearestState) {
  Product p;
  p.state({2, 3}, Floats(6), false);
  p.program().states[0].name = "model.layers.0.q_proj.weight";
  p.program().states[1].name = "model.layers.1.k_proj.weight";
  const std::string message = message_of([&] {
    p.model().with_weights(write("{" + entry("model.layers.1.k_prj.weight", "[2,3]", 0, 24) + "}", Floats(6)));
  });
  EXPECT_NE(message.find("no such state: model.layers.1.k_prj.weight; the nearest is 'model.layers.1.k_proj.weight'"),
            std::string::npos)
      << message;
}

TEST_F(Weights, OfMutableStateAreItsFirstValue) {
  TestProgram p;
  const ValueId count = p.state({2}, {0, 10}, true);
  p.write_back(0, p.b().expr("c + 1", {{"c", count}}, DType::f32));
  p.output(p.b().expr("c * 1", {{"c", count}}, DType::f32));
  Session s(p.model().with_weights(write("{" + entry("state0", "[2]", 0, 8) + "}", {5, 6})).prepare());
  s.run(std::span<const Tensor>());
  EXPECT_EQ(values_of(s.read_state("state0")), (Floats{6, 7}));
  s.reset_state();
  EXPECT_EQ(values_of(s.read_state("state0")), (Floats{5, 6}));
}

TEST_F(Weights, ThatDoNotFitAreListed) {
  Product p;
  const std::string header = "{" + entry("state0", "[3,2]", 0, 24) + "," + entry("head.weight", "[1]", 24, 28) + "," +
                             entry("conv.weight", "[1]", 28, 32) + "}";
  p.program().metadata = {{"folded", "conv.weight.extra, conv.weight, bn.weight"}};
  const std::string message = message_of([&] { p.model().with_weights(write(header, Floats(8))); });
  EXPECT_NE(message.find("'state0' is float32[2, 3], but float32[3, 2] in the file"), std::string::npos) << message;
  EXPECT_NE(message.find("no such state: head.weight"), std::string::npos) << message;
  EXPECT_NE(message.find("--no-fold' keeps them): conv.weight"), std::string::npos) << message;
}

TEST_F(Weights, MergedAtExportAreNotReplaceable) {
  Product p;
  EXPECT_TRUE(p.model().states()[0].replaceable);
  p.program().metadata = {{"folded", "a, state0"}};
  EXPECT_FALSE(p.model().states()[0].replaceable);
  EXPECT_NE(message_of([&] { p.model().with_weights(write("{" + entry("state0", "[2,3]", 0, 24) + "}", Floats(6))); }),
            "no error");
  p.program().metadata = {{"folded", "state00, xstate0"}};
  EXPECT_TRUE(p.model().states()[0].replaceable);
  p.program().metadata = {{"source", "pt2"}};  // written by a version without the entry
  EXPECT_FALSE(p.model().states()[0].replaceable);
}

TEST_F(Weights, ThatAreTiedChangeTogether) {
  Product p;
  p.program().states.push_back(p.program().states[0]);
  p.program().states[1].name = "tied";
  const Model one = p.model().with_weights(write("{" + entry("tied", "[2,3]", 0, 24) + "}", {1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(run(one, {7, 8}), (Floats{7, 8, 0}));
  const std::string header = "{" + entry("state0", "[2,3]", 0, 24) + "," + entry("tied", "[2,3]", 24, 48) + "}";
  EXPECT_NE(message_of([&] {
              p.model().with_weights(write(header, {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 7}));
            }).find("'tied' is the same tensor as 'state0'"),
            std::string::npos);
  p.program().states[1].type.shape = {6};  // another view of the same memory
  p.program().states[1].strides = {1};
  EXPECT_FALSE(p.model().states()[0].replaceable);
}

/// scale * B @ A with A [2, in], B [out, 2], in double.
Floats merged(const Floats& w, const Floats& a, const Floats& b, std::int64_t out, std::int64_t in, double scale,
              bool transposed) {
  Floats result = w;
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t i = 0; i < in; ++i) {
      double sum = 0;
      for (std::int64_t k = 0; k < 2; ++k)
        sum += static_cast<double>(b[static_cast<std::size_t>(o * 2 + k)]) *
               static_cast<double>(a[static_cast<std::size_t>(k * in + i)]);
      float& element = result[static_cast<std::size_t>(transposed ? i * out + o : o * in + i)];
      element = static_cast<float>(static_cast<double>(element) + scale * sum);
    }
  }
  return result;
}

TEST_F(Weights, TakeAnAdapterByPattern) {
  const Floats w = {1, 2, 3, 4, 5, 6}, a3 = {1, -2, 3, 0.5, 4, 5}, b2 = {1, 2, 3, 4}, a2 = {1, -2, 3, 0.5},
               b3 = {1, 2, 3, 4, -5, 6};
  for (const bool transposed : {false, true}) {
    for (const bool by_columns : {false, true}) {
      Product p(by_columns);
      p.program().states[0].name = "layers.0.q.weight";
      const Floats& a = transposed ? a2 : a3;
      const Floats& b = transposed ? b3 : b2;
      Floats data = a;
      data.insert(data.end(), b.begin(), b.end());
      const int split = static_cast<int>(a.size() * 4), end = static_cast<int>(data.size() * 4);
      const std::string header =
          "{" + entry("base_model.model.layers.0.q.lora_A.weight", transposed ? "[2,2]" : "[2,3]", 0, split) + "," +
          entry("base_model.model.layers.0.q.lora_B.weight", transposed ? "[3,2]" : "[2,2]", split, end) + "}";
      LoraOptions options;
      options.scale = 0.5;
      options.transposed = transposed;
      const Model after = p.model().with_lora(write(header, data), options);
      const Floats before = by_columns ? Floats{1, 3, 5, 2, 4, 6} : w;
      const Floats want = merged(before, a, b, transposed ? 3 : 2, transposed ? 2 : 3, 0.5, transposed);
      Session s(after.prepare());
      EXPECT_EQ(values_of(s.read_state("layers.0.q.weight")), want);
    }
  }
}

TEST_F(Weights, AdaptersOfPeftFitAWrappedDecoder) {
  const Floats w = {1, 2, 3, 4, 5, 6}, a = {1, 0, 1, 0, 1, 0}, b = {1, 2, 3, 4};  // [2, 3] + [2, 2] @ [2, 3]
  TestProgram p;
  p.output(p.b().expr("w * 1", {{"w", p.state({2, 3}, w, false)}}, DType::f32));
  p.program().states[0].name = "model.model.layers.0.q_proj.weight";
  Floats data = a;
  data.insert(data.end(), b.begin(), b.end());
  const auto file = [&](const std::string& module) {
    return write("{" + entry("base_model.model." + module + ".lora_A.weight", "[2,3]", 0, 24) + "," +
                     entry("base_model.model." + module + ".lora_B.weight", "[2,2]", 24, 40) + "}",
                 data);
  };
  Session s(p.model().with_lora(file("model.layers.0.q_proj")).prepare());
  EXPECT_EQ(values_of(s.read_state("model.model.layers.0.q_proj.weight")), merged(w, a, b, 2, 3, 1, false));
  const std::string message = message_of([&] { p.model().with_lora(file("model.layers.0.v_proj")); });
  EXPECT_NE(message.find("not a state of the program; the nearest is 'model.model.layers.0.q_proj.weight'"),
            std::string::npos)
      << message;
}

TEST_F(Weights, RefuseAnAdapterOfATiedEmbedding) {
  Product p;
  p.program().states[0].name = "tokens.weight";
  State head = p.program().states[0];  // reads the embedding's bytes under a second name
  head.name = "head.weight";
  p.program().states.push_back(head);
  const ValueId table = p.program().functions[0].inputs[0].kind == FunctionInput::Kind::state
                            ? p.program().functions[0].inputs[0].value
                            : p.program().functions[0].inputs[1].value;
  p.output(p.b().index_select(table, p.input(DType::i64, {2}), 0));
  const std::string header = "{" + entry("base_model.model.head.lora_A.weight", "[2,3]", 0, 24) + "," +
                             entry("base_model.model.head.lora_B.weight", "[2,2]", 24, 40) + "}";
  const std::string message = message_of([&] { p.model().with_lora(write(header, Floats(10))); });
  EXPECT_NE(message.find("'head.weight' is also an embedding, which the adapter would change too; export a model whose "
                         "layer has a weight of its own: model.head.weight = torch.nn.Parameter(model.head."),
            std::string::npos)
      << message;
}

TEST_F(Weights, RefuseAnAdapterThatDoesNotFit) {
  Product p;
  p.program().states[0].name = "q.weight";
  LoraOptions options;
  options.a = "{}.A";
  options.b = "{}.B";
  const auto with = [&](const std::string& entries, std::size_t elements = 10) {
    return message_of([&] { p.model().with_lora(write("{" + entries + "}", Floats(elements)), options); });
  };
  EXPECT_EQ(with(entry("q.A", "[2,3]", 0, 24) + "," + entry("q.B", "[2,2]", 24, 40)), "no error");
  EXPECT_NE(with(entry("q.A", "[2,3]", 0, 24), 6).find("'q.weight' has no B"), std::string::npos);
  EXPECT_NE(with(entry("q.A", "[3,2]", 0, 24) + "," + entry("q.B", "[2,2]", 24, 40))
                .find("is [2 out, 3 in], but A is [3, 2] and B is [2, 2]"),
            std::string::npos);
  EXPECT_NE(with(entry("v.A", "[2,3]", 0, 24) + "," + entry("v.B", "[2,2]", 24, 40)).find("'v.weight' is not a state"),
            std::string::npos);
  EXPECT_NE(with(entry("q.lora_A", "[2,3]", 0, 24), 6).find("no pattern of LoraOptions matches: q.lora_A"),
            std::string::npos);
  options.weight = "q.weight";
  EXPECT_NE(with("").find("has no {}"), std::string::npos);
}

TEST_F(Weights, OfBrokenFilesAreRefusedWithTheOffset) {
  const std::string good = file_of("{" + entry("a", "[2]", 0, 8) + "}", {1, 2});
  const auto read = [](const std::string& bytes) {
    return message_of([&] { read_weights(std::as_bytes(std::span(bytes)), "weights"); });
  };
  EXPECT_EQ(read(good), "no error");
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_NE(read(good.substr(0, n)), "no error") << n;
  for (const char* header : {
           "",
           "[]",
           "{\"a\"}",
           "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"more\":1}}",
           "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
           "{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}",
           "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]}}",
           "{\"a\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999],\"data_offsets\":[0,8]}}",
           "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,4]}}",
           "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
           "{\"a\":{\"dtype\":\"F99\",\"shape\":[2],\"data_offsets\":[0,8]}}",
           "{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[8],\"data_offsets\":[0,6]}}",
           "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}} x",
       })
    EXPECT_NE(read(file_of(header, {1, 2})), "no error") << header;
  EXPECT_NE(read(file_of("{\"a\" 1}", {})).find("byte 13"), std::string::npos) << read(file_of("{\"a\" 1}", {}));
  const std::string twice = "{" + entry("a", "[2]", 0, 8) + "," + entry("a", "[2]", 0, 8) + "}";
  EXPECT_NE(read(file_of(twice, {1, 2})).find("tensor \"a\" occurs twice"), std::string::npos);
}

}  // namespace
}  // namespace tern
