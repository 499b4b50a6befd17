// Barriers and exchanges of a warp, over fibers.
#include <algorithm>

#include "tests/gpu/fibers/fibers.h"
#include "tests/gpu/ptx/device/device.h"

namespace {

u32 lane_of(const tern_thread* thread) {
  return thread->index & 31;
}

template <class Call>
void each_lane(u64 mask, Call call) {
  for (u32 lane = 0; lane < 32; ++lane) {
    if (mask >> lane & 1) call(lane);
  }
}

u32 lowest(u64 mask) {
  return static_cast<u32>(__builtin_ctzll(mask));
}

// Value read from a lane outside the mask or the warp: "the result is unpredictable".
constexpr u32 kUnpredictable = 0xa5a5a5a5;

// The ISA's definition of shfl, for a single lane. words: value, b, c; then the result and its predicate.
void shuffle(int mode, u64 mask, tern_fibers_words words) {
  u32 values[32];
  each_lane(mask, [&](u32 lane) { values[lane] = words[lane][0]; });
  each_lane(mask, [&](u32 lane) {
    const u32 b = words[lane][1] & 31, c = words[lane][2];
    // "bval = b[4:0]; cval = c[4:0]; segmask = c[12:8]"
    const u32 clamp = c & 31, segment = c >> 8 & 31;
    const u32 most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    u32 source = 0;
    bool in_range = false;
    switch (mode) {
      // "up: j = lane - bval; pval = (j >= maxLane)"
      case TERN_SHFL_UP:
        source = lane - b;
        in_range = static_cast<s32>(source) >= static_cast<s32>(most);
        break;
      // "down: j = lane + bval; pval = (j <= maxLane)"
      case TERN_SHFL_DOWN:
        source = lane + b;
        in_range = source <= most;
        break;
      // "bfly: j = lane ^ bval; pval = (j <= maxLane)"
      case TERN_SHFL_BFLY:
        source = lane ^ b;
        in_range = source <= most;
        break;
      // "idx: j = minLane | (bval & ~segmask); pval = (j <= maxLane)"
      default: source = least | (b & ~segment); in_range = source <= most;
    }
    if (!in_range) source = lane;  // "copy from own lane"
    words[lane][0] = mask >> source & 1 ? values[source] : kUnpredictable;
    words[lane][1] = in_range;
  });
}

template <int mode>
void combine_shuffle(uint64_t mask, tern_fibers_words words, void*) {
  shuffle(mode, mask, words);
}

void combine_nothing(uint64_t, tern_fibers_words, void*) {}

void combine_ballot(uint64_t mask, tern_fibers_words words, void*) {
  u32 votes = 0;
  each_lane(mask, [&](u32 lane) { votes |= words[lane][0] << lane; });
  each_lane(mask, [&](u32 lane) { words[lane][0] = votes; });
}

// words: the low and high half of the value; then the lanes with equal values, and 1 if all are equal.
void combine_match(uint64_t mask, tern_fibers_words words, void*) {
  u32 same[32];
  each_lane(mask, [&](u32 lane) {
    same[lane] = 0;
    each_lane(mask, [&](u32 other) {
      same[lane] |= u32{words[lane][0] == words[other][0] && words[lane][1] == words[other][1]} << other;
    });
  });
  each_lane(mask, [&](u32 lane) { words[lane][0] = same[lane], words[lane][1] = same[lane] == mask; });
}

u32 reduced(int operation, u32 a, u32 b) {
  const auto sa = static_cast<s32>(a), sb = static_cast<s32>(b);
  switch (operation) {
    case TERN_REDUX_ADD: return a + b;
    case TERN_REDUX_MIN_U: return std::min(a, b);
    case TERN_REDUX_MAX_U: return std::max(a, b);
    case TERN_REDUX_MIN_S: return static_cast<u32>(std::min(sa, sb));
    case TERN_REDUX_MAX_S: return static_cast<u32>(std::max(sa, sb));
    case TERN_REDUX_AND: return a & b;
    case TERN_REDUX_OR: return a | b;
    default: return a ^ b;
  }
}

void combine_redux(uint64_t mask, tern_fibers_words words, void* operation) {
  u32 all = words[lowest(mask)][0];
  each_lane(mask & (mask - 1), [&](u32 lane) { all = reduced(*static_cast<int*>(operation), all, words[lane][0]); });
  each_lane(mask, [&](u32 lane) { words[lane][0] = all; });
}

}  // namespace

