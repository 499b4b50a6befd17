#include "tests/loader/sample.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <cstring>

#include "exporter/archive/index.h"
#include "exporter/builder.h"
#include "loader/archive.h"
#include "loader/prologue.h"
#include "loader/validate.h"

namespace tern::test {
namespace {

std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 7 + seed) % 251);
  return bytes;
}

std::uint32_t add_storage(Program& p, VectorSource& source, std::vector<std::byte> bytes) {
  p.storages.push_back({bytes.size()});
  source.storages.push_back(std::move(bytes));
  return static_cast<std::uint32_t>(p.storages.size() - 1);
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// The smallest module: a header, and OpMemoryModel Physical64 OpenCL.
std::vector<std::byte> spirv() {
  const std::uint32_t words[] = {0x07230203, 0x00010000, 0, 1, 0, 3 << 16 | 14, 2, 2};
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

State state(const char* name, State::Kind kind, TensorType type, std::uint32_t storage,
            std::vector<std::int64_t> strides, std::int64_t offset = 0) {
  State s;
  s.name = name;
  s.kind = kind;
  s.type = std::move(type);
  s.storage = storage;
  s.strides = std::move(strides);
  s.offset = offset;
  return s;
}

void add_states(Program& p, VectorSource& source) {
  using Kind = State::Kind;
  const std::uint32_t weight = add_storage(p, source, pattern(4 * 8 * 4, 1));
  const std::uint32_t twin = add_storage(p, source, pattern(4 * 8 * 4, 1));
  const std::uint32_t shared = add_storage(p, source, pattern(10 * 4, 2));
  const std::uint32_t packed = add_storage(p, source, pattern(2 * 64 + 4, 3));
  const std::uint32_t nothing = add_storage(p, source, {});
  const std::uint32_t count = add_storage(p, source, pattern(8, 4));
  p.states.push_back(state("fc.weight", Kind::parameter, {DType::f32, {4, 8}}, weight, {8, 1}));
  p.states.push_back(state("head.weight", Kind::parameter, {DType::f32, {4, 8}}, weight, {8, 1}));
  p.states.back().tied = 0;
  p.states.push_back(state("twin.weight", Kind::parameter, {DType::f32, {4, 8}}, twin, {8, 1}));
  p.states.push_back(state("left", Kind::buffer, {DType::f32, {2, 3}}, shared, {4, 1}));
  p.states.push_back(state("right", Kind::buffer, {DType::f32, {3}}, shared, {2}, 5));
  p.states.push_back(state("mx", Kind::constant, {DType::f8_e4m3fn, {2, 64}, {.columns = 32}}, packed, {64, 1}));
  p.states.push_back(state("empty", Kind::buffer, {DType::f16, {0, 5}}, nothing, {5, 1}));
  p.states.push_back(state("steps", Kind::buffer, {DType::i64, {}}, count, {}));
  p.states.back().is_mutable = true;
  p.states.back().persistent = false;
}

ValueId add_state_input(Builder& b, std::uint32_t number) {
  const State& s = b.program().states[number];
  const ValueId v = b.add_value(s.type, s.name);
  b.function().inputs.push_back({FunctionInput::Kind::state, v, number, s.name, {}});
  return v;
}

ValueId add_user_input(Builder& b, const char* name, TensorType type) {
  const ValueId v = b.add_value(std::move(type), name);
  b.function().inputs.push_back({FunctionInput::Kind::user, v, 0, name, {}});
  return v;
}

void add_output(Builder& b, ValueId v, const char* name, FunctionOutput::Kind kind = FunctionOutput::Kind::tensor) {
  b.function().outputs.push_back({kind, v, name});
}

void add_branch(Program& p, std::uint32_t number, const char* name, const char* formula) {
  Builder b(p, number);
  b.function().name = name;
  const Dim s0 = p.pool.symbol("s0");
  const ValueId x = add_user_input(b, "x", {DType::f32, {s0, 4}});
  add_output(b, b.expr(formula, {{"x", x}}, DType::f32), "y");
}

void add_forward(Program& p) {
  Builder b(p, 0);
  Function& f = b.function();
  f.name = "forward";
  f.entry = true;
  f.in_tree = "[1, {\"type\": \"builtins.tuple\"}]";
  const Dim s0 = p.pool.symbol("s0");
  const ValueId x = add_user_input(b, "x", {DType::f32, {s0, 8}});
  f.inputs.push_back({FunctionInput::Kind::none, kNoValue, 0, "training", "False"});
  const ValueId weight = add_state_input(b, 0), steps = add_state_input(b, 7), mx = add_state_input(b, 5);
  b.set_origin(0, {{"stage", std::int64_t{1}}, {"scale", 0.5}, {"keep", true}, {"note", std::string("a \"b\"\n")}});
  const ValueId y = b.matmul(x, b.transpose(weight, 0, 1));
  b.set_origin(1);
  const ValueId mean = b.reduce(y, "mean", {0, 1}, false, DType::f32);
  const ValueId positive = b.expr("x > 0", {{"x", mean}}, DType::f32, DType::boolean);
  Node cond;
  cond.op = Op::cond;
  cond.inputs = {positive, y};
  cond.functions = {2, 3};
  const ValueId z = b.add(std::move(cond)).front();
  b.set_origin(-1);
  const ValueId doubled = b.reshape(z, {p.pool.mul(s0, 2), 2});
  const ValueId plain = b.add(Op::dequantize, {mx}, {attr_dtype(DType::f32)});
  const Dim found = p.pool.new_symbol("u", 0, kNoBound);
  const ValueId where = b.add(Op::nonzero, {doubled}, {attr(AttrKey::symbols, found)});
  add_output(b, doubled, "y");
  add_output(b, plain, "plain");
  add_output(b, where, "where");
  add_output(b, mean, "mean", FunctionOutput::Kind::number);
  f.outputs.push_back({FunctionOutput::Kind::none, kNoValue, "nothing"});
  f.writebacks.push_back({WriteBack::Target::state, 7, b.expr("x + 1", {{"x", steps}}, DType::i64)});
}

void add_second(Program& p) {
  Builder b(p, 1);
  b.function().name = "other";
  b.function().entry = true;
  const ValueId x = add_user_input(b, "x", {DType::f32, {p.pool.symbol("s0"), 4}});
  add_state_input(b, 3);
  Node call;
  call.op = Op::call;
  call.inputs = {x};
  call.functions = {2};
  const ValueId y = b.add(std::move(call)).front();
  b.function().writebacks.push_back({WriteBack::Target::input, 0, y});
  add_output(
      b, b.add(Op::full, {}, {attr(AttrKey::sizes, Dims{3}), attr_dtype(DType::i64), attr_number(AttrKey::value, 7)}),
      "c");
}

}  // namespace

Program sample_program() {
  Program p;
  auto source = std::make_shared<VectorSource>();
  add_states(p, *source);
  p.source = source;
  p.pool.symbol("s0", 1, 1024);
  p.origins = {{"aten.linear.default", "encoder.fc", "model.py:12"}, {"cond", "", "modèle.py:30"}};
  p.metadata = {{"torch", "2.9.1"}, {"empty", ""}};
  p.functions.resize(4);
  add_branch(p, 2, "if_true", "x * 2");
  add_branch(p, 3, "if_false", "where(x > 0, x, exp(x) - 1)");
  add_forward(p);
  add_second(p);
  for (std::uint64_t text : {1, 2})
    p.kernels.push_back({"tern_pointwise", "xpu:spirv", text, 7, add_storage(p, *source, spirv())});
  p.files.push_back({"tokenizer.json", add_storage(p, *source, bytes_of("{\"version\": \"1.0\", \"größe\": 1}"))});
  p.files.push_back({"tokenizer.model", add_storage(p, *source, pattern(3000, 5))});
  p.files.push_back({"empty.txt", add_storage(p, *source, {})});
  p.tunings = {{"GenuineIntel 6.143.8 amx", 2, {{0, 1, "tiles"}, {0, 2, "an algorithm of later versions"}, {2, 0, ""}}},
               {"AuthenticAMD 25.17.1 avx512", 64, {}}};
  return p;
}

namespace {

#define TERN_SAME(what, x, y) \
  if (!((x) == (y))) return what

std::string compare_nodes(const Node& a, const Node& b) {
  TERN_SAME("op", a.op, b.op);
  TERN_SAME("version", a.version, b.version);
  TERN_SAME("inputs", a.inputs, b.inputs);
  TERN_SAME("outputs", a.outputs, b.outputs);
  TERN_SAME("functions", a.functions, b.functions);
  TERN_SAME("origin", a.origin, b.origin);
  TERN_SAME("attributes", a.attrs.size(), b.attrs.size());
  for (std::size_t i = 0; i < a.attrs.size(); ++i) {
    TERN_SAME("attribute key", a.attrs[i].key, b.attrs[i].key);
    TERN_SAME("attribute data", a.attrs[i].data, b.attrs[i].data);
  }
  TERN_SAME("annotations", a.annotations.size(), b.annotations.size());
  for (std::size_t i = 0; i < a.annotations.size(); ++i) {
    TERN_SAME("annotation key", a.annotations[i].key, b.annotations[i].key);
    TERN_SAME("annotation value", a.annotations[i].value, b.annotations[i].value);
  }
  TERN_SAME("code", a.expr.code.size(), b.expr.code.size());
  for (std::size_t i = 0; i < a.expr.code.size(); ++i) {
    const Instruction &x = a.expr.code[i], &y = b.expr.code[i];
    const bool same = x.op == y.op && x.dtype == y.dtype && x.a == y.a && x.b == y.b && x.c == y.c &&
                      x.integer == y.integer && x.number == y.number && x.imaginary == y.imaginary;
    TERN_SAME("instruction", same, true);
  }
  return {};
}

std::string compare_functions(const Function& a, const Function& b) {
  TERN_SAME("name", a.name, b.name);
  TERN_SAME("entry", a.entry, b.entry);
  TERN_SAME("in_tree", a.in_tree, b.in_tree);
  TERN_SAME("out_tree", a.out_tree, b.out_tree);
  TERN_SAME("values", a.values.size(), b.values.size());
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    TERN_SAME("value type", a.values[i].type, b.values[i].type);
    TERN_SAME("value name", a.values[i].name, b.values[i].name);
  }
  TERN_SAME("inputs", a.inputs.size(), b.inputs.size());
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    const FunctionInput &x = a.inputs[i], &y = b.inputs[i];
    const bool same =
        x.kind == y.kind && x.value == y.value && x.state == y.state && x.name == y.name && x.constant == y.constant;
    TERN_SAME("input", same, true);
  }
  TERN_SAME("outputs", a.outputs.size(), b.outputs.size());
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    const FunctionOutput &x = a.outputs[i], &y = b.outputs[i];
    TERN_SAME("output", x.kind == y.kind && x.value == y.value && x.name == y.name, true);
  }
  TERN_SAME("writebacks", a.writebacks.size(), b.writebacks.size());
  for (std::size_t i = 0; i < a.writebacks.size(); ++i) {
    const WriteBack &x = a.writebacks[i], &y = b.writebacks[i];
    TERN_SAME("writeback", x.target == y.target && x.index == y.index && x.value == y.value, true);
  }
  TERN_SAME("nodes", a.nodes.size(), b.nodes.size());
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    const std::string d = compare_nodes(a.nodes[i], b.nodes[i]);
    if (!d.empty()) return fmt::format("node {}: {}", i, d);
  }
  return {};
}

