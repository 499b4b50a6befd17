// Optimizer steps.
#include "schema/optim.h"

#include <fmt/format.h>

#include <array>
#include <tuple>

#include "dtypes/state_codes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "schema/pointwise.h"

namespace tern::portable {
namespace {

// A tensor with an element per parameter element: the names of the operand and of the result in the text.
struct OptimTensorNames {
  OptimList list;
  const char *name, *has_macro, *out;
};
constexpr OptimTensorNames kTensors[] = {{OptimList::param, "param", "HAS_PARAM", "OUT_PARAM"},
                                         {OptimList::grad, "grad", "HAS_GRAD", "OUT_GRAD"},
                                         {OptimList::m, "m", "HAS_M", "OUT_M"},
                                         {OptimList::v, "v", "HAS_V", "OUT_V"},
                                         {OptimList::third, "vmax", "HAS_VMAX", "OUT_VMAX"},
                                         {OptimList::master, "master", "HAS_MASTER", "OUT_MASTER"}};
// Tensors with an element per block, for states of 8 bits.
constexpr OptimTensorNames kScales[] = {{OptimList::m_scale, "m_scale", "HAS_M_SCALE", "OUT_M_SCALE"},
                                        {OptimList::v_scale, "v_scale", "HAS_V_SCALE", "OUT_V_SCALE"},
                                        {OptimList::third_scale, "vmax_scale", "HAS_VMAX_SCALE", "OUT_VMAX_SCALE"}};
// Operands with a single number.
constexpr OptimTensorNames kScalars[] = {{OptimList::step, "steps", "HAS_STEP", "LOAD_STEP"},
                                         {OptimList::lr, "lr", "HAS_LR", "LOAD_LR"},
                                         {OptimList::grad_scale, "scale", "HAS_SCALE", "LOAD_SCALE"},
                                         {OptimList::found_inf, "inf", "HAS_INF", "LOAD_INF"},
                                         {OptimList::product, "product", "HAS_PRODUCT", "LOAD_PRODUCT"}};
constexpr std::array kHyper{"lr", "a", "b", "weight_decay", "eps", "c"};
constexpr std::uint64_t kSettings = 6;  // numbers computed by text/optim_settings.inc

/// The search trees of codes for the text: values and bounds of the signed code, then of the unsigned code.
std::size_t add_code_tables(Launches& list) {
  std::vector<float> all;
  for (const bool is_signed : {true, false}) {
    const StateCodes& codes = state_codes(is_signed);
    all.insert(all.end(), codes.values.begin(), codes.values.end());
    all.insert(all.end(), codes.bounds.begin(), codes.bounds.end());
  }
  return list.table(std::as_bytes(std::span(all)));
}

/// A node being converted to launches.
struct OptimLaunches {
  const KernelCall& c;
  Launches& list;
  OptimLayout layout{*c.node};
  std::size_t codes = layout.coded() ? add_code_tables(list) : 0;  ///< number in Launches::table
  DType scalar = list.target().has_double ? DType::f64 : DType::f32;

  void declare_hyper(Launch& k) const {
    const std::vector<double>& h = c.node->numbers(AttrKey::hyper);
    for (std::size_t i = 0; i < kHyper.size(); ++i) k.source.parameter(kHyper[i], scalar, i < h.size() ? h[i] : 0);
  }
  std::int64_t mode(std::int64_t bit) const { return (c.node->integer(AttrKey::mode) & bit) != 0 ? 1 : 0; }
  /// Elements of an item: elements sharing a scale.
  std::int64_t together() const { return layout.coded() ? kStateBlock : 1; }
  std::vector<OptimTensorNames> tensors() const {
    std::vector<OptimTensorNames> all(std::begin(kTensors), std::end(kTensors));
    if (layout.coded()) all.insert(all.end(), std::begin(kScales), std::end(kScales));
    return all;
  }
};

/// The settings of parameter `i`; advances step and product if the node does.
void add_settings(const OptimLaunches& s, std::size_t i, std::uint64_t settings) {
  Launch k("optim_settings");
  k.type("SCALAR_T", s.scalar);
  k.source.math("SCALAR_MATH", s.scalar);
  k.source.choice("KIND", s.c.node->integer(AttrKey::kind));
  k.source.choice("ADVANCE", s.mode(kOptimAdvance));
  for (const OptimTensorNames& part : kScalars) {
    const bool given = s.layout.has(part.list);
    const std::size_t operand = given ? s.layout.operand(part.list, i) : 0;
    const DType t = given ? s.c.in[operand].dtype : s.scalar;
    k.optional_input(part.has_macro, part.name, operand, t, given);
    k.load(part.out, t, s.scalar);
  }
  for (const auto& [list, out, store, name] :
       {std::tuple{OptimList::step, "OUT_STEP", "STORE_STEP", "out_step"},
        std::tuple{OptimList::product, "OUT_PRODUCT", "STORE_PRODUCT", "out_product"}}) {
    const bool given = s.layout.is_result(list);
    const std::size_t result = given ? s.layout.result(list, i) : 0;
    const DType t = given ? s.c.in[s.layout.operand(list, i)].dtype : s.scalar;
    k.optional_output(out, name, result, t, given && s.c.wants_output(result));
    k.store(store, s.scalar, t);
  }
  k.scratch("settings", settings, s.scalar, true);
  s.declare_hyper(k);
  s.list.add(std::move(k), 1);
}

/// A launch over the elements of some parameters.
class OptimElementLaunch {
 public:
  OptimElementLaunch(const OptimLaunches& s, std::size_t first, std::size_t count)
      : s_(s), first_(first), count_(count) {}

