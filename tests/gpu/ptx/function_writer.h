// Writes the C of a PTX function: its registers and variables by scope, values of operands, and assignments.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/gpu/ptx/module.h"
#include "tests/gpu/ptx/symbols.h"
#include "tests/gpu/ptx/translate.h"
#include "tests/gpu/ptx/types.h"

namespace tern::emulated {

class FunctionWriter {
 public:
  FunctionWriter(const Function& function, const Symbols& symbols, std::uint64_t shared_start, Counts counts);

  // The C definition.
  std::string write();

  // ---- For the handlers of instructions ----
  [[noreturn]] void fail(const std::string& what) const;
  int line() const { return instruction_->line; }
  // The value of an operand, of the C type of `type`.
  std::string value(const Operand& operand, const Type& type);
  std::string predicate(const Operand& operand) { return value(operand, type_named("pred")); }
  // An assignment to a register, or to none for `_`.
  void assign(const Operand& to, const Type& type, const std::string& value);
  // The address of `[...]`, a u64.
  std::string address(const Operand& operand);
  // A char* for an access of `bytes` bytes: "(at(...) + offset)". An empty space means generic. Counting kernels count
  // the access.
  std::string membership(std::string_view space, const Operand& operand, int bytes);
  void statement(const std::string& c);
  // "T, line": the first arguments of most functions of the device's library.
  std::string where() const;
  // A name of a local variable of this instruction.
  std::string temporary();
  std::string label(const std::string& name);
  const std::vector<std::string>& targets(const std::string& name);
  const Symbols& symbols() const { return symbols_; }
  const Function& function() const { return function_; }
  void note_groups() { uses_groups_ = true; }
  // The carry flag, a variable of the function, is used.
  void note_carry() { uses_carry_ = true; }
  void note_call(const std::string& name) { calls_.insert(name); }
  // Addresses of .param variables are not checked.
  std::string symbol_address(const std::string& name);

  // ---- After write() ----
  bool uses_groups() const { return uses_groups_; }
  const std::set<std::string>& calls() const { return calls_; }
  std::uint64_t shared_end() const { return shared_.end(); }

 private:
  struct Register {
    std::string name;  // in C
    const Type* type;
  };
  struct Level {  // an open scope of PTX
    int number;
    std::vector<const Registers*> registers;
    std::map<std::string, Symbol, std::less<>> variables;
    std::set<std::string, std::less<>> labels;
    std::map<std::string, std::vector<std::string>, std::less<>> targets;
  };

  void open(const Scope& scope);
  void write_scope(const Scope& scope);
  void write_instruction(const Instruction& instruction);
  void declare(const Variable& variable, Level& level);
  // Null type if the name is no register.
  Register find_register(std::string_view name) const;
  const Symbol* find_variable(std::string_view name) const;

  const Function& function_;
  const Symbols& symbols_;
  const Counts counts_;
  Layout shared_;
  std::uint64_t local_bytes_ = 0;
  std::vector<Level> levels_;
  int scopes_ = 0;
  int temporaries_ = 0;
  bool uses_groups_ = false, uses_carry_ = false;
  std::set<std::string> calls_;
  const Instruction* instruction_ = nullptr;
  std::string declarations_, body_;
};

}  // namespace tern::emulated
