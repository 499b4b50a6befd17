#include "kernels/cpu/optim/job.h"

#include <algorithm>
#include <cstring>

#include "dtypes/convert.h"
#include "dtypes/state_codes.h"
#include "kernels/cpu/optim/codes.h"
#include "kernels/cpu/optim/loops.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

/// Elements per conversion: the copies stay in the first cache.
constexpr std::int64_t kBlock = 512;
static_assert(kBlock % kStateBlock == 0);
/// Smallest number of elements worth a thread.
constexpr std::int64_t kGrain = 16384;

constexpr std::size_t list_index(OptimList list) {
  return static_cast<std::size_t>(list);
}

double read_scalar(const OptimJob& job, const OptimTensors& t, OptimList list, double default_value) {
  if (t.in[list_index(list)] == nullptr) return default_value;
  double value = 0;
  convert(t.in[list_index(list)], job.dtypes[list_index(list)], &value, DType::f64, 1);
  return value;
}

/// True if the list is an 8-bit state.
bool is_coded(const OptimJob& job, OptimList list) {
  return list >= OptimList::m && list <= OptimList::third && job.dtypes[list_index(scales_of(list))] != DType::invalid;
}

/// Returns the smallest division of elements among threads: a scale's block of 8-bit states, else one element.
std::int64_t unit_elements(const OptimJob& job) {
  return std::ranges::any_of(kOptimCoded, [&](OptimList list) { return is_coded(job, list); }) ? kStateBlock : 1;
}

bool skips_step(const OptimJob& job, const OptimTensors& t) {
  return read_scalar(job, t, OptimList::found_inf, 0) != 0;
}

OptimNumbers read_numbers(const OptimJob& job, const OptimTensors& t) {
  return {read_scalar(job, t, OptimList::step, 1), read_scalar(job, t, OptimList::product, 1),
          read_scalar(job, t, OptimList::lr, job.options.hyper[0])};
}

/// Caches the last tensor's settings for the next tensor with the same numbers.
class Settings {
 public:
  explicit Settings(const OptimJob& job) : job_(job) {}
  const OptimSettings& settings_of(const OptimTensors& t) {
    if (has_settings_ && job_.shared_step) return settings_;
    const OptimNumbers n = read_numbers(job_, t);
    if (has_settings_ && n.step == numbers_.step && n.product == numbers_.product) return settings_;
    numbers_ = n;
    settings_ = optim_settings(job_.options, n);
    has_settings_ = true;
    return settings_;
  }

 private:
  const OptimJob& job_;
  OptimNumbers numbers_;
  OptimSettings settings_;
  bool has_settings_ = false;
};

void run_loop(const OptimOptions& o, const OptimSettings& s, const OptimRun<float>& run) {
  static const auto best = best_level(optim_floats_levels);
  best(o, s, run);
}
void run_loop(const OptimOptions& o, const OptimSettings& s, const OptimRun<double>& run) {
  static const auto best = best_level(optim_doubles_levels);
  best(o, s, run);
}

/// Updates elements begin..end of a parameter, in memory of type T.
template <class T>
void run_in_place(const OptimJob& job, const OptimSettings& s, const OptimTensors& t, std::int64_t begin,
                  std::int64_t end) {
  // Absent lists stay null.
  const auto in = [&](OptimList list) {
    const auto* p = reinterpret_cast<const T*>(t.in[list_index(list)]);
    return p == nullptr ? nullptr : p + begin;
  };
  const auto out = [&](OptimList list) {
    auto* p = reinterpret_cast<T*>(t.out[list_index(list)]);
    return p == nullptr ? nullptr : p + begin;
  };
  run_loop(
      job.options, s,
      OptimRun<T>{in(OptimList::param), in(OptimList::grad), in(OptimList::m), in(OptimList::v), in(OptimList::third),
                  out(OptimList::param), out(OptimList::m), out(OptimList::v), out(OptimList::third), end - begin});
}

/// Lists of a loop, in the order of OptimRun.
constexpr OptimList kLoopLists[] = {OptimList::param, OptimList::grad, OptimList::m, OptimList::v, OptimList::third};

/// True if the kind neither reads nor writes the states of this list.
bool leaves_unchanged(const OptimJob& job, OptimList list) {
  const OptimRecord& record = optim_record(job.options.kind);
  return (list == OptimList::m && record.m < 0) || (list == OptimList::v && record.v < 0);
}

/// Updates through buffers of type T: converts operands and results, divides gradients by `scale`, drops unused
/// results, and updates master weights instead of parameters.
template <class T>
class JobBlocks {
 public:
  JobBlocks(const OptimJob& job, const OptimSettings& s, const OptimTensors& t, T scale)
      : job_(job), settings_(s), t_(t), scale_(scale), has_masters_(t.in[list_index(OptimList::master)] != nullptr) {}

