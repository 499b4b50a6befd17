// A parsed PTX module: made by the parser, read by the translation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tern::emulated {

enum class OperandKind {
  kName,     // a register, a label, a variable or a function
  kInteger,  // bits
  kFloat,    // bits, of float_width
  kVector,   // {a, b}
  kAddress,  // [name + offset]: items[0], offset
  kList,     // (a, b), of a call
  kPair,     // a|b
  kSink,     // _
};

struct Operand {
  OperandKind kind = OperandKind::kSink;
  std::string name;
  bool negated = false;  // !name
  std::uint64_t bits = 0;
  int float_width = 0;
  std::int64_t offset = 0;
  std::vector<Operand> items;
};

struct Instruction {
  int line = 0;
  std::string guard;  // a predicate register, or none
  bool guard_negated = false;
  std::string opcode;
  std::vector<std::string> qualifiers;  // without dots
  std::vector<Operand> operands;
  std::string text() const;  // the opcode with its qualifiers
};

// A value of an initializer: a number, or the address of a symbol plus bits.
struct Initial {
  std::string symbol;
  std::uint64_t bits = 0;
  int float_width = 0;
};

struct Variable {
  int line = 0;
  std::string space;  // global, const, shared, local, param
  std::string type;   // b8, u64, f32, ...
  std::string name;
  int align = 0;  // 0: the type's
  std::uint64_t count = 1;
  bool is_array = false;
  bool is_extern = false;
  std::vector<Initial> initial;
};

struct Registers {
  std::string type;
  std::string name;  // including % if present
  int count = -1;    // -1: only the name; else name0 ... name(count - 1)
};

struct Statement;

struct Scope {
  std::vector<Registers> registers;
  std::vector<Variable> variables;
  std::vector<Statement> statements;
};

enum class StatementKind { kInstruction, kLabel, kScope, kTargets };

struct Statement {
  StatementKind kind;
  int line = 0;
  Instruction instruction;
  std::string label;                 // kLabel, kTargets
  std::vector<std::string> targets;  // of brx.idx
  std::unique_ptr<Scope> scope;
};

struct Function {
  int line = 0;
  bool is_entry = false;
  bool has_body = false;
  std::string name;
  std::vector<Variable> results, parameters;
  std::uint64_t most_threads = 0;  // product of .maxntid or .reqntid; 0: none
  Scope body;
};

struct Module {
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

}  // namespace tern::emulated
