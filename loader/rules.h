// Stages of validate() and their reports. Internal to the loader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loader/findings.h"
#include "loader/validate.h"
#include "schema/program.h"

namespace tern {

/// A program under validation, with its findings.
struct Checked {
  const Program& program;
  Findings& findings;
  const ProgramOffsets& offsets;

  void state(const char* rule, std::size_t i, std::string message) const;
  void function(const char* rule, std::size_t f, std::string message) const;
  void input(const char* rule, std::size_t f, std::size_t i, std::string message) const;
  void output(const char* rule, std::size_t f, std::size_t i, std::string message) const;
  void writeback(const char* rule, std::size_t f, std::size_t i, std::string message) const;
  void node(const char* rule, std::size_t f, std::size_t i, std::string message,
            ErrorCode code = ErrorCode::bad_file) const;
};

/// Checks the types of single values: impossible sizes, MX blocks. Empty if correct.
std::string check_type(const TensorType& type);

void check_states(const Checked& c);     ///< views inside their storages, ties, names
void check_functions(const Checked& c);  ///< values in range, defined once and before use; attributes; versions
void check_calls(const Checked& c);      ///< no cycles, limited depth and size
void check_symbols(const Checked& c);    ///< symbols have a value before use
void check_types(const Checked& c);      ///< declared types agree with the shape rules

/// True if result `k` of the node may be absent (-1 in the file).
bool may_be_absent(const Node& node, std::size_t k);

}  // namespace tern
