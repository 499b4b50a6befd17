// A function of one text as one over slots: what prefill in a slot and decode over several have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// Where the function over slots has a value of the function of one text.
struct Place {
  enum class Kind : std::uint8_t {
    none,
    shared,  ///< alike for all texts
    each,    ///< of the texts of this run
    slots,   ///< of all slots: [slots] + type, a cache before or after its update
    view,    ///< a view of `slots`: made where it is read
  };
  Kind kind = Kind::none;
  ValueId value = kNoValue;
};

struct SlotOptions {
  std::vector<bool> slotted;  ///< for each state, as give_slots made them
  std::int64_t slots = 0;
  Dim texts = 1;  ///< of a run
};

class SlotFunction {
 public:
  /// Takes the nodes, inputs and results out of the function: `source_`.
  SlotFunction(Program& program, std::uint32_t function, SlotOptions options);

 protected:
  ~SlotFunction() = default;

  /// The user inputs, of `texts`, with `slot` behind the first; and states. `inner` of a type is that which the nodes
  /// read.
  void add_inputs();
  virtual Dims inner(const TensorType& type) const = 0;
  /// Of each text, in the form of a state's part: [texts] + type.
  virtual ValueId of_texts(ValueId v) = 0;
  void add_outputs();

  const TensorType& source_type(ValueId v) const { return source_.values[static_cast<std::size_t>(v)].type; }
  Place& place(ValueId v) { return places_[static_cast<std::size_t>(v)]; }
  void copy_shared(const Node& n);
  /// Adds the node, with inputs of the new function, in place of the one that it was.
  std::vector<ValueId> add(Node n);
  void set(const Node& source, const std::vector<ValueId>& made, Place::Kind kind);

  /// A reshape of a cache, and the update of places in it: `indices` and `values` are those of the texts.
  void reshape_slots(const Node& n);
  void update_slots(const Node& n, ValueId values, const std::vector<ValueId>& indices);
  bool is_slots(ValueId v) { return v != kNoValue && place(v).kind == Place::Kind::slots; }

  Program& program_;
  Function source_;
  Builder b_;
  SlotOptions options_;
  std::vector<Place> places_;
  ValueId slot_ = kNoValue;  ///< int64[texts]

 private:
  void check_slot();
};

}  // namespace tern