  /// Updates `count` elements from `i` on, at most kBlock.
  void run(std::int64_t i, std::int64_t count) {
    const T* in[std::size(kLoopLists)];
    T* out[std::size(kLoopLists)];
    for (std::size_t k = 0; k < std::size(kLoopLists); ++k) {
      in[k] = read(source(k), k, i, count);
      out[k] = in_place(source(k)) ? reinterpret_cast<T*>(t_.out[list_index(source(k))]) + i : operands_[k];
    }
    if (scale_ != 1) {
      for (std::int64_t e = 0; e < count; ++e) operands_[1][e] = in[1][e] / scale_;
      in[1] = operands_[1];
    }
    const T* const gradient = in[1];
    write(OptimList::grad, gradient, i, count);
    run_loop(job_.options, settings_,
             OptimRun<T>{in[0], in[1], in[2], in[3], in[4], out[0], out[2], out[3], out[4], count});
    if (has_masters_) write(OptimList::param, out[0], i, count);
    for (std::size_t k = 0; k < std::size(kLoopLists); ++k) {
      if (k == 1 || in[k] == nullptr) continue;
      if (leaves_unchanged(job_, kLoopLists[k])) {
        if (t_.out[list_index(kLoopLists[k])] != t_.in[list_index(kLoopLists[k])])
          write(kLoopLists[k], in[k], i, count);
      } else if (out[k] == operands_[k]) {
        write(source(k), out[k], i, count);
      }
    }
  }

 private:
  static constexpr DType kType = sizeof(T) == 8 ? DType::f64 : DType::f32;

  OptimList source(std::size_t k) const { return k == 0 && has_masters_ ? OptimList::master : kLoopLists[k]; }
  bool in_place(OptimList list) const {
    return job_.dtypes[list_index(list)] == kType && t_.out[list_index(list)] != nullptr;
  }
  std::int64_t byte_offset(OptimList list, std::int64_t i) const {
    return i * element_size(job_.dtypes[list_index(list)]);
  }

  const T* read(OptimList list, std::size_t k, std::int64_t i, std::int64_t count) {
    const std::byte* const operand = t_.in[list_index(list)];
    if (operand == nullptr) return nullptr;
    if (is_coded(job_, list)) return decode(list, k, i, count);
    if (job_.dtypes[list_index(list)] == kType) return reinterpret_cast<const T*>(operand) + i;
    convert(operand + byte_offset(list, i), job_.dtypes[list_index(list)], operands_[k], kType, count);
    return operands_[k];
  }
  void write(OptimList list, const T* values, std::int64_t i, std::int64_t count) {
    const std::byte* const result = t_.out[list_index(list)];
    if (is_coded(job_, list)) return encode(list, values, i, count);
    if (result != nullptr && result + byte_offset(list, i) != reinterpret_cast<const std::byte*>(values))
      convert(values, kType, t_.out[list_index(list)] + byte_offset(list, i), job_.dtypes[list_index(list)], count);
  }

  bool is_signed(OptimList list) const { return optim_record(job_.options.kind).code(list) == 's'; }
  /// 8-bit states occur only with parameters of at most 32 bits.
  const T* decode(OptimList list, std::size_t k, std::int64_t i, std::int64_t count) {
    if constexpr (kType == DType::f32) {
      const auto* codes = reinterpret_cast<const std::uint8_t*>(t_.in[list_index(list)]) + i;
      const auto* scales = reinterpret_cast<const float*>(t_.in[list_index(scales_of(list))]) + i / kStateBlock;
      decode_states(codes, scales, is_signed(list), count, operands_[k]);
    }
    return operands_[k];
  }
  void encode(OptimList list, const T* values, std::int64_t i, std::int64_t count) const {
    if constexpr (kType == DType::f32) {
      std::uint8_t unread_codes[kBlock];
      float unread_scales[kBlock / kStateBlock];
      auto* codes = reinterpret_cast<std::uint8_t*>(t_.out[list_index(list)]);
      auto* scales = reinterpret_cast<float*>(t_.out[list_index(scales_of(list))]);
      encode_states(values, is_signed(list), count, codes == nullptr ? unread_codes : codes + i,
                    scales == nullptr ? unread_scales : scales + i / kStateBlock);
    }
  }

  const OptimJob& job_;
  const OptimSettings& settings_;
  const OptimTensors& t_;
  const T scale_;
  const bool has_masters_;
  T operands_[std::size(kLoopLists)][kBlock];
};

