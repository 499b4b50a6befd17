#include "runtime/devices/section_parts.h"

#include <algorithm>

#include "runtime/devices/parts.h"
#include "runtime/prepared.h"
#include "schema/op_record.h"

namespace tern {
namespace {

class SectionDivision {
 public:
  SectionDivision(const Function& f, std::uint32_t begin, std::uint32_t end, const Concrete& concrete)
      : f_(f), begin_(begin), end_(end), concrete_(concrete), maker_(f.values.size(), -1) {}

  std::vector<SectionPart> find_parts(PartCompiler& device) {
    const std::vector<std::int32_t> part_of = divide_into_parts(dependencies(), groups(device));
    const std::int32_t count = part_of.empty() ? 0 : *std::ranges::max_element(part_of) + 1;
    std::vector<SectionPart> parts(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < part_of.size(); ++i) {
      if (part_of[i] >= 0)
        parts[static_cast<std::size_t>(part_of[i])].nodes.push_back(begin_ + static_cast<std::uint32_t>(i));
    }
    // Views need no work.
    std::erase_if(parts, [&](const SectionPart& p) {
      return std::ranges::all_of(p.nodes, [&](std::uint32_t i) { return is_view(f_.nodes[i].op); });
    });
    for (SectionPart& p : parts) find_ends(p);
    return parts;
  }

 private:
  bool is_plain(ValueId v) const {
    if (v == kNoValue) return true;
    const TensorType& type = f_.values[static_cast<std::size_t>(v)].type;
    return concrete_.has_known_sizes(type) && !type.packed();
  }

  /// True if operand `k` may be read by the device as blocks with float8_e8m0 scales (MX).
  bool is_microscaled(const Node& n, std::size_t k) const {
    if ((n.op != Op::dequantize || k != 0) && (n.op != Op::matmul || k != 1)) return false;
    const TensorType& type = f_.values[static_cast<std::size_t>(n.inputs[k])].type;
    Blocks mx;  // only float8_e8m0 scales, blocks along a row
    mx.columns = type.blocks.columns;
    mx.layout = type.blocks.layout;
    return type.quantized() && concrete_.has_known_sizes(type) && type.blocks == mx;
  }

  bool may_be_offered(const Node& n, bool microscaled) const {
    if (!has_trait(n.op, Trait::offered)) return false;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      if (!is_plain(n.inputs[k]) && !(microscaled && is_microscaled(n, k))) return false;
    }
    return std::ranges::all_of(n.outputs, [&](ValueId v) { return is_plain(v); });
  }

  std::vector<std::vector<std::uint32_t>> dependencies() {
    std::vector<std::vector<std::uint32_t>> dependencies(end_ - begin_);
    for (std::uint32_t i = begin_; i < end_; ++i) {
      for (ValueId v : f_.nodes[i].inputs) {
        if (v != kNoValue && maker_[static_cast<std::size_t>(v)] >= 0)
          dependencies[i - begin_].push_back(static_cast<std::uint32_t>(maker_[static_cast<std::size_t>(v)]) - begin_);
      }
      for (ValueId v : f_.nodes[i].outputs) {
        if (v != kNoValue) maker_[static_cast<std::size_t>(v)] = i;
      }
    }
    return dependencies;
  }

  std::vector<std::int32_t> groups(PartCompiler& device) const {
    std::vector<std::uint32_t> offered;
    std::vector<std::unique_ptr<Node>> resolved;
    std::vector<const Node*> nodes;
    for (std::uint32_t i = begin_; i < end_; ++i) {
      const Node& n = f_.nodes[i];
      if (!may_be_offered(n, device.takes_microscaled())) continue;
      offered.push_back(i);
      resolved.push_back(concrete_.resolve(n));
      nodes.push_back(resolved.back() == nullptr ? &n : resolved.back().get());
    }
    const std::vector<std::int32_t> chosen = device.choose(
        {nodes, {}, {}, {}, [&](ValueId v) { return concrete_.view(f_.values[static_cast<std::size_t>(v)].type); }});
    std::vector<std::int32_t> groups(end_ - begin_, -1);
    for (std::size_t k = 0; k < offered.size(); ++k) groups[offered[k] - begin_] = chosen[k];
    return groups;
  }

  /// Finds the part's inputs and outputs.
  void find_ends(SectionPart& part) const {
    const auto add = [](std::vector<ValueId>& list, ValueId v) {
      if (std::ranges::find(list, v) == list.end()) list.push_back(v);
    };
    const auto is_inside = [&](std::int64_t node) {
      return node >= 0 && std::ranges::binary_search(part.nodes, static_cast<std::uint32_t>(node));
    };
    const auto is_made_inside = [&](ValueId v) {
      return v != kNoValue && is_inside(maker_[static_cast<std::size_t>(v)]);
    };
    for (std::uint32_t i = 0; i < f_.nodes.size(); ++i) {
      for (ValueId v : f_.nodes[i].inputs) {
        if (v == kNoValue || is_inside(i) == is_made_inside(v)) continue;
        add(is_inside(i) ? part.inputs : part.outputs, v);
      }
    }
    for (const FunctionOutput& o : f_.outputs) {
      if (is_made_inside(o.value)) add(part.outputs, o.value);
    }
    for (const WriteBack& w : f_.writebacks) {
      if (is_made_inside(w.value)) add(part.outputs, w.value);
    }
  }

  const Function& f_;
  std::uint32_t begin_, end_;
  const Concrete& concrete_;
  std::vector<std::int64_t> maker_;  ///< the node in this section producing each value, or -1
};

}  // namespace

std::vector<SectionPart> find_section_parts(PartCompiler& device, const Function& f, std::uint32_t begin,
                                            std::uint32_t end, const Concrete& concrete) {
  return SectionDivision(f, begin, end, concrete).find_parts(device);
}

}  // namespace tern
