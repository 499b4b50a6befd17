#include "tests/gpu/ptx/function_writer.h"

#include <cstdio>
#include <cstring>

#include "tests/gpu/ptx/counts.h"
#include "tests/gpu/ptx/decoder.h"
#include "tests/gpu/ptx/error.h"
#include "tests/gpu/ptx/handlers.h"
#include "tests/gpu/ptx/special_registers.h"

namespace tern::emulated {
namespace {

// A fiber's stack is 256 KiB; this leaves room for registers and calls.
constexpr std::uint64_t kMostLocalBytes = 128 << 10;

std::string hex(std::uint64_t bits) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llxull", static_cast<unsigned long long>(bits));
  return text;
}

std::string cast(std::string_view type, const std::string& value) {
  return "((" + std::string(type) + ")" + value + ")";
}

// A value of `type` from bits of any wider unsigned type.
std::string from_bits(const Type& type, const std::string& bits) {
  if (type.name == "f32") return "f32_of((u32)" + bits + ")";
  if (type.name == "f64") return "f64_of((u64)" + bits + ")";
  return cast(type.c, bits);
}

// Converts a float constant to another width.
std::uint64_t converted(std::uint64_t bits, int from, int to) {
  if (from == to) return bits;
  float single;
  double twice;
  if (from == 64) {
    std::memcpy(&twice, &bits, sizeof twice);
    single = static_cast<float>(twice);
    std::uint32_t narrow;
    std::memcpy(&narrow, &single, sizeof narrow);
    return narrow;
  }
  const auto narrow = static_cast<std::uint32_t>(bits);
  std::memcpy(&single, &narrow, sizeof single);
  twice = single;
  std::memcpy(&bits, &twice, sizeof bits);
  return bits;
}

}  // namespace

FunctionWriter::FunctionWriter(const Function& function, const Symbols& symbols, std::uint64_t shared_start,
                               Counts counts)
    : function_(function), symbols_(symbols), counts_(counts), shared_(shared_start) {}

void FunctionWriter::fail(const std::string& what) const {
  if (!instruction_) throw TranslationError(function_.line, what + ", in '" + function_.name + "'");
  throw TranslationError(instruction_->line, what + ": '" + instruction_->text() + "'");
}

std::string FunctionWriter::write() {
  std::string head = "static void " + c_name("f_", function_.name) + "(tern_thread* T";
  Level parameters{scopes_++, {}, {}, {}, {}};
  if (function_.is_entry) {
    Layout layout;
    for (const Variable& parameter : function_.parameters) {
      parameters.variables[parameter.name] = {"param",
                                              "((u64)T->parameters + " + std::to_string(layout.place(parameter)) + ")"};
    }
  } else {
    for (const auto* all : {&function_.results, &function_.parameters}) {
      for (const Variable& parameter : *all) {
        const std::string name = c_name("p_", parameter.name);
        head += ", char* " + name;
        parameters.variables[parameter.name] = {"param", "(u64)" + name};
      }
    }
  }
  levels_.push_back(std::move(parameters));
  write_scope(function_.body);
  if (local_bytes_ > kMostLocalBytes) {
    instruction_ = nullptr;
    fail(".local variables of " + std::to_string(local_bytes_) + " bytes are more than " +
         std::to_string(kMostLocalBytes));
  }
  return head + ") {\n" + (uses_carry_ ? "u32 carry = 0;\n" : "") + declarations_ + body_ + "}\n";
}

void FunctionWriter::open(const Scope& scope) {
  Level level{scopes_++, {}, {}, {}, {}};
  for (const Registers& registers : scope.registers) level.registers.push_back(&registers);
  for (const Statement& statement : scope.statements) {
    if (statement.kind == StatementKind::kLabel) level.labels.insert(statement.label);
    if (statement.kind == StatementKind::kTargets) level.targets[statement.label] = statement.targets;
  }
  for (const Variable& variable : scope.variables) declare(variable, level);
  levels_.push_back(std::move(level));
  for (const Registers& registers : scope.registers) {
    const Type* type = find_type(registers.type);
    if (!type) throw TranslationError(function_.line, "unknown type '" + registers.type + "' of registers");
    const std::string prefix = c_name("r" + std::to_string(levels_.back().number) + "_", registers.name);
    declarations_ += std::string(unsigned_of(type->bits)) + " ";
    for (int i = 0; i < std::max(registers.count, 1); ++i) {
      declarations_ += (i ? ", " : "") + prefix + (registers.count < 0 ? "" : std::to_string(i)) + " = 0";
    }
    declarations_ += ";\n";
  }
}

