// Turns a function of one text (sequence) into a function over batch slots: the common base of prefill, which fills one
// slot, and decode, which extends several.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// Location, in the function over slots, of a value of the one-text function.
struct ValueLocation {
  enum class Kind : std::uint8_t {
    none,      ///< no counterpart yet
    shared,    ///< the same value for all texts
    per_text,  ///< a value per text of this run
    slots,     ///< all slots: [slots] + type, a cache before or after its update
    view,      ///< a view of `slots`, created again for each reader
  };
  Kind kind = Kind::none;
  ValueId value = kNoValue;
};

struct SlotOptions {
  std::vector<bool> slotted;  ///< marks the states extended by give_slots
  std::int64_t slots = 0;
  Dim texts = 1;  ///< texts per run
};

class SlotFunction {
 public:
  /// Takes the nodes, inputs and results out of the function: `source_`.
  SlotFunction(Program& program, std::uint32_t function, SlotOptions options);

 protected:
  ~SlotFunction() = default;

  /// Adds the user inputs, with `texts` in front and `slot` as second input, and the states. `inner` returns the shape
  /// read by the nodes for a type.
  void add_inputs();
  virtual Dims inner(const TensorType& type) const = 0;
  /// Returns the values of all texts in the shape of a slice of a state: [texts] + type.
  virtual ValueId values_of_texts(ValueId v) = 0;
  void add_outputs();

  const TensorType& source_type(ValueId v) const { return source_.values[static_cast<std::size_t>(v)].type; }
  ValueLocation& location(ValueId v) { return locations_[static_cast<std::size_t>(v)]; }
  void copy_shared(const Node& n);
  /// Adds the node, with inputs in the new function, as replacement of the original.
  std::vector<ValueId> add(Node n);
  void set(const Node& source, const std::vector<ValueId>& results, ValueLocation::Kind kind);

  /// Reshapes a cache, or updates positions in a cache; `indices` and `values` belong to the texts.
  void reshape_slots(const Node& n);
  void update_slots(const Node& n, ValueId values, const std::vector<ValueId>& indices);
  bool is_slots(ValueId v) { return v != kNoValue && location(v).kind == ValueLocation::Kind::slots; }

  Program& program_;
  Function source_;
  Builder b_;
  SlotOptions options_;
  std::vector<ValueLocation> locations_;
  ValueId slot_ = kNoValue;  ///< int64[texts]

 private:
  void check_slot();
};

}  // namespace tern
