#include "exporter/import/tree_names.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/pt2/json.h"

namespace tern::importing {
namespace {

using pt2::JsonDocument;
using pt2::JsonValue;

class Flattener {
 public:
  explicit Flattener(const pt2::Program& model) : model_(model) {}

  /// Collects the leaf paths of a pytree node; each begins with `prefix`.
  void flatten(const JsonValue& node, const std::vector<std::string>& prefix) {
    const auto type = node.find("type");
    if (!type) {
      paths.push_back(prefix);
      return;
    }
    const std::vector<std::string> keys = keys_of(node);
    std::size_t i = 0;
    for (const JsonValue child : node["children_spec"].array()) {
      std::vector<std::string> path = prefix;
      path.push_back(i < keys.size() ? keys[i] : std::to_string(i));
      flatten(child, path);
      ++i;
    }
  }

  /// The keys of a dictionary or the fields of a named tuple or dataclass; empty for sequences.
  std::vector<std::string> keys_of(const JsonValue& node) const {
    const std::string type(node["type"].as_string());
    const std::size_t count = node["children_spec"].size();
    std::vector<std::string> keys;
    const auto context = node.find("context");
    if (context && context->is_string()) {
      const std::string text(context->as_string());
      if (text.starts_with('[')) {
        const JsonDocument list(text, "context of a pytree");
        for (const JsonValue key : list.root().array()) {
          if (key.is_string()) keys.emplace_back(key.as_string());
          if (key.kind() == JsonValue::Kind::integer) keys.push_back(std::to_string(key.as_int()));
          if (key.kind() != JsonValue::Kind::array) continue;
          for (const JsonValue field : key.array()) {  // a dataclass: lists its fields, and its None fields
            if (field.is_string()) keys.emplace_back(field.as_string());
          }
          break;
        }
      } else if (type.ends_with("namedtuple")) {
        for (const auto& [name, fields] : model_.namedtuple_fields) {
          if (text.find(name) != std::string::npos) keys = fields;
        }
      }
    }
    if (keys.size() != count) keys.clear();
    return keys;
  }

  std::vector<std::vector<std::string>> paths;

 private:
  const pt2::Program& model_;
};

const pt2::ModuleCall::Convention* convention(const pt2::Program& model) {
  if (model.module_calls.empty() || !model.module_calls[0].signature) return nullptr;
  return &*model.module_calls[0].signature;
}

/// Specs are [version, tree].
JsonValue tree(const JsonDocument& document) {
  const JsonValue root = document.root();
  std::size_t i = 0;
  for (const JsonValue v : root.array()) {
    if (i++ == 1) return v;
  }
  root.bad("a pytree is a version and a node");
}

}  // namespace

std::string joined(const std::vector<std::string>& path) {
  return fmt::format("{}", fmt::join(path, "."));
}

std::vector<std::vector<std::string>> input_paths(const pt2::Program& model) {
  const auto* call = convention(model);
  if (call == nullptr || call->in_spec.empty()) return {};
  try {
    const JsonDocument document(call->in_spec, "in_spec");
    Flattener f(model);
    std::size_t group = 0, count = 0;
    for (const JsonValue subtree : tree(document)["children_spec"].array()) {  // args, then kwargs
      const std::vector<std::string> keys = group == 0 ? std::vector<std::string>{} : f.keys_of(subtree);
      std::size_t i = 0;
      for (const JsonValue child : subtree["children_spec"].array()) {
        std::string name = i < keys.size()                          ? keys[i]
                           : count < call->forward_arg_names.size() ? call->forward_arg_names[count]
                                                                    : fmt::format("in{}", count);
        f.flatten(child, {name});
        ++count;
        ++i;
      }
      ++group;
    }
    return f.paths;
  } catch (const Error&) {
    return {};  // a program runs without
  }
}

std::vector<std::string> input_names(const pt2::Program& model) {
  std::vector<std::string> names;
  for (const auto& path : input_paths(model)) names.push_back(joined(path));
  return names;
}

std::vector<std::string> output_names(const pt2::Program& model) {
  const auto* call = convention(model);
  if (call == nullptr || call->out_spec.empty()) return {};
  try {
    const JsonDocument document(call->out_spec, "out_spec");
    const JsonValue root = tree(document);
    Flattener f(model);
    if (!root.find("type")) return {"out0"};
    const std::vector<std::string> keys = f.keys_of(root);
    std::size_t i = 0;
    for (const JsonValue child : root["children_spec"].array()) {
      f.flatten(child, {i < keys.size() ? keys[i] : fmt::format("out{}", i)});
      ++i;
    }
    std::vector<std::string> names;
    for (const auto& path : f.paths) names.push_back(joined(path));
    return names;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace tern::importing
