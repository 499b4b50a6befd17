// Operators with written arguments: lowers the functional equivalent and writes its results back.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/gradients/detach.h"
#include "exporter/import/mutations.h"
#include "exporter/import/names.h"
#include "exporter/import/twins.h"
#include "exporter/import/views.h"
#include "schema/linear.h"

namespace tern::importing {
namespace {

using ArgumentKind = pt2::Argument::Kind;

/// True for in-place operators changing a tensor's view, not its contents.
bool is_inplace_view(std::string_view base) {
  for (std::string_view name : {"aten::squeeze_", "aten::unsqueeze_", "aten::transpose_", "aten::t_", "aten::swapaxes_",
                                "aten::swapdims_", "aten::as_strided_", "aten::detach_"}) {
    if (base == name) return true;
  }
  return false;
}

std::vector<std::string> tensor_names(const pt2::Argument* a) {
  if (a == nullptr) return {};
  if (a->kind == ArgumentKind::tensor) return {a->name};
  if (a->kind == ArgumentKind::tensors || a->kind == ArgumentKind::optional_tensors) return a->names;
  return {};
}

/// Renames arguments to the twin's argument at the same position: self of dropout_ is input of dropout.
void name_as_twin(Call* call, const pt2::Schema* twin) {
  if (twin == nullptr) return;
  for (std::size_t i = 0; i < call->args.size() && i < twin->arguments.size(); ++i) {
    if (twin->find(call->args[i].first) == nullptr) call->args[i].first = twin->arguments[i].name;
  }
}

}  // namespace

void Mutations::resize(const pt2::Node& node, const Dims& sizes) {
  // Memory keeps its elements in order; new elements are undefined in PyTorch, and zero here.
  const std::string& name = node.inputs.at(0).arg.name;
  const ValueId old_value = scope_.tensor_of(node.inputs[0].arg);
  const Dim old_numel = builder_.numel(old_value), new_numel = pool().product(sizes);
  ValueId flat = builder_.flatten(old_value);
  if (difference(pool(), new_numel, old_numel).min > 0) {
    flat = builder_.pad(flat, {0}, {pool().sub(new_numel, old_numel)});
  } else {
    flat = builder_.slice(flat, 0, 0, new_numel);
  }
  const Binding resized = Binding::tensor(aliases_.add_base(builder_.reshape(flat, sizes)));
  scope_.bind(name, resized);
  if (!node.outputs.empty()) scope_.bind(node.outputs[0].name, resized);
}

/// Rebinds all names of the tensor to a detached view; earlier views keep their gradients.
Binding Mutations::detach(const Binding& self) {
  if (self.kind != BindingKind::tensor) return self;
  const RefId ref = self.ref;
  const Binding view = Binding::tensor(
      aliases_.add_view(ref, detached(builder_, aliases_.current_value(ref)), detached_view_step(builder_)));
  for (auto& [name, binding] : scope_.names()) {
    if (binding.kind == BindingKind::tensor && binding.ref == ref) binding = view;
  }
  return view;
}

bool Mutations::special(const pt2::Node& node, const pt2::Schema& schema, const Call& call) {
  const std::string_view base = base_of(schema.name);
  if (!contains(special_mutations(), base)) return false;
  const auto finish = [&](const Binding& self) {
    if (!node.outputs.empty() && node.outputs[0].kind == ArgumentKind::tensor) scope_.bind(node.outputs[0].name, self);
    return true;
  };
  const auto self = [&] { return scope_.binding_of(node.inputs.at(0).arg); };
  if (base == "aten::copy_") {
    scope_.write(self(), call.tensor(ArgumentName::from_text(schema.arguments[1].name)));
  } else if (base == "aten::zero_") {
    const ValueId old_value = call.tensor("self");
    scope_.write(self(), builder_.full({}, 0, builder_.dtype(old_value)));
  } else if (base == "aten::fill_") {
    const CallArgument& value = call.arg("value");
    if (value.kind == CallArgument::Kind::number || value.kind == CallArgument::Kind::complex) {
      scope_.write(self(), builder_.full({}, {value.number, value.imaginary}, builder_.dtype(call.tensor("self"))));
    } else {
      scope_.write(self(), call.tensor("value"));
    }
  } else if (base == "aten::resize_") {
    resize(node, call.dims("size"));
    return true;
  } else if (base == "aten::resize_as_") {
    resize(node, Dims(builder_.shape(call.tensor("the_template"))));
    return true;
  } else if (base == "aten::set_" && overload_of(schema.name) == "source_Tensor") {
    const Binding source = scope_.binding_of(node.inputs.at(1).arg);
    scope_.bind(node.inputs[0].arg.name, source);
    return finish(source);
  } else if (base == "aten::detach_") {
    return finish(shared_.is_differentiated ? detach(self()) : self());
  } else if (base == "aten::requires_grad_" || base == "aten::retain_grad") {
    // invisible to a program without autograd
  } else if (is_inplace_view(base)) {
    pt2::Node twin = node;
    twin.target = "torch.ops." + functional_twin(schema);
    const pt2::Schema* twin_schema = pt2::find_schema(twin);
    calls_.run(twin, twin_schema, arguments_.bind(twin, twin_schema));
    if (!node.outputs.empty()) {
      if (const Binding* b = scope_.find(node.outputs[0].name)) scope_.bind(node.inputs.at(0).arg.name, Binding(*b));
    }
    return true;
  } else {
    return false;
  }
  return finish(self());
}

void Mutations::call(const pt2::Node& node, const pt2::Schema& schema) {
  Call call = arguments_.bind(node, &schema);
  if (special(node, schema, call)) return;

  const std::string twin = functional_twin(schema);
  if (!twin.empty() && find_lowering(twin) != nullptr) {
    call.target = twin;
    name_as_twin(&call, pt2::find_schema(pt2::schema_name("torch.ops." + twin)));
  } else if (find_lowering(call.target) == nullptr) {
    shared_.missing.add(node);
    scope_.substitute(node);
    return;
  }
  // Written tensors, by argument.
  std::vector<std::pair<const pt2::SchemaArgument*, std::vector<Binding>>> written;
  for (const pt2::SchemaArgument& a : schema.arguments) {
    if (!a.is_mutated) continue;
    std::vector<Binding> targets;
    for (const std::string& name : tensor_names(node.find_input(a.name))) {
      pt2::Argument element;
      element.kind = name.empty() ? ArgumentKind::none : ArgumentKind::tensor;
      element.name = name;
      targets.push_back(scope_.binding_of(element));
    }
    written.emplace_back(&a, std::move(targets));
  }
  // An in-place result has the overwritten tensor's type; PyTorch computes in the common type of the operands.
  if (call.declared.empty() && !written.empty()) {
    for (const Binding& b : written[0].second) call.declared.push_back(builder_.type(scope_.value_of(b)));
  }
  if (call.declared.size() == 1 && is_floating(call.declared[0].dtype)) {
    for (const auto& [name, o] : call.args) {
      if (o.kind == CallArgument::Kind::tensor && builder_.rank(o.value) > 0 && is_floating(builder_.dtype(o.value))) {
        call.declared[0].dtype = promote(call.declared[0].dtype, builder_.dtype(o.value));
      }
    }
  }
  const std::vector<ValueId> results = calls_.lower(call);

  // Results follow the order of the schema's returns; written but unreturned arguments come last.
  std::size_t next = 0;
  std::vector<bool> is_stored(written.size());
  std::vector<std::vector<Binding>> returned;
  const auto store = [&](const Binding& target) {
    if (next >= results.size())
      fail(ErrorCode::bad_file, fmt::format("its operands produce too few results for {}", call.target));
    const ValueId value = results[next++];
    if (value != kNoValue && target.kind == BindingKind::tensor) scope_.write(target, value);
  };
  for (std::size_t r = 0; r < schema.returns.size(); ++r) {
    std::vector<Binding> bindings;
    bool found_twin_result = false;
    for (std::size_t w = 0; w < written.size(); ++w) {
      if (written[w].first->alias != schema.returns[r].alias || schema.returns[r].alias.empty()) continue;
      for (const Binding& target : written[w].second) store(target);
      bindings = written[w].second;
      is_stored[w] = found_twin_result = true;
    }
    if (!found_twin_result) {
      const std::size_t count = r < node.outputs.size() ? output_names_of(node.outputs[r]).size() : 1;
      for (std::size_t k = 0; k < count && next < results.size(); ++k) {
        const ValueId v = results[next++];
        bindings.push_back(v == kNoValue ? Binding{} : Binding::tensor(aliases_.add_base(v)));
      }
    }
    returned.push_back(std::move(bindings));
  }
  for (std::size_t w = 0; w < written.size(); ++w) {
    if (is_stored[w]) continue;
    for (const Binding& target : written[w].second) store(target);
  }
  for (std::size_t r = 0; r < node.outputs.size() && r < returned.size(); ++r) {
    const std::vector<std::string> names = output_names_of(node.outputs[r]);
    for (std::size_t k = 0; k < names.size(); ++k) {
      if (!names[k].empty()) scope_.bind(names[k], k < returned[r].size() ? returned[r][k] : Binding{});
    }
  }
}

/// batch_norm and similar ops update the running statistics in training; their schemas do not state the update.
bool Mutations::batch_norm_training(const pt2::Node& node, const Call& call) {
  if (call.target == "aten.instance_norm.default") {
    if (!call.flag("use_input_stats") || !(call.has_argument("running_mean") || call.has_argument("running_var")))
      return false;
    const std::vector<ValueId> results = calls_.lower(call);
    if (call.has_argument("running_mean"))
      scope_.write(scope_.binding_of(*node.find_input("running_mean")), results.at(1));
    if (call.has_argument("running_var"))
      scope_.write(scope_.binding_of(*node.find_input("running_var")), results.at(2));
    results_.bind(node, {results[0]}, 0, nullptr, call);
    return true;
  }
  const bool has_batch_statistics = call.target == "aten.batch_norm.default" ||
                                    call.target == "aten.native_batch_norm.default" ||
                                    call.target == "aten.cudnn_batch_norm.default";
  if (!has_batch_statistics || !call.flag_or("training", false) || !call.has_argument("running_mean") ||
      !call.has_argument("running_var"))
    return false;
  const char* functional = "aten._native_batch_norm_legit_functional.default";
  if (find_lowering(functional) == nullptr) return false;
  Call c = call;
  c.target = functional;
  const double eps = call.target == "aten.cudnn_batch_norm.default" ? call.number("epsilon") : call.number("eps");
  std::erase_if(c.args,
                [](const auto& a) { return a.first == "cudnn_enabled" || a.first == "epsilon" || a.first == "eps"; });
  CallArgument e;
  e.kind = CallArgument::Kind::number;
  e.number = eps;
  c.args.emplace_back("eps", e);
  const DType statistics = builder_.dtype(call.tensor("running_mean"));
  while (c.declared.size() < 5) c.declared.push_back({statistics, builder_.shape(call.tensor("running_mean"))});
  const std::vector<ValueId> results = calls_.lower(c);
  if (results.size() < 5) fail(ErrorCode::internal, "the lowering of batch normalization produces too few results");
  scope_.write(scope_.binding_of(*node.find_input("running_mean")), results[3]);
  scope_.write(scope_.binding_of(*node.find_input("running_var")), results[4]);
  const std::vector<ValueId> proper(results.begin(), results.begin() + 3);
  results_.bind(node, proper, 0, nullptr, call);
  return true;
}

}  // namespace tern::importing
