// random: the numbers of kernels/cpu/pointwise/random.cpp, bit for bit unless a function rounds. A block of the
// generator for each item.
#include <tern/error.h>

#include <cmath>

#include "kernels/below_one.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "kernels/random_threads.h"

namespace tern::portable {
namespace {

/// Partition of the session's stream for a tensor of `count` numbers.
struct PhiloxPartition {
  std::int64_t count, threads, unit, blocks;
  PhiloxPartition(std::int64_t n, std::int64_t per_block) : count(n), threads(random_threads(n)), unit(per_block) {
    blocks = n == 0 ? 0 : (n - 1) / (threads * unit) + 1;
  }
};

/// The launches, and the number of blocks added to the session's offset by a run.
struct RandomLaunches : Launches {
  using Launches::Launches;
  std::int64_t advance = 0;
};

/// Generation of a distribution: UNIT numbers of a block, by MAKE(words, u), computed as NUMBER_T.
struct Sampler {
  std::string text;
  DType number;
  std::int64_t unit;
};

/// Seed and offset are at the beginning of the node's scratch.
constexpr std::uint64_t kState = 2 * sizeof(std::uint64_t);

void add(RandomLaunches& list, const TensorView& out, DType stored, const Sampler& sampler, const PhiloxPartition& s,
         std::int64_t run_random, double scale, std::int64_t low, std::int64_t width) {
  Launch k("random");
  k.source.add_library("philox");
  if (needs_double(sampler.number)) k.source.add_library("philox_double");
  k.source.define("NUMBER", sampler.text);
  k.type("NUMBER_T", sampler.number);
  k.source.define("RUN", run_random);
  k.scratch("state", list.scratch(kState), DType::u64, false);
  k.output("out", 0, stored);
  k.store("STORE", sampler.number, stored);
  k.parameter("count", s.count);
  k.parameter("threads", s.threads);
  k.parameter("unit", s.unit);
  k.parameter("items", run_random > 1 ? s.count / run_random : s.threads * s.blocks);
  k.parameter("low", low);
  k.parameter("width", width);
  const DType real = needs_double(sampler.number) ? DType::f64 : DType::f32;
  k.source.parameter("most", real, below_one(out.dtype));
  k.source.parameter("scale", real, scale);
  list.advance = s.blocks;
  list.add(std::move(k), run_random > 1 ? s.count / run_random : s.threads * s.blocks);
}

void generate(const KernelCall& c, RandomLaunches& list) {
  const TensorView& out = c.out[0];
  const std::string& kind = c.node->text(AttrKey::kind);
  const bool complex = is_complex(out.dtype);
  const DType stored = out.dtype == DType::c128  ? DType::f64
                       : out.dtype == DType::c64 ? DType::f32
                       : complex                 ? DType::f16
                                                 : out.dtype;
  const std::int64_t n = out.numel() * (complex ? 2 : 1);
  const bool wide = stored == DType::f64 && kind != "dropout";
  const DType real = wide ? DType::f64 : DType::f32;
  const std::string suffix = wide ? "_f64(w, u)" : "_f32(w, u)";
  if (kind == "uniform" || kind == "normal" || kind == "exponential") {
    std::string text = "tern_random_" + kind + suffix;
    if (kind == "uniform") text = "tern_random_below(" + text + ", p.most)";
    if (kind == "uniform" && wide) text = "tern_random_below_f64(tern_random_uniform_f64(w, u))";
    if (kind == "normal") text += " * p.scale";
    const std::int64_t unit = wide ? 2 : 4;
    return add(list, out, stored, {text, real, unit}, PhiloxPartition(n, unit), 1, complex ? std::sqrt(0.5) : 1, 0, 0);
  }
  if (kind == "dropout") {
    // A run of elements for each thread; a thread drawing pairs uses half of its words.
    const std::int64_t run_random = n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : 1;
    return add(list, out, stored, {"tern_random_uniform_f32(w, u)", DType::f32, 4}, PhiloxPartition(n, 4), run_random,
               1, 0, 0);
  }
  std::int64_t low = 0, width = std::int64_t{1} << 53;
  if (kind == "randint") {
    const Dims& range = c.node->dims(AttrKey::range);
    if (range.at(0).value() >= range.at(1).value()) fail(ErrorCode::runtime, "random: the range of integers is empty");
    low = range[0].value();
    width = static_cast<std::int64_t>(static_cast<std::uint64_t>(range[1].value()) - static_cast<std::uint64_t>(low));
  }
  const bool narrow = width > 0 && width < std::int64_t{1} << 28;
  const std::int64_t unit = narrow ? 4 : 2;
  const std::string text = narrow ? "(tern_i64)((tern_u64)p.low + w.w[u] % (tern_u64)p.width)"
                                  : "tern_random_integer(w, u, (tern_u64)p.low, (tern_u64)p.width)";
  add(list, out, stored, {text, DType::i64, unit}, PhiloxPartition(n, unit), 1, 1, low, width);
}

void permute(const KernelCall& c, RandomLaunches& list) {
  const TensorView& out = c.out[0];
  const PhiloxPartition s(out.numel(), 1);
  Launch k("random_permutation");
  k.source.add_library("philox");
  k.scratch("state", list.scratch(kState), DType::u64, false);
  k.scratch("order", list.scratch(static_cast<std::uint64_t>(out.numel()) * sizeof(std::int64_t)), DType::i64, true);
  k.output("out", 0, out.dtype);
  k.store("STORE", DType::i64, out.dtype);
  k.parameter("count", out.numel());
  k.parameter("threads", s.threads);
  list.advance = s.blocks;
  list.add(std::move(k), 1);
}

void sample(const KernelCall& c, RandomLaunches& list, const std::string& kind) {
  const TensorView& out = c.out[0];
  const DType t = list.target().has_double ? DType::f64 : DType::f32;
  Launch k("random_sample");
  k.source.add_library("philox");
  if (t == DType::f64) k.source.add_library("philox_double");
  k.type("T", t);
  k.source.math("MATH", t);
  k.source.define("UNIFORM(w, u)",
                  t == DType::f64 ? "tern_random_uniform_f64(w, u)" : "tern_random_uniform_f32(w, 2 * (u))");
  k.source.define("BELOW_ONE", t == DType::f64 ? literal(t, 1 - 0x1p-53) : literal(t, 1 - 0x1p-24));
  k.source.define("POISSON", kind == "poisson" ? 1 : 0);
  k.source.define("GAMMA", kind == "gamma" ? 1 : 0);
  k.scratch("state", list.scratch(kState), DType::u64, false);
  k.input("a", 0, c.in[0].dtype);
  k.load("LOAD_A", c.in[0].dtype, t);
  k.source.view("a", c.in[0]);
  if (kind == "binomial") {
    k.input("b", 1, c.in[1].dtype);
    k.load("LOAD_B", c.in[1].dtype, t);
    k.source.view("b", c.in[1]);
  }
  k.output("out", 0, out.dtype);
  k.store("STORE", t, out.dtype);
  k.may_fail();
  k.parameter("count", out.numel());
  list.advance = 1;
  list.add(std::move(k), out.numel());
}

std::unique_ptr<KernelState> prepare_random(const KernelCall& c) {
  auto list = std::make_unique<RandomLaunches>(c);
  const std::string& kind = c.node->text(AttrKey::kind);
  if (kind == "randperm") {
    permute(c, *list);
  } else if (kind == "poisson" || kind == "binomial" || kind == "gamma") {
    sample(c, *list, kind);
  } else {
    generate(c, *list);
  }
  return list;
}

void run_random(KernelCall& c) {
  if (c.random == nullptr) fail(ErrorCode::internal, "random: the session has no generator");
  const auto& list = static_cast<const RandomLaunches&>(*c.state);
  const std::uint64_t state[] = {c.random->seed, c.random->offset};
  c.random->offset += static_cast<std::uint64_t>(list.advance);
  if (list.size() == 0) return;
  c.launcher->upload(c.scratch.data(), state, sizeof state);
  list.run(c);
}

constexpr std::string_view kRandomSamples[] = {
    "T=f32|f64: ; kind=normal|exponential, dtype=T, sizes=[4]",
    "T=f32|f64: T[4]; kind=poisson|gamma, dtype=T, sizes=[4]",
    "T=f32|f64: T[4], T[4]; kind=binomial, dtype=T, sizes=[4]",
};

DType input_type_random(const KernelCall& c, std::size_t k) {
  const DType t = c.in[k].dtype;
  return is_floating(t) || is_complex(t) ? text_type(t, Sight::computed) : DType::f64;
}
DType output_type_random(const KernelCall& c, std::size_t k) {
  const DType t = c.out[k].dtype;
  return is_floating(t) || is_complex(t) ? text_type(t, Sight::computed) : DType::f64;
}

bool is_exact(const KernelCall& c) {
  const std::string& kind = c.node->text(AttrKey::kind);
  return kind != "normal" && kind != "exponential" && kind != "poisson" && kind != "gamma" && kind != "binomial";
}

}  // namespace

void define_random(Definitions& d) {
  Kernel k;
  k.run = run_random;
  k.scratch = scratch_of_launches;
  k.prepare = prepare_random;
  k.strided = kAllStrided;
  d.set(Op::random, k,
        {.samples = kRandomSamples, .input = input_type_random, .output = output_type_random, .exact = is_exact});
}

}  // namespace tern::portable
