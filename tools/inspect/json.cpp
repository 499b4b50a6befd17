#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <variant>

#include "tools/inspect/cost.h"
#include "tools/inspect/inspect.h"
#include "tools/inspect/nodes.h"
#include "tools/json_text.h"
#include "tools/sizes.h"
#include "tools/widened_text.h"

namespace tern {
namespace {

using Json = nlohmann::ordered_json;

/// Array of the results of `item`.
template <class List, class Item>
Json json_list(const List& list, Item item) {
  Json j = Json::array();
  for (const auto& x : list) j.push_back(item(x));
  return j;
}

/// An expression that is too long to be of use is cut.
Json size_json(const Program& p, Dim d) {
  constexpr std::size_t kMax = 500;
  if (d.is_const()) return d.value();
  const std::string text = p.pool.text(d);
  return text.size() > kMax ? text.substr(0, kMax) + "..." : text;
}

Json type_json(const Program& p, const TensorType& t) {
  Json j = {{"dtype", name_of(t.dtype)}, {"sizes", json_list(t.shape, [&](Dim d) { return size_json(p, d); })}};
  if (!t.quantized()) return j;
  const Blocks& b = t.blocks;
  j["block"] = {b.rows, b.columns};
  if (b.sparse()) {
    j["kept"] = b.kept;
  } else {
    j["scale"] = name_of(b.scale);
    j["scale_layout"] = b.layout;
  }
  if (b.zero_point != ZeroPoint::none) {
    j["zero_point"] = b.zero_point == ZeroPoint::added ? "added" : "subtracted";
    j["zero"] = name_of(b.zero);
  }
  if (b.outer) j["outer_scale"] = true;
  if (b.bits != 0) j["bits"] = b.bits;
  if (b.super()) j["super_columns"] = b.super_columns;
  return j;
}

Json value_json(const Program& p, const Function& f, ValueId v) {
  if (v < 0 || static_cast<std::size_t>(v) >= f.values.size()) return nullptr;
  return type_json(p, f.values[static_cast<std::size_t>(v)].type);
}

Json annotation_json(const Annotation& a) {
  if (const auto* d = std::get_if<double>(&a.value); d != nullptr && !std::isfinite(*d)) return fmt::format("{}", *d);
  return std::visit([](const auto& value) { return Json(value); }, a.value);
}

Json node_json(const Program& p, const Function& f, const Node& n) {
  const auto id = [](ValueId v) { return v < 0 ? Json(nullptr) : Json(v); };
  Json j = {{"op", op_text(n.op)},
            {"version", n.version},
            {"inputs", json_list(n.inputs, id)},
            {"outputs", json_list(n.outputs, id)},
            {"types", json_list(n.outputs, [&](ValueId v) { return value_json(p, f, v); })}};
  // Names of a damaged file may be many, and repeat: emplace_back searches for none.
  Json::object_t attributes, annotations;
  for (const Attr& a : n.attrs) attributes.emplace_back(attr_name(a.key), attribute_text(p, a));
  for (const Annotation& a : n.annotations) annotations.emplace_back(a.key, annotation_json(a));
  if (!attributes.empty()) j["attributes"] = std::move(attributes);
  if (!n.expr.code.empty()) j["expression"] = expression_text(n.expr);
  if (!n.functions.empty()) j["functions"] = n.functions;
  if (n.origin >= 0 && static_cast<std::size_t>(n.origin) < p.origins.size()) {
    const Origin& o = p.origins[static_cast<std::size_t>(n.origin)];
    j["origin"] = {{"op", o.op}, {"module", o.module}, {"source", o.source}};
  }
  if (!annotations.empty()) j["annotations"] = std::move(annotations);
  return j;
}

Json input_json(const Program& p, const Function& f, const FunctionInput& input) {
  constexpr const char* kInputs[] = {"user", "state", "none"};
  Json j = {{"name", input.name},
            {"kind", kInputs[static_cast<std::size_t>(input.kind)]},
            {"value", input.value},
            {"type", value_json(p, f, input.value)}};
  if (input.kind == FunctionInput::Kind::state) j["state"] = p.states[input.state].name;
  if (input.kind == FunctionInput::Kind::none) j["fixed"] = input.constant;
  return j;
}

Json output_json(const Program& p, const Function& f, const FunctionOutput& o) {
  constexpr const char* kOutputs[] = {"tensor", "integer", "number", "boolean", "none"};
  return {{"name", o.name},
          {"kind", kOutputs[static_cast<std::size_t>(o.kind)]},
          {"value", o.value},
          {"type", value_json(p, f, o.value)}};
}

Json writeback_json(const Program& p, const Function& f, const WriteBack& w) {
  Json j;
  const bool state = w.target == WriteBack::Target::state;
  j[state ? "state" : "input"] = state ? p.states[w.index].name : f.inputs[w.index].name;
  return j;
}

Json function_json(const Program& p, const Function& f) {
  Json j = {{"name", f.name},
            {"entry", f.entry},
            {"inputs", json_list(f.inputs, [&](const FunctionInput& input) { return input_json(p, f, input); })},
            {"outputs", json_list(f.outputs, [&](const FunctionOutput& o) { return output_json(p, f, o); })},
            {"writes_back", json_list(f.writebacks, [&](const WriteBack& w) { return writeback_json(p, f, w); })}};
  if (const auto relations = assumed_relations(f); !relations.empty()) j["assumes"] = relations;
  j["nodes"] = json_list(f.nodes, [&](const Node& n) { return node_json(p, f, n); });
  return j;
}

Json state_json(const ReadArchive& a, const State& s) {
  const Program& p = *a.program;
  const bool is_tied = s.tied >= 0 && static_cast<std::size_t>(s.tied) < p.states.size();
  return {{"name", s.name},
          {"kind", kind_text(s.kind)},
          {"type", type_json(p, s.type)},
          {"storage", s.storage},
          {"storage_bytes", storage_bytes(p, s)},
          {"segment", s.storage < a.segment_of.size() ? a.segment_of[s.storage] : -1},
          {"offset", s.offset},
          {"strides", s.strides},
          {"mutable", s.is_mutable},
          {"persistent", s.persistent},
          {"tied", is_tied ? Json(p.states[static_cast<std::size_t>(s.tied)].name) : Json(nullptr)}};
}

Json run_cost_json(const FunctionCost& c) {
  Json j = {{"function", c.name}, {"sizes", c.sizes}};
  if (!c.problem.empty()) {
    j["problem"] = c.problem;
    return j;
  }
  j["flops"] = json_rounded(c.flops, 0);
  j["peak_bytes"] = c.peak();
  j["arena_bytes"] = c.arena;
  j["state_bytes"] = c.states;
  return j;
}

Json cost_json(const ProgramCost& cost) {
  return {{"parameters", cost.parameters}, {"parameter_tensors", cost.parameter_tensors},
          {"buffers", cost.buffers},       {"buffer_tensors", cost.buffer_tensors},
          {"custom_ops", cost.custom_ops}, {"runs", json_list(cost.functions, run_cost_json)}};
}

std::string hash_text(std::uint64_t high, std::uint64_t low) {
  return fmt::format("{:016x}{:016x}", high, low);
}

Json segment_json(const SegmentInfo& s) {
  return {{"offset", s.offset},
          {"stored_bytes", s.stored_size},
          {"bytes", s.size},
          {"codec", s.compressed    ? "zstd"
                    : s.known_codec ? "none"
                                    : "unknown"},
          {"xxh3", hash_text(s.hash.high, s.hash.low)}};
}

Json tuning_json(const Tuning& t) {
  return {{"processor", t.processor},
          {"threads", t.threads},
          {"choices", json_list(t.choices, [](const Tuning::Choice& c) {
             return Json{{"function", c.function}, {"node", c.node}, {"algorithm", c.algorithm}};
           })}};
}

void add_program(Json& j, const ReadArchive& a, bool is_lawful, const InspectOptions& options) {
  const Program& p = *a.program;
  j["metadata"] = json_list(p.metadata, [](const auto& m) { return Json::array({m.first, m.second}); });
  j["symbols"] = json_list(p.pool.symbols(), [](const Symbol& s) {
    return Json{{"name", s.name}, {"min", s.min}, {"max", s.max == kNoBound ? Json(nullptr) : Json(s.max)}};
  });
  j["segments"] = json_list(a.segments, segment_json);
  j["states"] = json_list(p.states, [&](const State& s) { return state_json(a, s); });
  j["packings"] = json_list(p.packings, [&](const Packing& k) {
    return Json{{"storage", k.storage}, {"packed", k.packed}, {"bytes", p.storages[k.packed].size}, {"key", k.key}};
  });
  j["kernels"] = json_list(p.kernels, [&](const DeviceKernel& k) {
    return Json{{"name", k.name},
                {"target", k.target},
                {"text_xxh3", hash_text(k.text_high, k.text_low)},
                {"storage", k.storage},
                {"bytes", p.storages[k.storage].size}};
  });
  j["tunings"] = json_list(p.tunings, tuning_json);
  j["files"] = json_list(p.files, [&](const AttachedFile& f) {
    return Json{{"name", f.name}, {"storage", f.storage}, {"bytes", p.storages[f.storage].size}};
  });
  Json::object_t ops;
  for (const auto& [name, count] : count_ops(p)) ops.emplace_back(name, count);
  j["ops"] = std::move(ops);
  if (a.stage != ReadStage::program) return;
  if (is_lawful) {
    const auto sizes = parse_sizes(options.sizes, p, size_names(p));
    j["cost"] = cost_json(cost_of(a.program, last_sizes(sizes)));
    j["widened"] = widened_json(widened_by_nodes(p));
  }
  j["functions"] = json_list(p.functions, [&](const Function& f) { return function_json(p, f); });
}

}  // namespace

std::string inspect_json(const std::string& path, const ReadArchive& a, const std::vector<Finding>& findings,
                         const InspectOptions& options) {
  const std::string format =
      options.imported ? std::string("pt2") : fmt::format("{}.{}", a.prologue.major, a.prologue.minor);
  Json j = {{"file", path},
            {"bytes", a.file->bytes().size()},
            {"format", format},
            {"index", {{"offset", a.prologue.index_offset}, {"bytes", a.prologue.index_size}}},
            {"findings", json_list(findings, [](const Finding& f) {
               return Json{{"rule", f.rule}, {"offset", f.offset}, {"where", f.where}, {"message", f.message}};
             })}};
  if (a.program != nullptr) add_program(j, a, findings.empty(), options);
  return json_text(j) + "\n";
}

}  // namespace tern
