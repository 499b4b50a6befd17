// Arguments of a call, by the names of its operator's schema.
#include "exporter/import/arguments.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <set>

namespace tern::importing {
namespace {

std::set<std::string_view> autocast_ops() {
  return {"aten.conv1d.default",
          "aten.conv2d.default",
          "aten.conv3d.default",
          "aten.convolution.default",
          "aten.conv_transpose1d.default",
          "aten.conv_transpose2d.input",
          "aten.conv_transpose3d.input",
          "aten.bmm.default",
          "aten.mm.default",
          "aten.linalg_vecdot.default",
          "aten.baddbmm.default",
          "aten.addmm.default",
          "aten.addbmm.default",
          "aten.linear.default",
          "aten.matmul.default",
          "aten.scaled_dot_product_attention.default"};
}

}  // namespace

Call Arguments::bind(const pt2::Node& node, const pt2::Schema* schema) {
  Call call;
  call.target = short_target(node.target);
  call.torch_version = shared_.model.torch_version;
  call.builder = &builder_;
  if (schema == nullptr) {
    for (const pt2::NamedArgument& node_input : node.inputs)
      call.args.emplace_back(node_input.name, operand(node_input.arg));
  } else {
    std::size_t positional = 0;
    for (const pt2::SchemaArgument& a : schema->arguments) {
      const pt2::Argument* argument = node.find_input(a.name);
      if (argument == nullptr && !a.kwarg_only && positional < node.inputs.size() &&
          node.inputs[positional].name.empty()) {
        argument = &node.inputs[positional].arg;
      }
      ++positional;
      if (argument == nullptr && !a.has_default && !a.type.optional) {
        fail(ErrorCode::bad_file, fmt::format("argument '{}' is missing", a.name));
      }
      call.args.emplace_back(a.name,
                             argument != nullptr ? operand(*argument, a.type) : operand(a.default_value, a.type));
    }
    for (const pt2::NamedArgument& node_input : node.inputs) {
      if (!node_input.name.empty() && schema->find(node_input.name) == nullptr) {
        fail(ErrorCode::bad_file, fmt::format("'{}' is not an argument of {}", node_input.name, schema->text));
      }
    }
  }
  for (const pt2::Argument& output : node.outputs) {
    for (const std::string& name : output_names_of(output)) {
      const pt2::TensorMeta* meta = name.empty() ? nullptr : scope_.meta_of(name);
      call.declared.push_back(meta == nullptr ? TensorType{} : symbols().hint(*meta));
    }
  }
  if (scope_.autocast != DType::invalid && !call.declared.empty() && call.declared[0].dtype == scope_.autocast &&
      autocast_ops().contains(call.target)) {
    for (auto& [name, o] : call.args) {
      if (o.kind == CallArgument::Kind::tensor && is_floating(builder_.dtype(o.value)) &&
          builder_.dtype(o.value) != DType::f64) {
        o.value = builder_.cast(o.value, scope_.autocast);
      }
    }
  }
  return call;
}

}  // namespace tern::importing