extern "C" {

// "wait until all non-exited threads corresponding to membermask have executed shfl.sync with the same qualifiers and
// same membermask": here exited threads cause a deadlock, since reading from them is undefined.
u32 tern_ptx_shfl(tern_thread*, int line, int mode, u32 value, u32 b, u32 c, u32 mask, u8* in_range) {
  constexpr tern_fibers_combine kModes[] = {combine_shuffle<TERN_SHFL_UP>, combine_shuffle<TERN_SHFL_DOWN>,
                                            combine_shuffle<TERN_SHFL_BFLY>, combine_shuffle<TERN_SHFL_IDX>};
  u32 words[] = {value, b, c};
  tern_fibers_exchange(mask, kModes[mode], 0, nullptr, words, 3, "shfl.sync", line);
  *in_range = static_cast<u8>(words[1]);
  return words[0];
}

tern_ptx_votes tern_ptx_barrier(tern_thread* thread, int line, u32 barrier, u32 threads, u8 predicate) {
  // "operand a specifies one of 16 barriers, 0 to 15; operand b must be a multiple of warp size"
  if (barrier > 15 || threads % 32) tern_ptx_trap(thread, line, "a barrier above 15, or for no whole number of warps");
  const tern_fibers_votes votes = tern_fibers_barrier(barrier, threads, predicate, line);
  return {votes.yes, votes.all};
}

void tern_ptx_arrive(tern_thread* thread, int line, u32 barrier, u32 threads) {
  if (barrier > 15 || threads % 32 || !threads) {
    tern_ptx_trap(thread, line, "a barrier above 15, or for no whole number of warps");
  }
  tern_fibers_arrive(barrier, threads, line);
}

void tern_ptx_warp_barrier(tern_thread*, int line, u32 mask) {
  tern_fibers_exchange(mask, combine_nothing, 0, nullptr, nullptr, 0, "bar.warp.sync", line);
}

u32 tern_ptx_ballot(tern_thread*, int line, u8 predicate, u32 mask) {
  u32 word = predicate;
  tern_fibers_exchange(mask, combine_ballot, 0, nullptr, &word, 1, "vote.sync", line);
  return word;
}

u32 tern_ptx_match_any(tern_thread*, int line, u64 value, u32 mask) {
  u32 words[] = {static_cast<u32>(value), static_cast<u32>(value >> 32)};
  tern_fibers_exchange(mask, combine_match, 0, nullptr, words, 2, "match.any.sync", line);
  return words[0];
}

u32 tern_ptx_match_all(tern_thread*, int line, u64 value, u32 mask, u8* all) {
  u32 words[] = {static_cast<u32>(value), static_cast<u32>(value >> 32)};
  tern_fibers_exchange(mask, combine_match, 1, nullptr, words, 2, "match.all.sync", line);
  *all = static_cast<u8>(words[1]);
  return words[1] ? mask : 0;
}

u32 tern_ptx_redux(tern_thread*, int line, int operation, u32 value, u32 mask) {
  tern_fibers_exchange(mask, combine_redux, static_cast<u64>(operation), &operation, &value, 1, "redux.sync", line);
  return value;
}

// The ISA leaves open which threads run together; here each thread runs alone.
u32 tern_ptx_activemask(tern_thread* thread) {
  return 1u << lane_of(thread);
}

u32 tern_ptx_lanes(tern_thread*) {
  return static_cast<u32>(tern_fibers_lanes());
}

}  // extern "C"
