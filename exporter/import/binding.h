// Meaning of a traced graph's name during import.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "exporter/import/aliases.h"
#include "exporter/subclasses/quantized_tensor.h"

namespace tern::importing {

struct Binding {
  enum class Kind : std::uint8_t {
    none,       ///< a None or a token
    tensor,     ///< ref
    integer,    ///< dim
    boolean,    ///< dim: 0 or 1
    real,       ///< value, a float64 tensor of no dimensions; or `number` if value is kNoValue
    object,     ///< a custom object; text is its class
    text,       ///< a literal
    quantized,  ///< quantized: a tensor subclass
  };
  Kind kind = Kind::none;
  RefId ref = -1;
  Dim dim;
  double number = 0;
  ValueId value = kNoValue;
  std::string text;
  std::shared_ptr<QuantizedTensor> quantized;

  static Binding tensor(RefId ref) {
    Binding b;
    b.kind = Kind::tensor;
    b.ref = ref;
    return b;
  }
  static Binding integer(Dim d) {
    Binding b;
    b.kind = Kind::integer;
    b.dim = d;
    return b;
  }
  static Binding boolean(Dim d) {
    Binding b;
    b.kind = Kind::boolean;
    b.dim = d;
    return b;
  }
  static Binding real(double number) {
    Binding b;
    b.kind = Kind::real;
    b.number = number;
    return b;
  }
  static Binding real_value(ValueId value) {
    Binding b;
    b.kind = Kind::real;
    b.value = value;
    return b;
  }
  static Binding quantized_tensor(std::shared_ptr<QuantizedTensor> t) {
    Binding b;
    b.kind = Kind::quantized;
    b.quantized = std::move(t);
    return b;
  }
  bool is_dim() const { return kind == Kind::integer || kind == Kind::boolean; }
};

using Bindings = std::map<std::string, Binding, std::less<>>;

}  // namespace tern::importing
