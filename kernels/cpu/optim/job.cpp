#include "kernels/cpu/optim/job.h"

#include <algorithm>
#include <cstring>

#include "dtypes/convert.h"
#include "kernels/cpu/optim/loops.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

/// Elements that are converted at a time: their copies stay in the first cache.
constexpr std::int64_t kBlock = 512;
/// Below this many elements a thread is not worth its start.
constexpr std::int64_t kGrain = 16384;

constexpr std::size_t at(OptimList list) {
  return static_cast<std::size_t>(list);
}

double number(const OptimJob& job, const OptimTensors& t, OptimList list, double otherwise) {
  if (t.in[at(list)] == nullptr) return otherwise;
  double value = 0;
  convert(t.in[at(list)], job.dtypes[at(list)], &value, DType::f64, 1);
  return value;
}

bool is_left_out(const OptimJob& job, const OptimTensors& t) {
  return number(job, t, OptimList::found_inf, 0) != 0;
}

OptimNumbers numbers(const OptimJob& job, const OptimTensors& t) {
  return {number(job, t, OptimList::step, 1), number(job, t, OptimList::product, 1),
          number(job, t, OptimList::lr, job.options.hyper[0])};
}

/// The settings of the last tensor serve the next one where its numbers are the same.
class Settings {
 public:
  explicit Settings(const OptimJob& job) : job_(job) {}
  const OptimSettings& of(const OptimTensors& t) {
    if (known_ && job_.shared_step) return settings_;
    const OptimNumbers n = numbers(job_, t);
    if (known_ && n.step == numbers_.step && n.product == numbers_.product) return settings_;
    numbers_ = n;
    settings_ = optim_settings(job_.options, n);
    known_ = true;
    return settings_;
  }

 private:
  const OptimJob& job_;
  OptimNumbers numbers_;
  OptimSettings settings_;
  bool known_ = false;
};

void loop(const OptimOptions& o, const OptimSettings& s, const OptimRun<float>& run) {
  static const auto best = best_level(optim_floats_levels);
  best(o, s, run);
}
void loop(const OptimOptions& o, const OptimSettings& s, const OptimRun<double>& run) {
  static const auto best = best_level(optim_doubles_levels);
  best(o, s, run);
}

/// Elements begin..end of one parameter, in memory of type T.
template <class T>
void run_in_place(const OptimJob& job, const OptimSettings& s, const OptimTensors& t, std::int64_t begin,
                  std::int64_t end) {
  const auto in = [&](OptimList list) {
    const auto* p = reinterpret_cast<const T*>(t.in[at(list)]);
    return p == nullptr ? nullptr : p + begin;
  };
  const auto out = [&](OptimList list) { return reinterpret_cast<T*>(t.out[at(list)]) + begin; };
  loop(job.options, s,
       OptimRun<T>{in(OptimList::param), in(OptimList::grad), in(OptimList::m), in(OptimList::v), in(OptimList::third),
                   out(OptimList::param), out(OptimList::m), out(OptimList::v), out(OptimList::third), end - begin});
}

/// The same by way of copies in T: of other types, with scaled gradients or master weights, or where a result is
/// unread.
template <class T>
void run_in_blocks(const OptimJob& job, const OptimSettings& s, const OptimTensors& t, std::int64_t begin,
                   std::int64_t end, T scale) {
  constexpr DType kType = sizeof(T) == 8 ? DType::f64 : DType::f32;
  constexpr OptimList kLarge[] = {OptimList::param, OptimList::grad, OptimList::m, OptimList::v, OptimList::third};
  T blocks[std::size(kLarge)][kBlock];
  const bool masters = t.in[at(OptimList::master)] != nullptr;
  const auto byte = [&](OptimList list, std::int64_t i) { return i * element_size(job.dtypes[at(list)]); };
  const auto write = [&](OptimList list, std::size_t k, std::int64_t i, std::int64_t n) {
    if (t.out[at(list)] != nullptr) convert(blocks[k], kType, t.out[at(list)] + byte(list, i), job.dtypes[at(list)], n);
  };
  for (std::int64_t i = begin; i < end; i += kBlock) {
    const std::int64_t n = std::min(kBlock, end - i);
    for (std::size_t k = 0; k < std::size(kLarge); ++k) {
      const OptimList from = k == 0 && masters ? OptimList::master : kLarge[k];
      if (t.in[at(from)] != nullptr) convert(t.in[at(from)] + byte(from, i), job.dtypes[at(from)], blocks[k], kType, n);
    }
    if (scale != 1) {
      for (std::int64_t e = 0; e < n; ++e) blocks[1][e] /= scale;
    }
    write(OptimList::grad, 1, i, n);
    const auto in = [&](std::size_t k) { return t.in[at(kLarge[k])] == nullptr ? nullptr : blocks[k]; };
    loop(job.options, s,
         OptimRun<T>{blocks[0], blocks[1], in(2), in(3), in(4), blocks[0], blocks[2], blocks[3], blocks[4], n});
    write(OptimList::param, 0, i, n);
    if (masters) write(OptimList::master, 0, i, n);
    for (std::size_t k = 2; k < std::size(kLarge); ++k) write(kLarge[k], k, i, n);
  }
}

