#include "exporter/import/guards.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "exporter/import/sym_expr.h"
#include "exporter/import/tree_names.h"
#include "exporter/pt2/guard.h"
#include "schema/work.h"

namespace tern::importing {
namespace {

using ArgumentKind = pt2::Argument::Kind;
using InputKind = pt2::InputSpec::Kind;

/// Longer relations are cut in messages.
constexpr std::size_t kMaxTextBytes = 400;
constexpr std::size_t kMaxShownSizes = 16;

std::set<std::string> symbols_of(const pt2::SymExpr& expr) {
  std::set<std::string> names;
  for (const pt2::SymNode& n : expr.nodes) {
    if (n.op == pt2::SymOp::symbol) names.insert(n.name);
  }
  return names;
}

class Guards {
 public:
  Guards(Scope& scope, const std::vector<std::string>& names) : scope_(scope), names_(names) {
    const pt2::Program& model = scope.shared().model;
    for (const pt2::InputSpec& spec : model.signature.inputs) {
      if (spec.kind == InputKind::user_input || spec.kind == InputKind::constant_input) inputs_.push_back(&spec);
    }
    const auto paths = input_paths(model);
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      positions_.emplace(paths.size() == inputs_.size() ? paths[i] : std::vector{names_[i]}, i);
  }

  void add(const std::string& text) {
    charge_work(text.size() * 8);
    try {
      const pt2::Guard guard =
          pt2::parse_guard(text, [this](const std::vector<std::string>& path) { return name_of(path); });
      assert_holds(guard);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::unsupported && e.code() != ErrorCode::bad_file) throw;
      scope_.shared().missing.add_guard(text, e.what());
    }
  }

 private:
  /// Index of the user's input at a path.
  std::optional<std::size_t> position_of(const std::vector<std::string>& path) const {
    const auto find_position = [this](const std::vector<std::string>& p) -> std::optional<std::size_t> {
      const auto found = positions_.find(p);
      return found == positions_.end() ? std::nullopt : std::optional(found->second);
    };
    if (const auto position = find_position(path)) return position;
    if (path.size() < 2) return std::nullopt;
    // Strict export counts the leaves of all arguments.
    if (path[0] == "flat_args" && path.size() == 2) {
      std::size_t number = 0;
      for (const char c : path[1]) {
        if (c < '0' || c > '9' || number > inputs_.size()) return std::nullopt;
        number = 10 * number + static_cast<std::size_t>(c - '0');
      }
      return number < inputs_.size() ? std::optional(number) : std::nullopt;
    }
    // The file names argument 0 of *args "args_0", and argument k of **kwargs "k".
    std::vector<std::string> inner(path.begin() + 1, path.end());
    if (const auto keyword = find_position(inner)) return keyword;
    inner[0] = path[0] + "_" + inner[0];
    return find_position(inner);
  }

  std::string name_of(const std::vector<std::string>& path) const {
    const auto position = position_of(path);
    if (position && *position < names_.size()) return names_[*position];
    return fmt::format("{}", fmt::join(path, "."));
  }

  const pt2::InputSpec& input_of(const pt2::GuardSource& source) const {
    const auto position = position_of(source.path);
    if (!position)
      fail(ErrorCode::unsupported, fmt::format("{} is not an input of the program", fmt::join(source.path, ".")));
    return *inputs_[*position];
  }

  Dim element(std::span<const pt2::SymInt> numbers, const pt2::GuardSource& source) {
    if (static_cast<std::size_t>(source.axis) >= numbers.size())
      fail(ErrorCode::unsupported, fmt::format("{}: the input has {} axes", source.text, numbers.size()));
    return scope_.symbols().dim(numbers[static_cast<std::size_t>(source.axis)]);
  }