  void add(std::uint64_t settings, bool shared_settings) {
    declare_types();
    declare_choices();
    const bool one = count_ == 1, coded = s_.layout.coded();
    k_.source.define("PLACE(name)", !one ? "place" : coded ? "at_##name(place, &p)" : "at_##name(i, &p)");
    k_.source.define("OUT_PLACE", one && !coded ? "i" : "place");
    if (coded) k_.source.define("SCALE_PLACE(name)", one ? "at_##name(block, &p)" : "block");
    k_.source.define("SETTING(k)",
                     one || shared_settings ? "settings[k]" : fmt::format("settings[parameter * {} + k]", kSettings));
    one ? declare_one() : declare_list();
    k_.scratch("settings", settings, s_.scalar, false);
    if (coded) k_.table("codes", s_.codes, DType::f32);
    s_.declare_hyper(k_);
    std::int64_t items = 0;
    for (std::size_t i = 0; i < count_; ++i) items += param(i).numel() / s_.together();
    k_.parameter("count", items);
    s_.list.add(std::move(k_), items);
  }

 private:
  const TensorView& operand(OptimList list, std::size_t i) const {
    return s_.c.in[s_.layout.operand(list, first_ + i)];
  }
  const TensorView& param(std::size_t i) const { return operand(OptimList::param, i); }
  /// Element type of a list's tensors, present or not.
  DType dtype(OptimList list) const {
    if (s_.layout.has(list)) return operand(list, 0).dtype;
    if (is_scales(list)) return DType::f32;
    if (list == OptimList::master) return compute_type(param(0).dtype);
    const OptimList state = s_.layout.has(OptimList::m) ? OptimList::m : OptimList::v;
    return list != OptimList::grad && s_.layout.has(state) ? operand(state, 0).dtype : param(0).dtype;
  }
  bool wants_result(OptimList list, std::size_t i) const {
    return s_.layout.is_result(list) && s_.c.wants_output(s_.layout.result(list, first_ + i));
  }

