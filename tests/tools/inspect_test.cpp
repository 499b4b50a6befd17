#include "tools/inspect/inspect.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "exporter/archive_writer.h"
#include "exporter/builder.h"
#include "loader/prologue.h"

namespace tern {
namespace {

class FloatSource : public StorageSource {
 public:
  std::span<const std::byte> bytes(std::uint32_t) override { return std::as_bytes(std::span(values_)); }

 private:
  std::vector<float> values_ = std::vector<float>(6, 1.5f);
};

/// x + weight, with these names everywhere.
Program named_program(const std::string& name) {
  Program p;
  p.source = std::make_shared<FloatSource>();
  p.storages = {{24}};
  State s;
  s.name = name;
  s.type = {DType::f32, {2, 3}};
  s.strides = {3, 1};
  p.states = {s};
  p.origins = {{name, name + ".layer", name + ".py:4"}};
  p.metadata = {{name, name}};
  p.functions.resize(1);
  Builder b(p, 0);
  Function& f = b.function();
  f.name = name;
  f.entry = true;
  const Dim size = p.pool.symbol(name, 1, 9);
  const ValueId x = b.add_value({DType::f32, {size, 3}}, name), w = b.add_value(s.type, name);
  f.inputs = {{FunctionInput::Kind::user, x, 0, name, {}},
              {FunctionInput::Kind::none, kNoValue, 0, name, name},
              {FunctionInput::Kind::state, w, 0, name, {}}};
  b.set_origin(0, {{name, name}, {"number", 0.25}, {"flag", true}, {"count", std::int64_t{3}}});
  const ValueId half = b.reduce(w, "sum", {0}, true, DType::f32);
  f.outputs = {{FunctionOutput::Kind::tensor, b.expr("x + w", {{"x", x}, {"w", half}}, DType::f32), name}};
  return p;
}

struct Inspected {
  std::string text;
  nlohmann::json json;
  std::size_t findings = 0;
};

Inspected inspect(const std::vector<std::byte>& bytes) {
  Findings findings(Findings::Mode::collect);
  const ReadArchive a = read_archive(FileBytes::borrow(bytes), findings);
  InspectOptions options;
  options.nodes = true;
  return {inspect_text("file", a, findings.list(), options),
          nlohmann::json::parse(inspect_json("file", a, findings.list())), findings.list().size()};
}

TEST(Inspect, ShowsWhatThereIs) {
  const Inspected i = inspect(archive_bytes(named_program("thing")));
  EXPECT_EQ(i.findings, 0u);
  for (const char* part :
       {"function 'thing'", "float32[thing, 3]", "thing: 1 to 9", "parameter", "24 B", "1 x reduce", "1 x pointwise",
        "thing.layer", "thing.py:4", "number: 0.25", "flag: true", "count: 3", "add(x0, x1)"}) {
    EXPECT_NE(i.text.find(part), std::string::npos) << part << "\n" << i.text;
  }
  const auto& f = i.json["functions"][0];
  EXPECT_EQ(f["name"], "thing");
  EXPECT_EQ(f["inputs"][0]["type"]["sizes"], nlohmann::json({"thing", 3}));
  EXPECT_EQ(f["nodes"][0]["op"], "reduce");
  EXPECT_EQ(f["nodes"][0]["origin"]["source"], "thing.py:4");
  EXPECT_EQ(f["nodes"][0]["annotations"]["number"], 0.25);
  EXPECT_EQ(i.json["states"][0]["storage_bytes"], 24);
  EXPECT_EQ(i.json["ops"]["pointwise"], 1);
}

// FIELD 18 and 26: escapes of the terminal, quotes and brackets of JSON.
TEST(Inspect, ShowsNativeCode) {
  Program p = named_program("thing");
  p.kernels = {
      {"tern_copy", "xpu:spirv", 0xabc, 1, 1}, {"tern_copy", "xpu:spirv", 2, 3, 1}, {"later", "cuda:sm_90", 4, 5, 1}};
  p.storages.push_back({24});
  const Inspected i = inspect(archive_bytes(p));
  EXPECT_EQ(i.findings, 0u);  // validate checks the modules, not inspect
  for (const char* part : {"native code: 3 kernels of devices, 72 B", "  xpu:spirv: 2 kernels, 48 B: 2 x tern_copy\n",
                           "  cuda:sm_90: 1 kernels, 24 B: 1 x later\n", "1 states, 24 B in 1 segments"})
    EXPECT_NE(i.text.find(part), std::string::npos) << part << "\n" << i.text;
  EXPECT_EQ(i.json["kernels"].size(), 3u);
  EXPECT_EQ(i.json["kernels"][0]["target"], "xpu:spirv");
  EXPECT_EQ(i.json["kernels"][0]["text_xxh3"], "00000000000000010000000000000abc");
  EXPECT_EQ(i.json["kernels"][0]["bytes"], 24);
  EXPECT_TRUE(inspect(archive_bytes(named_program("thing"))).json["kernels"].empty());
}

TEST(Inspect, HostileNames) {
  for (const std::string& name :
       {std::string("\"]}"), std::string("\x1b[2J\x1b]0;pwned\x07"), std::string("a\r\nb\tc\\"),
        std::string("\xe2\x80\xae"
                    "desrever"),
        std::string("{}{0}%s%n")}) {
    const Inspected i = inspect(archive_bytes(named_program(name)));
    EXPECT_EQ(i.findings, 0u);
    for (const char* bad : {"\x1b", "\r", "\x07", "\t", "\xe2\x80\xae"}) {
      EXPECT_EQ(i.text.find(bad), std::string::npos) << i.text;
    }
    EXPECT_EQ(i.json["functions"][0]["name"], name);
    EXPECT_EQ(i.json["states"][0]["name"], name);
    EXPECT_EQ(i.json["functions"][0]["nodes"][0]["annotations"][name], name);
  }
}

TEST(Inspect, WhatThisVersionDoesNotKnow) {
  Program p = named_program("thing");
  p.functions[0].nodes[0].op = static_cast<Op>(1234);
  const Inspected i = inspect(archive_bytes(p));
  EXPECT_EQ(i.findings, 1u);
  EXPECT_NE(i.text.find("op 1234"), std::string::npos) << i.text;
  EXPECT_NE(i.text.find("function 'thing'"), std::string::npos) << i.text;
  EXPECT_EQ(i.json["functions"][0]["nodes"][0]["op"], "op 1234");
  EXPECT_EQ(i.json["findings"][0]["rule"], "nodes.op");
}

TEST(Inspect, BrokenArchives) {
  Program p = named_program("thing");
  p.functions[0].nodes[0].inputs[0] = 77;
  Inspected i = inspect(archive_bytes(p));
  EXPECT_NE(i.text.find("nodes.inputs"), std::string::npos);
  EXPECT_NE(i.text.find("parameter"), std::string::npos);  // the tables can still be shown
  EXPECT_FALSE(i.json.contains("functions"));
  std::vector<std::byte> bytes = archive_bytes(named_program("thing"));
  bytes.resize(100);
  i = inspect(bytes);
  EXPECT_GT(i.findings, 0u);
  EXPECT_FALSE(i.json.contains("states"));
}

}  // namespace
}  // namespace tern
