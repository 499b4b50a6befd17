// Writes traced programs for tests of the importer: a graph node by node, as torch.export.save would.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exporter/importer.h"
#include "tests/exporter/pt2_sample.h"

namespace tern::testing {

using namespace tern::pt2::test;

inline Json tensor(const std::string& name) {
  return {{"as_tensor", {{"name", name}}}};
}
inline Json tensors(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const std::string& n : names) list.push_back({{"name", n}});
  return {{"as_tensors", list}};
}
inline Json integer(std::int64_t v) {
  return {{"as_int", v}};
}
inline Json integers(const std::vector<std::int64_t>& v) {
  return {{"as_ints", v}};
}
inline Json number(double v) {
  return {{"as_float", v}};
}
inline Json boolean(bool v) {
  return {{"as_bool", v}};
}
inline Json sym_int(const std::string& name) {
  return {{"as_sym_int", {{"as_name", name}}}};
}
inline Json sym_bool(const std::string& name) {
  return {{"as_sym_bool", {{"as_name", name}}}};
}
inline Json sym_float(const std::string& name) {
  return {{"as_sym_float", {{"as_name", name}}}};
}
inline Json scalar_type(int v) {
  return {{"as_scalar_type", v}};
}

/// A symbol's srepr in PyTorch's notation.
inline std::string symbol(const std::string& name) {
  return name[0] == 'u' ? "Symbol('" + name + "', integer=True)"
                        : "Symbol('" + name + "', positive=True, integer=True)";
}
/// A size: a number, or an expression.
inline Json size(std::int64_t v) {
  return {{"as_int", v}};
}
inline Json size(const std::string& srepr) {
  return {{"as_expr", {{"expr_str", srepr}, {"hint", nullptr}}}};
}

inline constexpr int kF32 = 7, kI64 = 5, kBool = 12, kC64 = 10, kI32 = 4, kF64 = 8;

/// Contiguous, of constant sizes.
inline Json meta(const std::vector<int>& sizes, int dtype = kF32) {
  std::vector<int> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return tensor_meta(sizes, strides, 0, dtype);
}
/// Metadata of sizes, possibly symbolic; strides are arbitrary.
inline Json meta_of(const std::vector<Json>& sizes, int dtype = kF32) {
  Json m = meta(std::vector<int>(sizes.size(), 1), dtype);
  for (std::size_t i = 0; i < sizes.size(); ++i) m["sizes"][i] = sizes[i];
  return m;
}

using Arguments = std::vector<std::pair<std::string, Json>>;

/// A graph: the program's, or a node's subgraph.
class TracedGraph {
 public:
  TracedGraph() {
    graph_ = {{"inputs", Json::array()},
              {"outputs", Json::array()},
              {"nodes", Json::array()},
              {"tensor_values", Json::object()},
              {"sym_int_values", Json::object()},
              {"sym_bool_values", Json::object()},
              {"sym_float_values", Json::object()},
              {"custom_obj_values", Json::object()},
              {"is_single_tensor_return", false}};
  }
  void value(const std::string& name, const Json& type) { graph_["tensor_values"][name] = type; }
  void input(const std::string& name, const Json& type) {
    value(name, type);
    graph_["inputs"].push_back(tensor(name));
  }
  /// Tensor results: name and type.
  void node(const std::string& target, const Arguments& arguments,
            const std::vector<std::pair<std::string, Json>>& results, const Json& metadata = Json::object()) {
    Json outputs = Json::array();
    for (const auto& [name, type] : results) {
      value(name, type);
      outputs.push_back(tensor(name));
    }
    add(target, arguments, outputs, metadata);
  }
  /// A node with a list of tensors as its only result.
  void list_node(const std::string& target, const Arguments& arguments,
                 const std::vector<std::pair<std::string, Json>>& results) {
    std::vector<std::string> names;
    for (const auto& [name, type] : results) {
      value(name, type);
      names.push_back(name);
    }
    add(target, arguments, Json::array({tensors(names)}), Json::object());
  }
  void int_node(const std::string& target, const Arguments& arguments, const std::string& result,
                const Json& expression) {
    graph_["sym_int_values"][result] = expression;
    add(target, arguments, Json::array({sym_int(result)}), Json::object());
  }
  void bool_node(const std::string& target, const Arguments& arguments, const std::string& result,
                 const std::string& srepr) {
    graph_["sym_bool_values"][result] = {{"as_expr", {{"expr_str", srepr}, {"hint", nullptr}}}};
    add(target, arguments, Json::array({sym_bool(result)}), Json::object());
  }
  void float_node(const std::string& target, const Arguments& arguments, const std::string& result) {
    graph_["sym_float_values"][result] = {{"as_expr", {{"expr_str", "Symbol('zf0')"}, {"hint", nullptr}}}};
    add(target, arguments, Json::array({sym_float(result)}), Json::object());
  }
  void output(const Json& argument) { graph_["outputs"].push_back(argument); }
  Json argument(const std::string& name) const { return {{"as_graph", {{"name", name}, {"graph", graph_}}}}; }
  Json& json() { return graph_; }