std::string compare_states(const State& a, const State& b) {
  TERN_SAME("name", a.name, b.name);
  TERN_SAME("kind", a.kind, b.kind);
  TERN_SAME("type", a.type, b.type);
  TERN_SAME("storage", a.storage, b.storage);
  TERN_SAME("strides", a.strides, b.strides);
  TERN_SAME("offset", a.offset, b.offset);
  TERN_SAME("is_mutable", a.is_mutable, b.is_mutable);
  TERN_SAME("persistent", a.persistent, b.persistent);
  TERN_SAME("tied", a.tied, b.tied);
  return {};
}

}  // namespace

std::string difference(const Program& a, const Program& b) {
  TERN_SAME("expressions", a.pool.nodes(), b.pool.nodes());
  TERN_SAME("symbols", a.pool.symbols().size(), b.pool.symbols().size());
  for (std::size_t i = 0; i < a.pool.symbols().size(); ++i) {
    const Symbol &x = a.pool.symbols()[i], &y = b.pool.symbols()[i];
    TERN_SAME("symbol", x.name == y.name && x.min == y.min && x.max == y.max, true);
  }
  TERN_SAME("storages", a.storages.size(), b.storages.size());
  for (std::size_t i = 0; i < a.storages.size(); ++i) TERN_SAME("storage", a.storages[i].size, b.storages[i].size);
  TERN_SAME("states", a.states.size(), b.states.size());
  for (std::size_t i = 0; i < a.states.size(); ++i) {
    const std::string d = compare_states(a.states[i], b.states[i]);
    if (!d.empty()) return fmt::format("state {}: {}", i, d);
  }
  TERN_SAME("functions", a.functions.size(), b.functions.size());
  for (std::size_t i = 0; i < a.functions.size(); ++i) {
    const std::string d = compare_functions(a.functions[i], b.functions[i]);
    if (!d.empty()) return fmt::format("function {}: {}", i, d);
  }
  TERN_SAME("kernels", a.kernels.size(), b.kernels.size());
  for (std::size_t i = 0; i < a.kernels.size(); ++i) {
    const DeviceKernel &x = a.kernels[i], &y = b.kernels[i];
    const bool same = x.name == y.name && x.target == y.target && x.text_low == y.text_low &&
                      x.text_high == y.text_high && x.storage == y.storage;
    TERN_SAME("kernel", same, true);
  }
  TERN_SAME("files", a.files.size(), b.files.size());
  for (std::size_t i = 0; i < a.files.size(); ++i)
    TERN_SAME("file", a.files[i].name == b.files[i].name && a.files[i].storage == b.files[i].storage, true);
  TERN_SAME("tunings", a.tunings.size(), b.tunings.size());
  for (std::size_t i = 0; i < a.tunings.size(); ++i) {
    const Tuning &x = a.tunings[i], &y = b.tunings[i];
    TERN_SAME("tuning", x.processor == y.processor && x.threads == y.threads, true);
    const bool same = std::ranges::equal(x.choices, y.choices, [](const Tuning::Choice& c, const Tuning::Choice& d) {
      return c.function == d.function && c.node == d.node && c.algorithm == d.algorithm;
    });
    TERN_SAME("choices", same, true);
  }
  TERN_SAME("origins", a.origins, b.origins);
  TERN_SAME("metadata", a.metadata, b.metadata);
  return {};
}
#undef TERN_SAME