template <class T>
void run_in_blocks(const OptimJob& job, const OptimSettings& s, const OptimTensors& t, std::int64_t begin,
                   std::int64_t end, T scale) {
  JobBlocks<T> blocks(job, s, t, scale);
  for (std::int64_t i = begin; i < end; i += kBlock) blocks.run(i, std::min(kBlock, end - i));
}

/// True if the tensors have this type, and the kind writes all of them.
bool is_direct(const OptimJob& job, const OptimTensors& t, DType type) {
  if (job.dtypes[list_index(OptimList::master)] != DType::invalid ||
      job.dtypes[list_index(OptimList::grad_scale)] != DType::invalid)
    return false;
  for (OptimList list : kLoopLists) {
    const DType dtype = job.dtypes[list_index(list)];
    if (dtype == DType::invalid) continue;
    if (dtype != type || leaves_unchanged(job, list) || (list != OptimList::grad && t.out[list_index(list)] == nullptr))
      return false;
  }
  return true;
}

/// Copies operands to results, for a skipped step.
void copy_unchanged(const OptimJob& job, const OptimTensors& t, std::int64_t begin, std::int64_t end) {
  for (std::size_t k = 0; k < kOptimLists; ++k) {
    const auto list = static_cast<OptimList>(k);
    if ((!is_large(list) && !is_scales(list)) || t.out[k] == nullptr || t.out[k] == t.in[k]) continue;
    const std::int64_t elements_per_entry = is_scales(list) ? kStateBlock : 1, size = element_size(job.dtypes[k]);
    std::memcpy(t.out[k] + begin / elements_per_entry * size, t.in[k] + begin / elements_per_entry * size,
                static_cast<std::size_t>((end - begin) / elements_per_entry * size));
  }
  constexpr std::size_t kParam = list_index(OptimList::param), kMaster = list_index(OptimList::master);
  if (t.in[kMaster] == nullptr || t.out[kParam] == nullptr) return;
  convert(t.in[kMaster] + begin * element_size(job.dtypes[kMaster]), job.dtypes[kMaster],
          t.out[kParam] + begin * element_size(job.dtypes[kParam]), job.dtypes[kParam], end - begin);
}

void run_part(const OptimJob& job, Settings& settings, const OptimTensors& t, std::int64_t begin, std::int64_t end) {
  if (skips_step(job, t)) return copy_unchanged(job, t, begin, end);
  const OptimSettings& s = settings.settings_of(t);
  const double scale = read_scalar(job, t, OptimList::grad_scale, 1);
  if (job.dtypes[list_index(OptimList::param)] == DType::f64) {
    is_direct(job, t, DType::f64) ? run_in_place<double>(job, s, t, begin, end)
                                  : run_in_blocks<double>(job, s, t, begin, end, scale);
  } else {
    is_direct(job, t, DType::f32) ? run_in_place<float>(job, s, t, begin, end)
                                  : run_in_blocks<float>(job, s, t, begin, end, static_cast<float>(scale));
  }
}

void write_number(const OptimJob& job, const OptimTensors& t, OptimList list, double value) {
  if (t.out[list_index(list)] != nullptr)
    convert(&value, DType::f64, t.out[list_index(list)], job.dtypes[list_index(list)], 1);
}

void advance(const OptimJob& job) {
  Settings settings(job);
  const std::size_t number_sets = job.shared_step ? 1 : job.element_ends.size();
  for (std::size_t i = 0; i < number_sets; ++i) {
    const OptimTensors t = job.list->tensors(i);
    const bool is_skipped = skips_step(job, t);
    const OptimNumbers n = read_numbers(job, t);
    const OptimSettings& s = settings.settings_of(t);
    write_number(job, t, OptimList::step, is_skipped ? n.step : s.step);
    write_number(job, t, OptimList::product, is_skipped ? n.product : s.product);
  }
}

}  // namespace

void run_optim(const OptimJob& job) {
  if (job.element_ends.empty()) return;
  const std::int64_t unit = unit_elements(job);
  parallel_for(job.element_ends.back() / unit, kGrain / unit, [&](std::int64_t begin, std::int64_t end) {
    begin *= unit;
    end *= unit;
    Settings settings(job);
    auto i = static_cast<std::size_t>(std::ranges::upper_bound(job.element_ends, begin) - job.element_ends.begin());
    for (std::int64_t tensor_begin = i == 0 ? 0 : job.element_ends[i - 1]; begin < end; ++i) {
      const std::int64_t part_end = std::min(end, job.element_ends[i]);
      if (part_end > begin)
        run_part(job, settings, job.list->tensors(i), begin - tensor_begin, part_end - tensor_begin);
      begin = std::max(begin, part_end);
      tensor_begin = job.element_ends[i];
    }
  });
  if (job.dtypes[list_index(OptimList::step)] != DType::invalid) advance(job);
}

}  // namespace tern::cpu