void FunctionWriter::declare(const Variable& variable, Level& level) {
  if (variable.space == "shared") {
    if (variable.is_extern || (variable.is_array && variable.count == 0)) {
      level.variables[variable.name] = {"shared", "(u64)T->dynamic_shared"};
    } else {
      level.variables[variable.name] = {"shared", std::to_string(shared_.place(variable)) + "ull"};
    }
  } else if (variable.space == "local" || variable.space == "param") {
    const std::string name = c_name("v" + std::to_string(level.number) + "_", variable.name);
    const std::string size = std::to_string(size_of(variable));
    local_bytes_ += size_of(variable);
    declarations_ += "char " + name + "[" + size + "] __attribute__((aligned(" +
                     std::to_string(std::max(alignment_of(variable), 8)) + ")));\n";
    // Makes reads of unwritten memory visible.
    declarations_ += "__builtin_memset(" + name + ", 0xa5, " + size + ");\n";
    level.variables[variable.name] = {variable.space, "(u64)" + name};
  } else {
    throw TranslationError(variable.line,
                           "a variable of '" + variable.space + "' in a function: '" + variable.name + "'");
  }
}

void FunctionWriter::write_scope(const Scope& scope) {
  open(scope);
  for (const Statement& statement : scope.statements) {
    switch (statement.kind) {
      case StatementKind::kInstruction: write_instruction(statement.instruction); break;
      case StatementKind::kLabel: body_ += label(statement.label) + ":;\n"; break;
      case StatementKind::kScope: write_scope(*statement.scope); break;
      case StatementKind::kTargets: break;
    }
  }
  levels_.pop_back();
}

void FunctionWriter::write_instruction(const Instruction& instruction) {
  instruction_ = &instruction;
  if (!instruction.guard.empty()) {
    Operand guard;
    guard.kind = OperandKind::kName;
    guard.name = instruction.guard;
    guard.negated = instruction.guard_negated;
    body_ += "if (" + predicate(guard) + ") ";
  }
  body_ += "{";
  if (counts_ == Counts::on) body_ += count_operations(instruction);
  Decoder decoder(instruction, *this);
  handle(decoder, *this);
  decoder.finish();
  body_ += " }\n";
}

FunctionWriter::Register FunctionWriter::find_register(std::string_view name) const {
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    for (const Registers* registers : level->registers) {
      bool found = name == registers->name;
      if (registers->count >= 0) {
        const std::string_view base = registers->name;
        found = name.size() > base.size() && name.substr(0, base.size()) == base;
        const std::string digits(found ? name.substr(base.size()) : "");
        found = found && digits.find_first_not_of("0123456789") == std::string::npos &&
                std::strtol(digits.c_str(), nullptr, 10) < registers->count;
      }
      if (found) return {c_name("r" + std::to_string(level->number) + "_", name), find_type(registers->type)};
    }
  }
  return {"", nullptr};
}

const Symbol* FunctionWriter::find_variable(std::string_view name) const {
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    const auto found = level->variables.find(name);
    if (found != level->variables.end()) return &found->second;
  }
  const auto found = symbols_.variables.find(name);
  return found == symbols_.variables.end() ? nullptr : &found->second;
}

std::string FunctionWriter::symbol_address(const std::string& name) {
  const Symbol* symbol = find_variable(name);
  if (!symbol) fail("unknown name '" + name + "'");
  return symbol->address;
}

