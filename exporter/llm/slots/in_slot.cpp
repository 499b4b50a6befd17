#include "exporter/llm/slots/in_slot.h"

#include <utility>

namespace tern {
namespace {

class InSlot : public SlotFunction {
 public:
  using SlotFunction::SlotFunction;

  void run() {
    add_inputs();
    const Dim number = b_.pool().new_symbol("slot", 0, options_.slots - 1);
    b_.add_all(Op::item, {b_.reshape(slot_, {})}, {attr(AttrKey::symbols, Dims{number})});
    number_ = number;
    for (const Node& n : source_.nodes) copy(n);
    add_outputs();
  }

 private:
  Dims inner(const TensorType& type) const override { return type.shape; }

  ValueId values_of_texts(ValueId v) override {
    Dims sizes = source_type(v).shape;
    sizes.insert(sizes.begin(), Dim(1));
    return b_.reshape(slot_value(v), sizes);
  }

  /// Value in the form of the one-text function; for a cache, the slot's slice.
  ValueId slot_value(ValueId v) {
    if (!is_slots(v)) return location(v).value;
    return b_.reshape(b_.slice(location(v).value, 0, number_, 1), source_type(v).shape);
  }

  void copy(const Node& n) {
    const bool cache = !n.inputs.empty() && is_slots(n.inputs[0]);
    if (cache && n.op == Op::reshape) return reshape_slots(n);
    if (cache && n.op == Op::index_put) {
      const std::vector<ValueId> operands(n.inputs.begin() + 2, n.inputs.end());
      std::vector<ValueId> indices;
      for (const ValueId v : operands) indices.push_back(slot_value(v));
      return update_slots(n, slot_value(n.inputs[1]), indices);
    }
    Node copied_node = n;
    for (ValueId& v : copied_node.inputs) v = v == kNoValue ? v : slot_value(v);
    set(n, add(std::move(copied_node)), ValueLocation::Kind::per_text);
  }

  Dim number_ = 0;
};

}  // namespace

void work_in_slot(Program& program, std::uint32_t function, SlotOptions options) {
  options.texts = 1;
  InSlot(program, function, std::move(options)).run();
}

}  // namespace tern
