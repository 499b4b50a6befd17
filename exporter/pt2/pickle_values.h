// Contents of a pickle as plain data: values in one array, referring to each other by number.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "exporter/pt2/pickle_globals.h"

namespace tern::pt2 {

/// The number of a value in PickleValues.
using PickleId = std::uint32_t;
inline constexpr PickleId kNoPickleValue = std::numeric_limits<PickleId>::max();

/// Pickled value. Nothing is called: an object is the record of a call.
struct PickleValue {
  enum class Kind : std::uint8_t {
    none,
    boolean,     ///< integer: 0 or 1
    integer,     ///< integer
    real,        ///< real
    text,        ///< text
    tuple,       ///< items
    list,        ///< items
    dict,        ///< items: key, value, key, value ...
    global,      ///< global; text: "module name"
    call,        ///< REDUCE: items[0](*items[1])
    object,      ///< NEWOBJ: an object of class items[0], with constructor arguments items[1]
    persistent,  ///< BINPERSID: items[0] describes data outside the pickle
  };
  Kind kind = Kind::none;
  PickleGlobal global = PickleGlobal::refused;
  PickleId state = kNoPickleValue;  ///< argument of BUILD, for a call or object
  std::uint32_t offset = 0;         ///< offset of the value's opcode in the pickle
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text;  ///< a part of the pickle
  std::vector<PickleId> items;
};

/// Values may share others and may even contain themselves: walks must count visits. No destructor or copy follows such
/// a reference.
struct PickleValues {
  std::vector<PickleValue> values;
  PickleId root = kNoPickleValue;

  const PickleValue& operator[](PickleId id) const { return values[id]; }
};

/// Name of a kind for messages: "a tuple".
const char* name_of(PickleValue::Kind kind);

}  // namespace tern::pt2
