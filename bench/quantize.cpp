#include "bench/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <map>
#include <random>
#include <string_view>
#include <vector>

#include "dtypes/convert.h"
#include "exporter/passes/quantize/matrix.h"
#include "threads/parallel.h"

namespace tern::bench {
namespace {

constexpr std::int64_t kRows = 16384, kColumns = 4096;
constexpr int kTurns = 9;

/// Times of a turn: wall clock in ms, and processor time of all threads (less affected by other programs).
struct Times {
  std::vector<double> clock, processor;

  template <class F>
  void measure(F&& f) {
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t used = std::clock();
    f();
    processor.push_back(1e3 * static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC);
    clock.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
};

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

RawBytes random_weight(DType type) {
  std::vector<float> some(1 << 20);
  std::mt19937 engine(1);
  std::normal_distribution<float> draw(0, .02F);
  for (float& x : some) x = draw(engine);
  const auto count = static_cast<std::int64_t>(some.size());
  RawBytes bytes(static_cast<std::size_t>(kRows * kColumns * element_size(type)));
  for (std::int64_t i = 0; i < kRows * kColumns; i += count)
    convert(some.data(), DType::f32, bytes.data() + i * element_size(type), type, count);
  return bytes;
}

void copy(const RawBytes& from, std::byte* to) {
  constexpr std::int64_t kPart = 1 << 20;
  parallel_for(static_cast<std::int64_t>(from.size()) / kPart, 1, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin * kPart, from.data() + begin * kPart, static_cast<std::size_t>((end - begin) * kPart));
  });
}

}  // namespace

void measure_quantize(std::string_view only) {
  fmt::print("{} x {} numbers, {} threads, medians of {} turns\n", kRows, kColumns, Threads::current().count(), kTurns);
  fmt::print("{:12} {:9} {:>8} {:>12} {:>12} {:>14} {:>9}\n", "format", "weight", "ms", "of copying", "to new",
             "bytes, to new", "core ms");
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    const RawBytes weight = random_weight(type);
    RawBytes other(weight.size());
    copy(weight, other.data());  // touches all pages
    std::map<std::string_view, Times> times;
    std::map<std::string_view, std::size_t> sizes;
    Times copies, copies_to_new;
    for (int i = 0; i < kTurns; ++i) {
      copies.measure([&] { copy(weight, other.data()); });
      copies_to_new.measure([&] {
        RawBytes fresh(weight.size());
        copy(weight, fresh.data());
      });
      for (const quantize::Format& f : quantize::formats()) {
        if (!only.empty() && only != f.name) continue;
        const quantize::FloatMatrix m{
            .data = weight.data(), .type = type, .rows = kRows, .columns = kColumns, .row_stride = kColumns};
        const quantize::Recipe recipe{.format = &f, .block = f.block};
        times[f.name].measure([&] { sizes[f.name] = quantize::quantize(m, recipe).bytes.size(); });
      }
    }
    const double copied = median(copies.clock), copied_to_new = median(copies_to_new.clock);
    fmt::print("{:12} {:9} {:8.1f} {:41} {:9.1f}\n", "copying", name_of(type), copied, "", median(copies.processor));
    fmt::print("{:12} {:9} {:8.1f} {:41} {:9.1f}\n", "... to new", name_of(type), copied_to_new, "",
               median(copies_to_new.processor));
    for (const quantize::Format& f : quantize::formats()) {
      if (!times.contains(f.name)) continue;
      const double ms = median(times[f.name].clock), whole = static_cast<double>(weight.size());
      const double bytes = (whole + static_cast<double>(sizes[f.name])) / (2 * whole);
      fmt::print("{:12} {:9} {:8.1f} {:10.0f} % {:10.0f} % {:12.0f} % {:9.1f}\n", f.name, name_of(type), ms,
                 100 * copied / ms, 100 * copied_to_new / ms, 100 * bytes * copied_to_new / ms,
                 median(times[f.name].processor));
    }
  }
}

}  // namespace tern::bench
