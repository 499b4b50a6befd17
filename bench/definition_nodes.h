// Nodes of typical model sizes, one or more for each op with a native kernel beside its definition.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern::bench {

/// Contents of an operand.
enum class Fill : std::uint8_t {
  absent,
  normal,
  unit,      ///< 0 to 1
  sorted,    ///< ascending, 0 to 1
  definite,  ///< a hermitian matrix with a large diagonal
  places,    ///< integers from 0 to `below`
  offsets,   ///< ascending integers from 0 to `below`
  pivots,    ///< 1, 2, 3 ... along the last axis
};

struct Operand {
  Fill fill = Fill::absent;
  std::vector<std::int64_t> sizes;
  std::int64_t below = 0;
  DType dtype = DType::invalid;  ///< invalid: the row's
};

struct Row {
  Op op = Op::invalid;
  std::string name;
  std::vector<Operand> inputs;
  std::vector<Attr> attrs;
  std::vector<DType> types;  ///< a node for each type
};

const std::vector<Row>& rows();

}  // namespace tern::bench