  void declare_types() {
    const DType t = compute_type(param(0).dtype);
    k_.type("T", t);
    constexpr std::pair<OptimList, const char*> kNames[] = {{OptimList::param, ""},
                                                            {OptimList::grad, "_GRAD"},
                                                            {OptimList::m, "_M"},
                                                            {OptimList::v, "_V"},
                                                            {OptimList::third, "_VMAX"}};
    for (const auto& [list, name] : kNames) {
      if (s_.layout.coded() && list > OptimList::grad) continue;
      k_.load(std::string("LOAD") + name, dtype(list), t);
      k_.store(std::string("STORE") + name, t, dtype(list));
    }
  }
  void declare_choices() {
    const auto kind = s_.layout.kind;
    k_.source.define("KIND", static_cast<std::int64_t>(kind == OptimKind::adamw ? OptimKind::adam : kind));
    k_.source.choice("DECOUPLED", kind == OptimKind::adamw ? 1 : s_.mode(kOptimDecoupled));
    k_.source.choice("NESTEROV", s_.mode(kOptimNesterov));
    k_.source.choice("FIRST", s_.mode(kOptimFirst));
    k_.source.choice("MAXIMIZE", s_.c.node->integer(AttrKey::maximize) != 0 ? 1 : 0);
    k_.source.choice("SCALED", s_.layout.has(OptimList::grad_scale) ? 1 : 0);
    k_.source.define("CODED", s_.layout.coded() ? 1 : 0);
    if (!s_.layout.coded()) return;
    k_.source.define("BLOCK", kStateBlock);
    const OptimRecord& record = optim_record(kind);
    constexpr std::array kTrees{"TREE_M", "TREE_V", "TREE_VMAX"};
    for (std::size_t k = 0; k < kTrees.size(); ++k)
      k_.source.define(kTrees[k], record.code(kOptimCoded[k]) == 's' ? 0 : std::int64_t{2 * 256});
  }
  void declare_one() {
    k_.source.define("LOCATE", s_.layout.coded() ? "const tern_i64 block = i;" : "");
    for (const OptimTensorNames& part : s_.tensors()) {
      const bool given = s_.layout.has(part.list);
      k_.optional_input(part.has_macro, part.name, given ? s_.layout.operand(part.list, first_) : 0, dtype(part.list),
                        given);
      k_.source.view(part.name, given ? operand(part.list, 0) : param(0));
      const std::size_t result = s_.layout.is_result(part.list) ? s_.layout.result(part.list, first_) : 0;
      k_.optional_output(part.out, std::string("out_") + part.name, result, dtype(part.list),
                         wants_result(part.list, 0));
    }
  }
  /// Pointers to the tensors of an item's parameter.
  void declare_list() {
    std::vector<std::int64_t> starts;
    std::int64_t start = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      starts.push_back(start);
      start += param(i).numel() / s_.together();
    }
    k_.source.parameter("starts", std::span<const std::int64_t>(starts));
    std::string locate = "tern_i64 parameter = 0;";
    for (std::size_t i = 1; i < count_; ++i) locate += fmt::format(" if (i >= p.starts[{0}]) parameter = {0};", i);
    locate += fmt::format(" const tern_i64 {} = i - p.starts[parameter];", s_.layout.coded() ? "block" : "place");
    for (const OptimTensorNames& part : s_.tensors()) {
      const bool given = s_.layout.has(part.list), wanted = wants_result(part.list, 0);
      k_.source.choice(part.has_macro, given ? 1 : 0);
      k_.source.choice(part.out, wanted ? 1 : 0);
      locate += pointer(part, given, false) + pointer(part, wanted, true);
    }
    k_.source.define("LOCATE", locate);
  }
  std::string pointer(const OptimTensorNames& part, bool there, bool result) {
    const std::string name = std::string(result ? "out_" : "") + part.name;
    const DType t = dtype(part.list);
    std::string chosen;
    for (std::size_t i = 0; there && i < count_; ++i) {
      const std::string one = fmt::format("{}_{}", name, i);
      result ? k_.output(one, s_.layout.result(part.list, first_ + i), t)
             : k_.input(one, s_.layout.operand(part.list, first_ + i), t);
      chosen += i + 1 == count_ ? one : fmt::format("parameter == {} ? {} : ", i, one);
    }
    return fmt::format(" TERN_GLOBAL {}{}* {} = {};", result ? "" : "const ", c_type(t), name, there ? chosen : "0");
  }