void rehash(std::vector<std::byte>& archive) {
  PrologueBytes head;
  std::memcpy(head.data(), archive.data(), head.size());
  Prologue p = decode_prologue(head);
  if (p.index_offset > archive.size() || p.index_size > archive.size() - p.index_offset) return;
  p.hash = index_hash(head, std::span(archive).subspan(p.index_offset, p.index_size));
  std::memcpy(archive.data() + PrologueField::hash, &p.hash, sizeof p.hash);
}

std::vector<std::byte> changed(const std::function<void(Program&)>& change) {
  Program p = sample_program();
  change(p);
  return archive_bytes(p);
}

std::vector<std::byte> assemble(std::span<const std::byte> segments, std::span<const std::byte> index) {
  std::vector<std::byte> archive(kPrologueSize);
  archive.insert(archive.end(), segments.begin(), segments.end());
  archive.resize(align_up(archive.size(), kIndexAlignment));
  Prologue p;
  p.index_offset = archive.size();
  p.index_size = index.size();
  archive.insert(archive.end(), index.begin(), index.end());
  const PrologueBytes head = encode(p);
  std::memcpy(archive.data(), head.data(), head.size());
  rehash(archive);
  return archive;
}

std::vector<std::byte> edit_segments(const Program& program, const WriteOptions& options,
                                     const std::function<void(writing::WrittenStorages&)>& change) {
  writing::MemorySink sink;
  sink.write(PrologueBytes{});
  writing::WrittenStorages storages = write_storages(program, sink, options);
  change(storages);
  const std::vector<std::byte> bytes = sink.release_bytes();
  return assemble(std::span(bytes).subspan(kPrologueSize), index_bytes(program, storages));
}

std::string open_error(std::span<const std::byte> bytes, Verify verify) {
  try {
    open_archive(bytes, {Access::map, verify});
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

std::vector<std::string> rules_broken(std::span<const std::byte> bytes) {
  std::vector<std::string> rules;
  for (const Finding& f : validate_archive(bytes)) rules.push_back(f.rule);
  return rules;
}

}  // namespace tern::test
