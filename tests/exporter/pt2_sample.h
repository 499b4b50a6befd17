// A small program in the format of torch.export.save, for tests to open, edit and break.
#pragma once

#include <tern/error.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "exporter/pt2/parse.h"
#include "tests/exporter/pt2_zip_writer.h"

namespace tern::pt2::test {

using Json = nlohmann::json;

inline Json tensor_meta(std::vector<int> sizes, std::vector<int> strides, int offset = 0, int dtype = 7) {
  Json meta = {{"dtype", dtype},
               {"requires_grad", false},
               {"device", {{"type", "cpu"}, {"index", nullptr}}},
               {"storage_offset", {{"as_int", offset}}},
               {"layout", 7},
               {"sizes", Json::array()},
               {"strides", Json::array()}};
  for (const int size : sizes) meta["sizes"].push_back({{"as_int", size}});
  for (const int stride : strides) meta["strides"].push_back({{"as_int", stride}});
  return meta;
}

/// y = w * x with w a parameter of 2 x 3.
inline Json sample_model() {
  const Json w = {{"as_tensor", {{"name", "p_w"}}}}, x = {{"as_tensor", {{"name", "x"}}}},
             y = {{"as_tensor", {{"name", "mul"}}}};
  Json node = {{"target", "torch.ops.aten.mul.Tensor"},
               {"inputs", {{{"name", "self"}, {"arg", w}, {"kind", 1}}, {{"name", "other"}, {"arg", x}, {"kind", 1}}}},
               {"outputs", {y}},
               {"metadata", {{"torch_fn", "mul_1;method_descriptor.mul"}}},
               {"is_hop_single_tensor_return", nullptr},
               {"name", "mul"}};
  Json graph = {{"inputs", {w, x}},
                {"outputs", {y}},
                {"nodes", {node}},
                {"tensor_values",
                 {{"p_w", tensor_meta({2, 3}, {3, 1})},
                  {"x", tensor_meta({2, 3}, {3, 1})},
                  {"mul", tensor_meta({2, 3}, {3, 1})}}},
                {"sym_int_values", Json::object()},
                {"sym_bool_values", Json::object()},
                {"sym_float_values", Json::object()},
                {"custom_obj_values", Json::object()},
                {"is_single_tensor_return", false}};
  Json signature = {
      {"input_specs",
       {{{"parameter", {{"arg", {{"name", "p_w"}}}, {"parameter_name", "w"}}}}, {{"user_input", {{"arg", x}}}}}},
      {"output_specs", {{{"user_output", {{"arg", y}}}}}}};
  Json call = {{"fqn", ""},
               {"signature",
                {{"inputs", {x}},
                 {"outputs", {y}},
                 {"in_spec", "[1, {}]"},
                 {"out_spec", "[1, null]"},
                 {"forward_arg_names", {"x"}}}}};
  return {{"graph_module",
           {{"graph", graph},
            {"signature", signature},
            {"module_call_graph", {call}},
            {"metadata", Json::object()},
            {"treespec_namedtuple_fields", Json::object()}}},
          {"opset_version", {{"aten", 10}}},
          {"range_constraints", Json::object()},
          {"schema_version", {{"major", 8}, {"minor", 20}}},
          {"verifiers", {"TRAINING"}},
          {"torch_version", "2.12.1"},
          {"guards_code", Json::array()}};
}

inline Json sample_weights() {
  return {{"config",
           {{"w",
             {{"path_name", "weight_0"},
              {"is_param", true},
              {"use_pickle", false},
              {"tensor_meta", tensor_meta({2, 3}, {3, 1})}}}}}};
}

inline std::vector<ZipItem> sample_items(const Json& model = sample_model(), const Json& weights = sample_weights()) {
  return {{"sample/data/weights/weight_0", std::string(24, '\1')},
          {"sample/data/weights/model_weights_config.json", weights.dump()},
          {"sample/data/constants/model_constants_config.json", R"({"config": {}})"},
          {"sample/models/model.json", model.dump()},
          {"sample/data/sample_inputs/model.pt", ""},
          {"sample/archive_format", "pt2"},
          {"sample/archive_version", "0"},
          {"sample/.data/version", "6\n"},
          {"sample/byteorder", "little"}};
}

inline Container open_text(const std::string& bytes) {
  return Container::borrow(as_bytes(bytes), "sample.pt2");
}

/// The message of the Error thrown by `act`, or "". Other exceptions pass.
inline std::string error_of(const std::function<void()>& act, ErrorCode expected = ErrorCode::bad_file) {
  try {
    act();
  } catch (const Error& error) {
    return (error.code() == expected ? "" : "(code " + std::to_string(static_cast<int>(error.code())) + ") ") +
           std::string(error.what());
  }
  return "";
}

inline std::string open_error(const std::string& bytes, ErrorCode expected = ErrorCode::bad_file) {
  return error_of([&] { parse_program(open_text(bytes)); }, expected);
}

}  // namespace tern::pt2::test
