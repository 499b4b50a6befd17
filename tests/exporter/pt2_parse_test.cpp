#include <gtest/gtest.h>

#include <cmath>

#include "exporter/pt2/parse.h"
#include "tests/exporter/pt2_sample.h"

namespace tern::pt2::test {
namespace {

using ArgumentKind = Argument::Kind;

Program parse(const Json& model) {
  return parse_program_json(model.dump(), "model.json");
}
std::string parse_error(const Json& model, ErrorCode expected = ErrorCode::bad_file) {
  return error_of([&] { parse(model); }, expected);
}

// The sample with `value` at a JSON pointer such as "/graph_module/graph/nodes/0/target".
Json edited(const std::string& pointer, const Json& value) {
  Json model = sample_model();
  model[Json::json_pointer(pointer)] = value;
  return model;
}

Argument parse_first_argument(const Json& value) {
  return parse(edited("/graph_module/graph/nodes/0/inputs/0/arg", value)).graph.nodes[0].inputs[0].arg;
}

TEST(Pt2Parse, ReadsAProgram) {
  const std::string bytes = write_zip(sample_items());
  const Program program = parse_program(open_text(bytes));
  EXPECT_EQ(program.model, "model");
  EXPECT_EQ(program.torch_version, "2.12.1");
  EXPECT_EQ(program.schema_version.minor, 20);
  EXPECT_EQ(program.verifiers, std::vector<std::string>{"TRAINING"});
  ASSERT_EQ(program.graph.nodes.size(), 1u);
  const Node& node = program.graph.nodes[0];
  EXPECT_EQ(node.target, "torch.ops.aten.mul.Tensor");
  EXPECT_EQ(node.name, "mul");
  ASSERT_NE(node.find_input("other"), nullptr);
  EXPECT_EQ(node.find_input("other")->name, "x");
  EXPECT_EQ(node.find_input("alpha"), nullptr);
  EXPECT_EQ(node.inputs[0].kind, NamedArgument::Passing::positional);
  EXPECT_EQ(*node.find_metadata("torch_fn"), "mul_1;method_descriptor.mul");
  const TensorMeta* meta = program.graph.tensor_values.find("mul");
  ASSERT_NE(meta, nullptr);
  EXPECT_EQ(meta->dtype, DType::f32);
  EXPECT_EQ(meta->sizes[1].value, 3);
  EXPECT_EQ(meta->strides[0].value, 3);
  EXPECT_EQ(meta->device, "cpu");
  EXPECT_EQ(program.graph.tensor_values.find("absent"), nullptr);
  EXPECT_EQ(program.signature.inputs[0].kind, InputSpec::Kind::parameter);
  EXPECT_EQ(program.signature.inputs[0].target, "w");
  EXPECT_EQ(program.signature.inputs[0].arg.name, "p_w");
  EXPECT_EQ(program.signature.outputs[0].arg.name, "mul");
  EXPECT_EQ(program.module_calls[0].signature->forward_arg_names, std::vector<std::string>{"x"});
  const Payload* payload = program.weights.find("w");
  ASSERT_NE(payload, nullptr);
  EXPECT_EQ(payload->entry, "sample/data/weights/weight_0");
  EXPECT_TRUE(payload->is_param);
  EXPECT_TRUE(program.constants.empty());
}

TEST(Pt2Parse, ReadsEveryKindOfArgument) {
  EXPECT_EQ(parse_first_argument({{"as_none", true}}).kind, ArgumentKind::none);
  EXPECT_EQ(parse_first_argument({{"as_tensor", {{"name", "a"}}}}).name, "a");
  EXPECT_EQ(parse_first_argument(Json::parse(R"({"as_tensors": [{"name": "a"}, {"name": "b"}]})")).names,
            (std::vector<std::string>{"a", "b"}));
  const auto optional = parse_first_argument(
      Json::parse(R"({"as_optional_tensors": [{"as_tensor": {"name": "a"}}, {"as_none": true}]})"));
  EXPECT_EQ(optional.kind, ArgumentKind::optional_tensors);
  EXPECT_EQ(optional.names, (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(parse_first_argument(Json::parse(R"({"as_optional_tensor": {"as_none": true}})")).kind, ArgumentKind::none);
  EXPECT_EQ(parse_first_argument(Json::parse(R"({"as_optional_tensor": {"as_tensor": {"name": "a"}}})")).name, "a");
  EXPECT_EQ(parse_first_argument({{"as_int", INT64_MIN}}).integer, INT64_MIN);
  EXPECT_EQ(parse_first_argument({{"as_ints", {1, -2}}}).ints, (std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(parse_first_argument({{"as_float", 0.1}}).real, 0.1);
  EXPECT_EQ(parse_first_argument({{"as_float", 3}}).real, 3.0);
  EXPECT_EQ(parse_first_argument({{"as_float", "-Infinity"}}).real, -INFINITY);
  EXPECT_TRUE(std::isnan(parse_first_argument({{"as_float", "NaN"}}).real));
  EXPECT_EQ(parse_first_argument({{"as_floats", {1.5, "Infinity"}}}).reals, (std::vector<double>{1.5, INFINITY}));
  EXPECT_TRUE(parse_first_argument({{"as_bool", true}}).boolean);
  EXPECT_EQ(parse_first_argument({{"as_bools", {true, false}}}).ints, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(parse_first_argument({{"as_string", "mean"}}).text, "mean");
  EXPECT_EQ(parse_first_argument({{"as_strings", {"a", ""}}}).names, (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(parse_first_argument({{"as_scalar_type", 33}}).dtype(), DType::f8_e8m0);
  EXPECT_EQ(parse_first_argument({{"as_memory_format", 2}}).integer, static_cast<int>(MemoryFormat::channels_last));
  EXPECT_EQ(parse_first_argument({{"as_layout", 7}}).integer, static_cast<int>(Layout::strided));
  EXPECT_EQ(parse_first_argument({{"as_device", {{"type", "cuda"}, {"index", 1}}}}).text, "cuda:1");
  EXPECT_EQ(parse_first_argument({{"as_device", {{"type", "cpu"}, {"index", nullptr}}}}).text, "cpu");
  EXPECT_EQ(parse_first_argument({{"as_sym_int", {{"as_name", "s"}}}}).name, "s");
  EXPECT_EQ(parse_first_argument({{"as_sym_int", {{"as_int", 5}}}}).integer, 5);
  const auto syms = parse_first_argument(Json::parse(R"({"as_sym_ints": [{"as_name": "s"}, {"as_int": 4}]})")).sym_ints;
  ASSERT_EQ(syms.size(), 2u);
  EXPECT_EQ(syms[0].name, "s");
  EXPECT_TRUE(syms[1].is_literal());
  EXPECT_EQ(syms[1].value, 4);
  EXPECT_EQ(parse_first_argument({{"as_sym_float", {{"as_float", 0.5}}}}).real, 0.5);
  EXPECT_EQ(parse_first_argument({{"as_sym_bool", {{"as_bool", true}}}}).boolean, true);
  EXPECT_EQ(parse_first_argument(Json::parse(R"({"as_sym_bools": [{"as_name": "b"}]})")).sym_bools[0].name, "b");
  EXPECT_EQ(parse_first_argument(Json::parse(R"({"as_sym_floats": [{"as_float": 2}]})")).sym_floats[0].value, 2.0);
  const auto complex = parse_first_argument({{"as_complex", {{"real", 1}, {"imag", -2.5}}}});
  EXPECT_EQ(complex.real, 1.0);
  EXPECT_EQ(complex.imag, -2.5);
  EXPECT_EQ(parse_first_argument(Json::parse(R"({"as_int_lists": [[1], [2, 3]]})")).items[1].ints,
            (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(parse_first_argument(Json::parse(R"({"as_float_lists": [[], [2]]})")).items[1].reals,
            std::vector<double>{2});
  EXPECT_EQ(parse_first_argument(Json::parse(R"({"as_nested_tensors": [[{"name": "a"}]]})")).items[0].names,
            std::vector<std::string>{"a"});
  EXPECT_EQ(parse_first_argument(Json::parse(R"({"as_operator": "add"})")).text, "add");
  EXPECT_EQ(parse_first_argument(Json::parse(R"({"as_custom_obj": {"name": "o", "class_fqn": "C"}})")).text, "C");
  const auto dict = parse_first_argument(Json::parse(R"({"as_string_to_argument": {"k": {"as_int": 1}}})"));
  EXPECT_EQ(dict.names, std::vector<std::string>{"k"});
  EXPECT_EQ(dict.items[0].integer, 1);
  const Json sub = {{"name", "true_graph_0"}, {"graph", sample_model()["graph_module"]["graph"]}};
  const auto graph = parse_first_argument({{"as_graph", sub}});
  EXPECT_EQ(graph.name, "true_graph_0");
  EXPECT_EQ(graph.graph->nodes[0].target, "torch.ops.aten.mul.Tensor");
}

TEST(Pt2Parse, NamesTheTagOfEveryKind) {
  for (int kind = 0; kind <= static_cast<int>(ArgumentKind::dict); ++kind)
    EXPECT_EQ(std::string(tag_of(static_cast<ArgumentKind>(kind))).substr(0, 3), "as_") << kind;
  EXPECT_STREQ(tag_of(ArgumentKind::tensor), "as_tensor");
}

TEST(Pt2Parse, MapsScalarTypes) {
  // torch/_export/serde/schema.py, ScalarType
  const std::pair<int, DType> known[] = {{1, DType::u8},    {5, DType::i64},  {12, DType::boolean},
                                         {13, DType::bf16}, {28, DType::u16}, {29, DType::f8_e4m3fn},
                                         {35, DType::u64}};
  for (const auto& [number, dtype] : known) EXPECT_EQ(dtype_from_scalar_type(number), dtype);
  for (const int unknown : {-1, 0, 14, 27, 36}) EXPECT_EQ(dtype_from_scalar_type(unknown), DType::invalid);
}

TEST(Pt2Parse, ReadsSymbolicSizes) {
  Json model = sample_model();
  auto& meta = model["graph_module"]["graph"]["tensor_values"]["x"];
  meta["sizes"][0] = Json::parse(R"json({"as_expr": {"expr_str": "Symbol('s77')", "hint": {"as_int": 4}}})json");
  model["graph_module"]["graph"]["sym_int_values"]["u0"] =
      Json::parse(R"json({"as_expr": {"expr_str": "Symbol('u0')", "hint": null}})json");
  model["graph_module"]["graph"]["sym_bool_values"]["ge"] =
      Json::parse(R"json({"as_expr": {"expr_str": "true", "hint": {"as_bool": true}}})json");
  model["range_constraints"] =
      Json::parse(R"({"s77": {"min_val": 2, "max_val": null}, "u0": {"min_val": 0, "max_val": 1e30}})");
  const Program program = parse(model);
  const SymInt& size = program.graph.tensor_values.find("x")->sizes[0];
  EXPECT_EQ(size.expr, "Symbol('s77')");
  EXPECT_EQ(size.hint, 4);
  EXPECT_FALSE(program.graph.sym_int_values.find("u0")->hint.has_value());
  EXPECT_EQ(program.graph.sym_bool_values.find("ge")->hint, true);
  EXPECT_EQ(program.range_constraints[0].key, "s77");
  EXPECT_EQ(program.range_constraints[0].min, 2);
  EXPECT_EQ(program.range_constraints[0].max, std::nullopt);
  EXPECT_EQ(program.range_constraints[1].max, std::nullopt);
}

TEST(Pt2Parse, ReadsEverySpec) {
  const Json specs = Json::parse(R"([
    {"buffer": {"arg": {"name": "b"}, "buffer_name": "m.b", "persistent": false}},
    {"tensor_constant": {"arg": {"name": "c"}, "tensor_constant_name": "lifted_tensor_0"}},
    {"custom_obj": {"arg": {"name": "o", "class_fqn": "C"}, "custom_obj_name": "obj"}},
    {"token": {"arg": {"name": "t"}}},
    {"constant_input": {"name": "flag", "value": {"as_bool": true}}}])");
  const Json outputs = Json::parse(R"([
    {"loss_output": {"arg": {"name": "l"}}},
    {"buffer_mutation": {"arg": {"name": "a"}, "buffer_name": "m.b"}},
    {"parameter_mutation": {"arg": {"name": "a"}, "parameter_name": "w"}},
    {"user_input_mutation": {"arg": {"name": "a"}, "user_input_name": "x"}},
    {"gradient_to_parameter": {"arg": {"name": "a"}, "parameter_name": "w"}},
    {"gradient_to_user_input": {"arg": {"name": "a"}, "user_input_name": "x"}},
    {"user_output": {"arg": {"as_none": true}}},
    {"token": {"arg": {"name": "t"}}}])");
  Json model = sample_model();
  model["graph_module"]["signature"] = {{"input_specs", specs}, {"output_specs", outputs}};
  const Json value = {{"as_tensor", {{"name", "a"}}}};
  model["graph_module"]["graph"]["inputs"] = Json(specs.size(), value);
  model["graph_module"]["graph"]["outputs"] = Json(outputs.size(), value);
  const Signature signature = parse(model).signature;
  EXPECT_EQ(signature.inputs[0].kind, InputSpec::Kind::buffer);
  EXPECT_EQ(signature.inputs[0].target, "m.b");
  EXPECT_FALSE(signature.inputs[0].persistent);
  EXPECT_EQ(signature.inputs[1].target, "lifted_tensor_0");
  EXPECT_EQ(signature.inputs[2].arg.text, "C");
  EXPECT_EQ(signature.inputs[3].kind, InputSpec::Kind::token);
  EXPECT_EQ(signature.inputs[4].kind, InputSpec::Kind::constant_input);
  EXPECT_TRUE(signature.inputs[4].arg.boolean);
  const char* targets[] = {"", "m.b", "w", "x", "w", "x", "", ""};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(signature.outputs[i].target, targets[i]) << i;
  EXPECT_EQ(signature.outputs[6].arg.kind, ArgumentKind::none);
  EXPECT_EQ(signature.outputs[7].kind, OutputSpec::Kind::token);
}

TEST(Pt2Parse, ToleratesWhatOlderSchemasLack) {
  Json model = sample_model();
  auto& module = model["graph_module"];
  auto& node = module["graph"]["nodes"][0];
  node.erase("name");
  node.erase("is_hop_single_tensor_return");
  node["inputs"][0].erase("kind");
  for (const char* key : {"sym_float_values", "custom_obj_values", "is_single_tensor_return"})
    module["graph"].erase(key);
  for (const char* key : {"metadata", "treespec_namedtuple_fields"}) module.erase(key);
  for (const char* key : {"guards_code", "verifiers", "torch_version"}) model.erase(key);
  module["module_call_graph"][0]["signature"].erase("forward_arg_names");
  model["schema_version"]["minor"] = 14;
  model["some_key_of_the_future"] = 1;
  const Program program = parse(model);
  EXPECT_EQ(program.graph.nodes[0].name, "");
  EXPECT_EQ(program.graph.nodes[0].inputs[0].kind, NamedArgument::Passing::unknown);
}

TEST(Pt2Parse, SaysWhereTheJsonIsWrong) {
  struct Case {
    const char* pointer;
    Json value;
    const char* message;
  };
  const Case cases[] = {
      {"/graph_module/graph/nodes/0/inputs/1/arg",
       {{"as_foo", 1}},
       "model.json: graph_module.graph.nodes[0].inputs[1].arg: unknown tag 'as_foo'"},
      {"/graph_module/graph/nodes/0/inputs/1/arg",
       {{"as_int", 1}, {"as_none", true}},
       "inputs[1].arg: expected an object with one tag, found 2 keys"},
      {"/graph_module/graph/nodes/0/inputs/1/arg",
       {{"as_int", 1.5}},
       "arg.as_int: expected an integer, found a real number"},
      {"/graph_module/graph/nodes/0/inputs/1/arg", {{"as_int", UINT64_MAX}}, "does not fit in 64 bits"},
      {"/graph_module/graph/nodes/0/inputs/1/arg", {{"as_float", "Inf"}}, "expected a number, found the string 'Inf'"},
      {"/graph_module/graph/nodes/0/inputs/1/arg",
       {{"as_tensor", {{"name", ""}}}},
       "arg.as_tensor.name: the name is empty"},
      {"/graph_module/graph/nodes/0/inputs/1/arg",
       {{"as_tensor", {{"name", std::string("a\0b", 3)}}}},
       "the name contains a NUL byte"},
      {"/graph_module/graph/nodes/0/target", std::string(5000, 'x'), "a name of 5000 bytes exceeds the limit of 4096"},
      {"/graph_module/graph/tensor_values", {{"", tensor_meta({}, {})}}, "graph.tensor_values.: the name is empty"},
      {"/graph_module/graph/nodes/0/inputs/1/kind", 3, "inputs[1].kind: unknown kind of argument 3"},
      {"/graph_module/graph/nodes/0/target", nullptr, "nodes[0].target: expected a string, found null"},
      {"/graph_module/graph/tensor_values/x/dtype", 14, "tensor_values.x.dtype: unknown element type 14"},
      {"/graph_module/graph/tensor_values/x/layout", 8, "tensor_values.x.layout: unknown layout 8"},
      {"/graph_module/graph/tensor_values/x/strides", Json::array(), "0 strides for 2 sizes"},
      {"/graph_module/graph/tensor_values/x/sizes/1/as_int", -1, "tensor_values.x.sizes[1]: a size is negative"},
      {"/graph_module/graph/tensor_values/x/strides/1/as_int", -1, "a stride is negative"},
      {"/graph_module/graph/tensor_values/x/storage_offset/as_int", -1, "the offset is negative"},
      {"/graph_module/graph/tensor_values/x/sizes", Json(65, {{"as_int", 1}}), "65 dimensions exceed the limit of 64"},
      {"/graph_module/graph/tensor_values/x", 5, "tensor_values.x: expected an object, found an integer"},
      {"/graph_module/signature/input_specs", Json::array(), "0 input specs for 2 of the graph"},
      {"/graph_module/signature/output_specs/0", {{"no_output", 1}}, "output_specs[0]: unknown tag 'no_output'"},
      {"/graph_module/signature/input_specs/0",
       {{"parameter", {{"arg", {{"name", "p_w"}}}}}},
       "the key 'parameter_name' is missing"},
      {"/graph_module/graph/nodes", 1, "graph_module.graph.nodes: expected an array, found an integer"},
  };
  for (const auto& c : cases) {
    const std::string error = parse_error(edited(c.pointer, c.value));
    EXPECT_NE(error.find(c.message), std::string::npos) << error << "\nexpected: " << c.message;
    EXPECT_EQ(error.find("model.json: "), 0u) << error;
  }
}

TEST(Pt2Parse, EveryMissingKeyIsAnErrorOrTolerated) {
  const Json model = sample_model();
  const Json flat = model.flatten();
  for (const auto& [pointer, unused] : flat.items()) {
    Json broken = model;
    for (Json::json_pointer at(pointer); !at.empty(); at.pop_back()) {
      if (!broken.contains(at.parent_pointer()) || !broken[at.parent_pointer()].is_object()) continue;
      broken[at.parent_pointer()].erase(at.back());
      parse_error(broken);
    }
  }
}

TEST(Pt2Parse, RefusesOtherSchemas) {
  EXPECT_NE(parse_error(edited("/schema_version/major", 9), ErrorCode::unsupported)
                .find("schema 9.20 is not supported, only 8.14"),
            std::string::npos);
  EXPECT_NE(parse_error(edited("/schema_version/minor", 8), ErrorCode::unsupported).find("PyTorch 2.9"),
            std::string::npos);
  EXPECT_EQ(parse_error(edited("/schema_version/minor", 99)), "");
}

TEST(Pt2Parse, RefusesBadJson) {
  const auto error = [](const std::string& text) { return error_of([&] { parse_program_json(text, "m.json"); }); };
  EXPECT_NE(error("").find("m.json: byte"), std::string::npos);
  EXPECT_NE(error("{\"a\": 1, \"a\": 2}").find("the key 'a' occurs twice"), std::string::npos);
  EXPECT_NE(error("{\"x\": [{\"y\": {\"a\": 1, \"a\": 2}}]}").find("m.json: x[0].y: the key 'a' occurs twice"),
            std::string::npos);
  EXPECT_NE(error("{\"a\": \"\xff\"}").find("not valid JSON"), std::string::npos);
  EXPECT_NE(error("[1]").find("expected an object"), std::string::npos);
  EXPECT_NE(error("{} {}").find("not valid JSON"), std::string::npos);
  EXPECT_NE(error("{\"a\": NaN}").find("not valid JSON"), std::string::npos);
  for (const char* open : {"[", "{\"a\":"}) {
    std::string deep;
    for (int i = 0; i < 1'000'000; ++i) deep += open;
    EXPECT_NE(error(deep).find("nested deeper than 512 levels"), std::string::npos);
  }
  std::string many = "[0";
  for (int i = 0; i < 9'000'000; ++i) many += ",0";
  EXPECT_NE(error(many + "]").find("more than 8388608 values"), std::string::npos);
  const std::string good = sample_model().dump();
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_NE(error(good.substr(0, size)), "") << size;
}

TEST(Pt2Parse, ControlCharactersOfNamesAreEscapedInMessages) {
  const std::string error = parse_error(edited("/graph_module/graph/nodes/0/inputs/1/arg", {{"as_\x1b[31m", 1}}));
  EXPECT_NE(error.find("'as_\\x1b[31m'"), std::string::npos) << error;
}

}  // namespace
}  // namespace tern::pt2::test