/// Whether the tensors have this type, and the kind writes all of them.
bool is_direct(const OptimJob& job, const OptimTensors& t, DType type) {
  if (job.dtypes[at(OptimList::master)] != DType::invalid || job.dtypes[at(OptimList::grad_scale)] != DType::invalid)
    return false;
  const OptimRecord& record = optim_record(job.options.kind);
  if ((record.m < 0 && t.in[at(OptimList::m)] != nullptr) || (record.v < 0 && t.in[at(OptimList::v)] != nullptr))
    return false;  // they stay as they are
  for (OptimList list : {OptimList::param, OptimList::grad, OptimList::m, OptimList::v, OptimList::third}) {
    const DType have = job.dtypes[at(list)];
    if (have == DType::invalid) continue;
    if (have != type || (list != OptimList::grad && t.out[at(list)] == nullptr)) return false;
  }
  return true;
}

/// Of a step that is left out.
void copy_unchanged(const OptimJob& job, const OptimTensors& t, std::int64_t begin, std::int64_t end) {
  for (std::size_t k = 0; k < kOptimLists; ++k) {
    if (!is_large(static_cast<OptimList>(k)) || t.out[k] == nullptr || t.out[k] == t.in[k]) continue;
    const std::int64_t size = element_size(job.dtypes[k]);
    std::memcpy(t.out[k] + begin * size, t.in[k] + begin * size, static_cast<std::size_t>((end - begin) * size));
  }
  constexpr std::size_t kParam = at(OptimList::param), kMaster = at(OptimList::master);
  if (t.in[kMaster] == nullptr || t.out[kParam] == nullptr) return;
  convert(t.in[kMaster] + begin * element_size(job.dtypes[kMaster]), job.dtypes[kMaster],
          t.out[kParam] + begin * element_size(job.dtypes[kParam]), job.dtypes[kParam], end - begin);
}

void run_part(const OptimJob& job, Settings& settings, const OptimTensors& t, std::int64_t begin, std::int64_t end) {
  if (is_left_out(job, t)) return copy_unchanged(job, t, begin, end);
  const OptimSettings& s = settings.of(t);
  const double scale = number(job, t, OptimList::grad_scale, 1);
  if (job.dtypes[at(OptimList::param)] == DType::f64) {
    is_direct(job, t, DType::f64) ? run_in_place<double>(job, s, t, begin, end)
                                  : run_in_blocks<double>(job, s, t, begin, end, scale);
  } else {
    is_direct(job, t, DType::f32) ? run_in_place<float>(job, s, t, begin, end)
                                  : run_in_blocks<float>(job, s, t, begin, end, static_cast<float>(scale));
  }
}

void write_number(const OptimJob& job, const OptimTensors& t, OptimList list, double value) {
  if (t.out[at(list)] != nullptr) convert(&value, DType::f64, t.out[at(list)], job.dtypes[at(list)], 1);
}

void advance(const OptimJob& job) {
  Settings settings(job);
  const std::size_t rows = job.shared_step ? 1 : job.ends.size();
  for (std::size_t i = 0; i < rows; ++i) {
    const OptimTensors t = job.list->tensors(i);
    const bool stays = is_left_out(job, t);
    const OptimNumbers n = numbers(job, t);
    const OptimSettings& s = settings.of(t);
    write_number(job, t, OptimList::step, stays ? n.step : s.step);
    write_number(job, t, OptimList::product, stays ? n.product : s.product);
  }
}

}  // namespace

void run_optim(const OptimJob& job) {
  if (job.ends.empty()) return;
  parallel_for(job.ends.back(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    Settings settings(job);
    auto i = static_cast<std::size_t>(std::ranges::upper_bound(job.ends, begin) - job.ends.begin());
    for (std::int64_t first = i == 0 ? 0 : job.ends[i - 1]; begin < end; ++i) {
      const std::int64_t stop = std::min(end, job.ends[i]);
      if (stop > begin) run_part(job, settings, job.list->tensors(i), begin - first, stop - first);
      begin = std::max(begin, stop);
      first = job.ends[i];
    }
  });
  if (job.dtypes[at(OptimList::step)] != DType::invalid) advance(job);
}

}  // namespace tern::cpu