  Dim dim_of(const pt2::GuardSource& source) {
    const pt2::Argument& arg = input_of(source).arg;
    const auto refuse = [&] {
      fail(ErrorCode::unsupported, fmt::format("{} is not an integer input of the program", source.text));
    };
    if (source.property == pt2::GuardSource::Property::value) {
      if (arg.kind == ArgumentKind::boolean) return arg.boolean ? 1 : 0;
      if (arg.kind == ArgumentKind::integer) return arg.integer;
      if (arg.kind != ArgumentKind::sym_int && arg.kind != ArgumentKind::sym_bool) refuse();
      const Binding b = scope_.binding_of(arg);
      if (!b.is_dim()) refuse();
      return b.dim;
    }
    const pt2::TensorMeta* meta =
        arg.kind == ArgumentKind::tensor ? scope_.shared().model.graph.tensor_values.find(arg.name) : nullptr;
    if (meta == nullptr) refuse();
    switch (source.property) {
      case pt2::GuardSource::Property::size: return element(meta->sizes, source);
      case pt2::GuardSource::Property::stride: return element(meta->strides, source);
      default: return scope_.symbols().dim(meta->storage_offset);
    }
  }

  void assert_holds(const pt2::Guard& guard) {
    Dims sources;
    for (const pt2::GuardSource& s : guard.sources) sources.push_back(dim_of(s));
    Dim condition;
    std::string reason;
    const auto source_at = [&](const pt2::SymNode& n) { return sources[static_cast<std::size_t>(n.value)]; };
    if (!to_dim(scope_.pool(), guard.expr, source_at, &condition, &reason, Quotients::doubles))
      fail(ErrorCode::unsupported, fmt::format("needs {}, which size expressions do not support", reason));
    scope_.symbols().require_shallow();
    const Interval range = scope_.pool().bounds(condition);
    if (range.min > 0 || range.max < 0) return;
    if (!condition.is_const() && !asserted_.insert(condition.index()).second) return;
    // Sizes fixed by export are omitted.
    Dims source_values;
    std::string names;
    for (std::size_t i = 0; i < sources.size() && source_values.size() < kMaxShownSizes; ++i) {
      if (sources[i].is_const()) continue;
      names += (source_values.empty() ? "" : "\n") + guard.sources[i].text;
      source_values.push_back(sources[i]);
    }
    std::string text = guard.text;
    if (text.size() > kMaxTextBytes) text.replace(kMaxTextBytes, std::string::npos, "...");
    scope_.builder().add_all(Op::assert_dim, {},
                             {attr(AttrKey::dim, condition), attr_text(AttrKey::text, text),
                              attr(AttrKey::sizes, source_values), attr_text(AttrKey::name, names)});
  }

  Scope& scope_;
  const std::vector<std::string>& names_;
  std::vector<const pt2::InputSpec*> inputs_;  ///< the user's, in order
  std::map<std::vector<std::string>, std::size_t> positions_;
  std::set<std::uint32_t> asserted_;  ///< nodes of the pool
};

}  // namespace

void pin_layouts(const pt2::Program& model, Symbols& symbols) {
  std::set<std::string> known_names;
  std::vector<const pt2::TensorMeta*> inputs;
  for (const pt2::InputSpec& spec : model.signature.inputs) {
    if (spec.kind != InputKind::user_input) continue;
    if (const auto* number = model.graph.sym_int_values.find(spec.arg.name); number != nullptr && !number->is_literal())
      known_names.merge(symbols_of(pt2::parse_sympy(number->expr)));
    const pt2::TensorMeta* meta = model.graph.tensor_values.find(spec.arg.name);
    if (meta == nullptr) continue;
    inputs.push_back(meta);
    for (const pt2::SymInt& size : meta->sizes) {
      if (!size.is_literal()) known_names.merge(symbols_of(pt2::parse_sympy(size.expr)));
    }
  }
  const auto pin = [&](const pt2::SymInt& number) {
    if (number.is_literal() || !number.hint) return;
    const pt2::SymExpr expr = pt2::parse_sympy(number.expr);
    if (expr.root().op == pt2::SymOp::symbol && !known_names.contains(expr.root().name))
      symbols.pin(expr.root().name, *number.hint);
  };
  for (const pt2::TensorMeta* meta : inputs) {
    std::ranges::for_each(meta->strides, pin);
    pin(meta->storage_offset);
  }
}

void add_guards(Scope& scope, const std::vector<std::string>& names) {
  const std::vector<std::string>& guards = scope.shared().model.guards_code;
  if (guards.empty()) return;
  Guards guard_importer(scope, names);
  for (const std::string& text : guards) guard_importer.add(text);
}

}  // namespace tern::importing