 private:
  void add(const std::string& target, const Arguments& arguments, const Json& outputs, const Json& metadata) {
    Json inputs = Json::array();
    for (const auto& [name, argument] : arguments) inputs.push_back({{"name", name}, {"arg", argument}, {"kind", 1}});
    graph_["nodes"].push_back({{"target", target},
                               {"inputs", inputs},
                               {"outputs", outputs},
                               {"metadata", metadata},
                               {"is_hop_single_tensor_return", nullptr},
                               {"name", nullptr}});
  }
  Json graph_;
};

/// A program with its signature, weights and archive.
class TracedModel : public TracedGraph {
 public:
  TracedModel() {
    model_ = sample_model();
    model_["graph_module"]["signature"] = {{"input_specs", Json::array()}, {"output_specs", Json::array()}};
    model_["graph_module"]["module_call_graph"] = Json::array();
    weights_ = {{"config", Json::object()}};
  }
  void user(const std::string& name, const Json& type) {
    input(name, type);
    specs("input_specs").push_back({{"user_input", {{"arg", tensor(name)}}}});
  }
  void user_int(const std::string& name, const Json& expression) {
    json()["sym_int_values"][name] = expression;
    json()["inputs"].push_back(sym_int(name));
    specs("input_specs").push_back({{"user_input", {{"arg", sym_int(name)}}}});
  }
  void buffer(const std::string& fqn, const Json& type, int file = 0) {
    const std::string name = "b_" + fqn;
    input(name, type);
    specs("input_specs")
        .push_back({{"buffer", {{"arg", {{"name", name}}}, {"buffer_name", fqn}, {"persistent", true}}}});
    weights_["config"][fqn] = {{"path_name", "weight_" + std::to_string(file)},
                               {"is_param", false},
                               {"use_pickle", false},
                               {"tensor_meta", type}};
  }
  void result(const std::string& name) { result_value(tensor(name)); }
  void result_value(const Json& argument) {
    output(argument);
    specs("output_specs").push_back({{"user_output", {{"arg", argument}}}});
  }
  void range(const std::string& symbol, const Json& min, const Json& max) {
    model_["range_constraints"][symbol] = {{"min_val", min}, {"max_val", max}};
  }
  void bytes(std::string data) { files_.push_back(std::move(data)); }
  void floats(const std::vector<float>& values) {
    files_.emplace_back(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }
  void calling(const std::string& in_spec, const std::string& out_spec, const std::vector<std::string>& names) {
    model_["graph_module"]["module_call_graph"] = Json::array({{{"fqn", ""},
                                                                {"signature",
                                                                 {{"inputs", Json::array()},
                                                                  {"outputs", Json::array()},
                                                                  {"in_spec", in_spec},
                                                                  {"out_spec", out_spec},
                                                                  {"forward_arg_names", names}}}}});
  }
  Json& model() { return model_; }
  Json& weights() { return weights_; }

  /// The archive's entries for this program under a name.
  std::vector<ZipItem> items(const std::string& name = "model") {
    model_["graph_module"]["graph"] = json();
    std::vector<ZipItem> items;
    for (std::size_t i = 0; i < files_.size(); ++i)
      items.push_back({"t/data/weights/weight_" + std::to_string(i), files_[i]});
    items.push_back({"t/data/weights/" + name + "_weights_config.json", weights_.dump()});
    items.push_back({"t/data/constants/" + name + "_constants_config.json", R"({"config": {}})"});
    items.push_back({"t/models/" + name + ".json", model_.dump()});
    return items;
  }
  /// The bytes live in this object; imported programs must not outlive the object.
  const std::string& archive() {
    if (archive_.empty()) archive_ = write_archive(items());
    return archive_;
  }
  static std::string write_archive(std::vector<ZipItem> all) {
    all.push_back({"t/archive_format", "pt2"});
    all.push_back({"t/archive_version", "0"});
    all.push_back({"t/.data/version", "6\n"});
    all.push_back({"t/byteorder", "little"});
    return write_zip(all);
  }
  /// The program as traced, without folding.
  Program load(ImportOptions options = {}, ImportReport* report = nullptr) {
    options.fold = false;
    return import_pt2(open_text(archive()), options, report);
  }

 private:
  Json& specs(const char* which) { return model_["graph_module"]["signature"][which]; }
  Json model_, weights_;
  std::vector<std::string> files_;
  std::string archive_;
};

}  // namespace tern::testing
