#include <fmt/format.h>

#include <cmath>

#include "tools/inspect/cost.h"
#include "tools/inspect/inspect.h"
#include "tools/inspect/nodes.h"
#include "tools/sizes.h"
#include "tools/text.h"
#include "tools/widened_text.h"

namespace tern {
namespace {

std::string quote(std::string_view text) {
  return "\"" + json_escape(text) + "\"";
}

/// A JSON array "[a, b]" of item(x) for each x.
template <class List, class Item>
std::string array(const List& list, Item item) {
  std::string out = "[";
  for (const auto& x : list) out += (out.size() > 1 ? ", " : "") + item(x);
  return out + "]";
}

/// Truncates long expressions.
std::string size_json(const Program& p, Dim d) {
  constexpr std::size_t kMax = 500;
  if (d.is_const()) return std::to_string(d.value());
  const std::string text = p.pool.text(d);
  return quote(text.size() > kMax ? text.substr(0, kMax) + "..." : text);
}

std::string type_json(const Program& p, const TensorType& t) {
  std::string out = fmt::format("{{\"dtype\": {}, \"sizes\": ", quote(name_of(t.dtype)));
  out += array(t.shape, [&](Dim d) { return size_json(p, d); });
  if (t.quantized()) {
    const Blocks& b = t.blocks;
    out += fmt::format(", \"block\": [{}, {}]", b.rows, b.columns);
    if (b.sparse()) {
      out += fmt::format(", \"kept\": {}", b.kept);
    } else {
      out += fmt::format(", \"scale\": {}, \"scale_layout\": {}", quote(name_of(b.scale)), static_cast<int>(b.layout));
    }
    if (b.zero_point != ZeroPoint::none)
      out += fmt::format(", \"zero_point\": {}, \"zero\": {}",
                         quote(b.zero_point == ZeroPoint::added ? "added" : "subtracted"), quote(name_of(b.zero)));
    if (b.outer) out += ", \"outer_scale\": true";
  }
  return out + "}";
}

std::string value_json(const Program& p, const Function& f, ValueId v) {
  if (v < 0 || static_cast<std::size_t>(v) >= f.values.size()) return "null";
  return type_json(p, f.values[static_cast<std::size_t>(v)].type);
}

std::string annotation_json(const Annotation& a) {
  std::string value;
  if (const auto* i = std::get_if<std::int64_t>(&a.value)) value = std::to_string(*i);
  if (const auto* d = std::get_if<double>(&a.value))
    value = std::isfinite(*d) ? fmt::format("{}", *d) : quote(fmt::format("{}", *d));
  if (const auto* b = std::get_if<bool>(&a.value)) value = *b ? "true" : "false";
  if (const auto* s = std::get_if<std::string>(&a.value)) value = quote(*s);
  return quote(a.key) + ": " + value;
}

std::string node_json(const Program& p, const Function& f, const Node& n) {
  const auto id = [](ValueId v) { return v < 0 ? std::string("null") : std::to_string(v); };
  std::string out = fmt::format("{{\"op\": {}, \"version\": {}, \"inputs\": {}, \"outputs\": {}", quote(op_text(n.op)),
                                n.version, array(n.inputs, id), array(n.outputs, id));
  out += ", \"types\": " + array(n.outputs, [&](ValueId v) { return value_json(p, f, v); });
  std::string attributes;
  for (const Attr& a : n.attrs) {
    attributes += (attributes.empty() ? "" : ", ") + quote(attr_name(a.key)) + ": " + quote(attribute_text(p, a));
  }
  if (!attributes.empty()) out += ", \"attributes\": {" + attributes + "}";
  if (!n.expr.code.empty()) out += ", \"expression\": " + quote(expression_text(n.expr));
  if (!n.functions.empty())
    out += ", \"functions\": " + array(n.functions, [](std::uint32_t b) { return std::to_string(b); });
  if (n.origin >= 0 && static_cast<std::size_t>(n.origin) < p.origins.size()) {
    const Origin& o = p.origins[static_cast<std::size_t>(n.origin)];
    out += fmt::format(", \"origin\": {{\"op\": {}, \"module\": {}, \"source\": {}}}", quote(o.op), quote(o.module),
                       quote(o.source));
  }
  if (!n.annotations.empty()) {
    std::string notes;
    for (const Annotation& a : n.annotations) notes += (notes.empty() ? "" : ", ") + annotation_json(a);
    out += ", \"annotations\": {" + notes + "}";
  }
  return out + "}";
}

std::string function_json(const Program& p, const Function& f) {
  constexpr const char* kInputs[] = {"user", "state", "none"};
  constexpr const char* kOutputs[] = {"tensor", "integer", "number", "boolean", "none"};
  std::string out = fmt::format("{{\"name\": {}, \"entry\": {}", quote(f.name), f.entry);
  out += ", \"inputs\": " + array(f.inputs, [&](const FunctionInput& in) {
           std::string text =
               fmt::format("{{\"name\": {}, \"kind\": \"{}\", \"value\": {}, \"type\": {}", quote(in.name),
                           kInputs[static_cast<std::size_t>(in.kind)], in.value, value_json(p, f, in.value));
           if (in.kind == FunctionInput::Kind::state) text += ", \"state\": " + quote(p.states[in.state].name);
           if (in.kind == FunctionInput::Kind::none) text += ", \"fixed\": " + quote(in.constant);
           return text + "}";
         });
  out += ", \"outputs\": " + array(f.outputs, [&](const FunctionOutput& o) {
           return fmt::format("{{\"name\": {}, \"kind\": \"{}\", \"value\": {}, \"type\": {}}}", quote(o.name),
                              kOutputs[static_cast<std::size_t>(o.kind)], o.value, value_json(p, f, o.value));
         });
  out += ", \"writes_back\": " + array(f.writebacks, [&](const WriteBack& w) {
           const bool state = w.target == WriteBack::Target::state;
           return fmt::format("{{\"{}\": {}}}", state ? "state" : "input",
                              quote(state ? p.states[w.index].name : f.inputs[w.index].name));
         });
  const std::vector<std::string> relations = assumed_relations(f);
  if (!relations.empty()) out += ", \"assumes\": " + array(relations, quote);
  out += ",\n   \"nodes\": " + array(f.nodes, [&](const Node& n) { return "\n    " + node_json(p, f, n); });
  return out + "}";
}

std::string state_json(const ReadArchive& a, const State& s) {
  const Program& p = *a.program;
  return fmt::format(
      "\n  {{\"name\": {}, \"kind\": \"{}\", \"type\": {}, \"storage\": {}, \"storage_bytes\": {}, "
      "\"segment\": {}, \"offset\": {}, \"strides\": {}, \"mutable\": {}, \"persistent\": {}, \"tied\": {}}}",
      quote(s.name), kind_text(s.kind), type_json(p, s.type), s.storage, storage_bytes(p, s),
      s.storage < a.segment_of.size() ? a.segment_of[s.storage] : -1, s.offset,
      array(s.strides, [](std::int64_t x) { return std::to_string(x); }), s.is_mutable, s.persistent,
      s.tied >= 0 && static_cast<std::size_t>(s.tied) < p.states.size()
          ? quote(p.states[static_cast<std::size_t>(s.tied)].name)
          : "null");
}

std::string cost_json(const ProgramCost& cost) {
  std::string out = fmt::format(
      "{{\"parameters\": {}, \"parameter_tensors\": {}, \"buffers\": {}, \"buffer_tensors\": {}, \"custom_ops\": {}",
      cost.parameters, cost.parameter_tensors, cost.buffers, cost.buffer_tensors, array(cost.custom_ops, quote));
  return out + ", \"runs\": " +
         array(cost.functions,
               [](const FunctionCost& c) {
                 std::string sizes;
                 for (const auto& [name, value] : c.sizes)
                   sizes += fmt::format("{}{}: {}", sizes.empty() ? "" : ", ", quote(name), value);
                 const std::string start =
                     fmt::format("\n  {{\"function\": {}, \"sizes\": {{{}}}", quote(c.name), sizes);
                 if (!c.problem.empty()) return start + fmt::format(", \"problem\": {}}}", quote(c.problem));
                 return start +
                        fmt::format(
                            ", \"flops\": {:.0f}, \"peak_bytes\": {}, \"arena_bytes\": {}, \"state_bytes\": {}}}",
                            c.flops, c.peak(), c.arena, c.states);
               }) +
         "}";
}

}  // namespace

std::string inspect_json(const std::string& path, const ReadArchive& a, const std::vector<Finding>& findings,
                         const InspectOptions& options) {
  std::string out = fmt::format(
      "{{\"file\": {}, \"bytes\": {}, \"format\": \"{}\", \"index\": {{\"offset\": {}, \"bytes\": {}}},\n "
      "\"findings\": ",
      quote(path), a.file->bytes().size(),
      options.imported ? std::string("pt2") : fmt::format("{}.{}", a.prologue.major, a.prologue.minor),
      a.prologue.index_offset, a.prologue.index_size);
  out += array(findings, [](const Finding& f) {
    return fmt::format("\n  {{\"rule\": {}, \"offset\": {}, \"where\": {}, \"message\": {}}}", quote(f.rule), f.offset,
                       quote(f.where), quote(f.message));
  });
  if (a.program != nullptr) {
    const Program& p = *a.program;
    out += ",\n \"metadata\": " +
           array(p.metadata, [](const auto& m) { return "[" + quote(m.first) + ", " + quote(m.second) + "]"; });
    out += ",\n \"symbols\": " + array(p.pool.symbols(), [](const Symbol& s) {
             return fmt::format("{{\"name\": {}, \"min\": {}, \"max\": {}}}", quote(s.name), s.min,
                                s.max == kNoBound ? "null" : std::to_string(s.max));
           });
    out += ",\n \"segments\": " + array(a.segments, [](const SegmentInfo& s) {
             return fmt::format(
                 "\n  {{\"offset\": {}, \"stored_bytes\": {}, \"bytes\": {}, \"codec\": \"{}\", \"xxh3\": "
                 "\"{:016x}{:016x}\"}}",
                 s.offset, s.stored_size, s.size,
                 s.compressed    ? "zstd"
                 : s.known_codec ? "none"
                                 : "unknown",
                 s.hash.high, s.hash.low);
           });
    out += ",\n \"states\": " + array(p.states, [&](const State& s) { return state_json(a, s); });
    out += ",\n \"packings\": " + array(p.packings, [&](const Packing& k) {
             return fmt::format("\n  {{\"storage\": {}, \"packed\": {}, \"bytes\": {}, \"key\": {}}}", k.storage,
                                k.packed, p.storages[k.packed].size, quote(k.key));
           });
    out +=
        ",\n \"kernels\": " + array(p.kernels, [&](const DeviceKernel& k) {
          return fmt::format(
              "\n  {{\"name\": {}, \"target\": {}, \"text_xxh3\": \"{:016x}{:016x}\", \"storage\": {}, \"bytes\": {}}}",
              quote(k.name), quote(k.target), k.text_high, k.text_low, k.storage, p.storages[k.storage].size);
        });
    out += ",\n \"tunings\": " + array(p.tunings, [](const Tuning& t) {
             return fmt::format("\n  {{\"processor\": {}, \"threads\": {}, \"choices\": {}}}", quote(t.processor),
                                t.threads, array(t.choices, [](const Tuning::Choice& c) {
                                  return fmt::format("{{\"function\": {}, \"node\": {}, \"algorithm\": {}}}",
                                                     c.function, c.node, quote(c.algorithm));
                                }));
           });
    std::string ops;
    for (const auto& [name, count] : count_ops(p))
      ops += fmt::format("{}{}: {}", ops.empty() ? "" : ", ", quote(name), count);
    out += ",\n \"ops\": {" + ops + "}";
    if (a.stage == ReadStage::program && findings.empty()) {
      const auto sizes = parse_sizes(options.sizes, p, size_names(p));
      out += ",\n \"cost\": " + cost_json(cost_of(a.program, last_sizes(sizes)));
      out += ",\n \"widened\": " + widened_json(widened_by_nodes(p));
    }
    if (a.stage == ReadStage::program) {
      out +=
          ",\n \"functions\": " + array(p.functions, [&](const Function& f) { return "\n  " + function_json(p, f); });
    }
  }
  return out + "}\n";
}

}  // namespace tern