  const OptimLaunches& s_;
  std::size_t first_, count_;
  Launch k_{"optim"};
};

/// Largest number of arguments of a launch beside the settings and the parameters.
std::size_t most_arguments(const Target& target) {
  return target.dialect == Dialect::metal ? 29 : 62;
}

/// True if parameter `i` can share a launch: contiguous tensors, and the same wanted results.
bool joins(const OptimLaunches& s, std::size_t first, std::size_t i) {
  for (const OptimTensorNames& part : s.tensors()) {
    if (s.layout.has(part.list) && !s.c.in[s.layout.operand(part.list, i)].contiguous()) return false;
    if (!s.layout.is_result(part.list)) continue;
    if (s.c.wants_output(s.layout.result(part.list, i)) != s.c.wants_output(s.layout.result(part.list, first)))
      return false;
  }
  return true;
}

/// Parameters sharing a step share the settings, computed before the step advances. Parameters also share launches up
/// to the argument limit; texts compiled beforehand have a launch each.
void optim(const KernelCall& c, Launches& list) {
  const OptimLaunches s{c, list};
  const bool shared = s.layout.count(OptimList::step) <= 1;
  const std::size_t rows = shared ? 1 : s.layout.params();
  const std::uint64_t bytes = kSettings * static_cast<std::uint64_t>(element_size(s.scalar));
  const std::uint64_t settings = list.scratch(rows * bytes);
  for (std::size_t i = 0; i < rows; ++i) add_settings(s, i, settings + i * bytes);
  std::size_t each = 0;
  for (const OptimTensorNames& part : s.tensors())
    each += (s.layout.has(part.list) ? 1 : 0) + (s.layout.is_result(part.list) ? 1 : 0);
  const std::size_t room = most_arguments(list.target()) - (s.layout.coded() ? 1 : 0);
  const std::size_t most = list.target().any_strides ? 1 : room / each;
  for (std::size_t i = 0; i < s.layout.params();) {
    std::size_t count = 1;
    while (count < most && i + count < s.layout.params() && joins(s, i, i) && joins(s, i, i + count)) ++count;
    OptimElementLaunch(s, i, count).add(settings + (shared ? 0 : i * bytes), shared);
    i += count;
  }
}

int updated_input(const Node& node, std::size_t output) {
  return OptimLayout(node).updated(output);
}

constexpr std::string_view kOptimSamples[] = {
    "T=f32|f64: T[4], T[4], T[4], -, -, -, -, -, -; kind=sgd, hyper=[0.1,0,0,0,1e-8]",
    "T=f32|f64: T[4], T[4], T[4], T[4], -, f64[], -, -, -; kind=adam, hyper=[0.1,0.9,0.99,0,1e-8]",
    "T=f32|f64: T[4], T[4], -, T[4], -, f64[], -, -, -; kind=adagrad, hyper=[0.1,0,0,0,1e-8]",
    "T=f32|f64: T[4], T[4], T[4], T[4], T[4]; kind=rmsprop, hyper=[0.1,0.9,0.9,0,1e-8]",
    "T=f32|f64: T[4], T[4], T[4], T[4]; kind=adadelta, hyper=[0.1,0.9,0,0,1e-6]",
    "T=f32|f64: T[4], T[4], T[4], T[4], -, f64[]; kind=adamax|radam, hyper=[0.1,0.9,0.99,0,1e-8]",
    "T=f32|f64: T[4], T[4], T[4], T[4], -, f64[], -, -, -, -, f64[]; kind=nadam, hyper=[0.1,0.9,0.99,0,1e-8,0.004]",
    "T=f32|f64: T[4], T[4], T[4], -, -, f64[]; kind=asgd, hyper=[0.1,0.1,0.75,0,1000000]",
    "T=f32|f64: T[4], T[4], T[4], T[4]; kind=rprop, hyper=[0,0.5,1.2,0,1e-6,50]",
    "T=f32|f64: T[4], T[4], T[4]; kind=lion, hyper=[0.1,0.9,0.99,0,0]",
    "f32[256], f32[256], u8[256], -, -, -, -, -, -, -, -, f32[1]; kind=sgd, hyper=[0.1,0.9,0,0,0]",
    "f32[256], f32[256], u8[256], u8[256], -, f64[], -, -, -, -, -, f32[1], f32[1]; kind=adam|adamax|radam, "
    "hyper=[0.1,0.9,0.99,0,1e-8]",
    "f32[256], f32[256], -, u8[256], -, f64[], -, -, -, -, -, -, f32[1]; kind=adagrad, hyper=[0.1,0,0,0,1e-8]",
    "f32[256], f32[256], u8[256], u8[256], -, -, -, -, -, -, -, f32[1], f32[1]; kind=rmsprop, "
    "hyper=[0.1,0.9,0.9,0,1e-8]",
    "f32[256], f32[256], u8[256], u8[256], -, f64[], -, -, -, -, f64[], f32[1], f32[1]; kind=nadam, "
    "hyper=[0.1,0.9,0.99,0,1e-8,0.004]",
    "f32[256], f32[256], u8[256], -, -, -, -, -, -, -, -, f32[1]; kind=lion, hyper=[0.1,0.9,0.99,0,0]",
};

/// Settings, single numbers, are doubles; scales are float32.
DType texts_type(const KernelCall& c, std::size_t operand) {
  const OptimLayout layout(*c.node);
  if (is_scales(layout.list_of(operand))) return DType::f32;
  return is_large(layout.list_of(operand)) ? text_type(c.in[operand].dtype, Sight::computed) : DType::f64;
}
DType input_type(const KernelCall& c, std::size_t k) {
  return texts_type(c, k);
}
DType output_type(const KernelCall& c, std::size_t k) {
  return texts_type(c, static_cast<std::size_t>(OptimLayout(*c.node).updated(k)));
}

}  // namespace

void define_optim(Definitions& d) {
  Kernel k = kernel<optim>();
  k.in_place_input = updated_input;
  d.set(Op::optim, k, {.samples = kOptimSamples, .input = input_type, .output = output_type});
}

}  // namespace tern::portable