std::string FunctionWriter::value(const Operand& operand, const Type& type) {
  switch (operand.kind) {
    case OperandKind::kInteger:
      if (type.kind == TypeKind::kPredicate) return operand.bits ? "1" : "0";
      if (type.kind == TypeKind::kFloat || type.kind == TypeKind::kFormat) fail("an integer constant as a float");
      return cast(type.c, hex(operand.bits));
    case OperandKind::kFloat:
      if (type.kind == TypeKind::kFloat) {
        return from_bits(type, hex(converted(operand.bits, operand.float_width, type.bits)));
      }
      if (type.bits != operand.float_width || type.kind != TypeKind::kBits) fail("a float constant of another type");
      return cast(type.c, hex(operand.bits));
    case OperandKind::kName: break;
    default: fail("an operand is not a value");
  }
  const Register found = find_register(operand.name);
  if (!found.type) {
    if (operand.negated) fail("'!' before what is no predicate");
    const std::string special = special_register(operand.name, type.bits);
    if (!special.empty()) return cast(type.c, special);
    if (operand.name[0] == '%' && operand.name.size() > 1) fail("unknown register '" + operand.name + "'");
    if (type.bits < 32) fail("an address as a value of " + std::to_string(type.bits) + " bits");
    return cast(type.c, "(" + symbol_address(operand.name) + " + " + std::to_string(operand.offset) + ")");
  }
  if ((found.type->kind == TypeKind::kPredicate) != (type.kind == TypeKind::kPredicate)) {
    fail("'" + operand.name + "' is of type " + std::string(found.type->name) + ", not " + std::string(type.name));
  }
  if (type.kind == TypeKind::kPredicate) return (operand.negated ? "!" : "") + found.name;
  if (operand.negated) fail("'!' before what is no predicate");
  if (found.type->bits < type.bits) fail("'" + operand.name + "' is narrower than " + std::string(type.name));
  return from_bits(type, found.name);
}

void FunctionWriter::assign(const Operand& to, const Type& type, const std::string& value) {
  if (to.kind == OperandKind::kSink) return statement("(void)(" + value + ");");
  const Register found = to.kind == OperandKind::kName ? find_register(to.name) : Register{"", nullptr};
  if (!found.type) fail("the result" + (to.name.empty() ? "" : " '" + to.name + "'") + " is no register");
  if ((found.type->kind == TypeKind::kPredicate) != (type.kind == TypeKind::kPredicate) ||
      found.type->bits < type.bits) {
    fail("'" + to.name + "' of type " + std::string(found.type->name) + " cannot take " + std::string(type.name));
  }
  std::string bits = value;
  if (type.kind == TypeKind::kPredicate) bits = "(" + value + ") != 0";
  if (type.kind == TypeKind::kFloat) bits = "bits_" + std::string(type.name) + "(" + value + ")";
  // "Signed values are sign-extended to the width of the register, others zero-extended."
  if (type.kind == TypeKind::kSigned && found.type->bits > type.bits) {
    bits = "(s" + std::to_string(found.type->bits) + ")(" + value + ")";
  }
  statement(found.name + " = " + bits + ";");
}

std::string FunctionWriter::address(const Operand& operand) {
  if (operand.kind != OperandKind::kAddress) fail("an operand is not an address");
  const Operand& base = operand.items.at(0);
  std::string text;
  if (base.kind == OperandKind::kInteger) {
    text = hex(base.bits);
  } else if (base.kind != OperandKind::kName) {
    fail("an address of another kind than a name plus a number");
  } else if (const Register found = find_register(base.name); found.type) {
    text = "(u64)" + found.name;
  } else {
    text = symbol_address(base.name);
  }
  const std::int64_t offset = operand.offset + base.offset;
  return offset == 0 ? text : text + " + " + hex(static_cast<std::uint64_t>(offset));
}

std::string FunctionWriter::membership(std::string_view space, const Operand& operand, int bytes) {
  const std::string at = address(operand);
  if (space == "param") return "(char*)(" + at + ")";
  const std::string size = std::to_string(bytes);
  // A shared address may be a register of 32 bits and wraps around.
  const std::string place =
      space == "shared"
          ? "at_shared(" + where() + ", (u32)(" + at + "), " + size + ")"
          : "at(" + where() + ", \"" + std::string(space.empty() ? "generic" : space) + "\", " + at + ", " + size + ")";
  // Constants are read by a cache of their own.
  if (counts_ == Counts::off || space == "const") return place;
  return "counted(" + where() + ", " + std::string(access_kind(*instruction_)) + ", " + place + ", " + size + ")";
}

void FunctionWriter::statement(const std::string& c) {
  body_ += " " + c;
}

std::string FunctionWriter::where() const {
  return "T, " + std::to_string(line());
}

std::string FunctionWriter::temporary() {
  return "t" + std::to_string(temporaries_++);
}

std::string FunctionWriter::label(const std::string& name) {
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    if (level->labels.contains(name)) return c_name("L" + std::to_string(level->number) + "_", name);
  }
  fail("unknown label '" + name + "'");
}

const std::vector<std::string>& FunctionWriter::targets(const std::string& name) {
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    const auto found = level->targets.find(name);
    if (found != level->targets.end()) return found->second;
  }
  fail("unknown list of targets '" + name + "'");
}

}  // namespace tern::emulated
