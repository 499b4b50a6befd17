// Exchanges of values among the lanes of a wave (CDNA 3 ISA, 12.16 DPP, 12.13 DS). The first operand is the site
// number.
#ifndef TERN_TESTS_GPU_AMD_RUNTIME_EXCHANGE_H
#define TERN_TESTS_GPU_AMD_RUNTIME_EXCHANGE_H

#include "places.h"

struct tern_exchanged {
  uint32_t lane;                  // one's own
  uint64_t active;                // participating lanes
  const struct tern_fiber* wave;  // their values are in `taken`
};

static struct tern_exchanged tern_exchange(uint32_t site, uint64_t first, uint64_t second) {
  struct tern_fiber* self = tern_self();
  self->given[0] = first;
  self->given[1] = second;
  tern_wait(kExchanges, site);
  self = tern_self();
  return (struct tern_exchanged){tern_lane(), self->active, self - tern_lane()};
}

static bool tern_is_active(const struct tern_exchanged* all, uint32_t lane) {
  return all->active >> lane & 1;
}
// "Reads from disabled lanes return 0."
static uint32_t tern_from(const struct tern_exchanged* all, uint32_t lane) {
  return tern_is_active(all, lane) ? (uint32_t)all->wave[lane].taken[0] : 0;
}

// The register "exec": the active lanes.
uint64_t tern_exec(uint32_t site) {
  return tern_exchange(site, 0, 0).active;
}

void tern_amdgcn_wave_barrier(uint32_t site) {
  tern_exchange(site, 0, 0);
}

// "V_READFIRSTLANE_B32: copy the lowest active lane"; "V_READLANE_B32: copy one lane, ignores the exec mask".
uint32_t tern_amdgcn_readfirstlane_i32(uint32_t site, uint32_t x) {
  const struct tern_exchanged all = tern_exchange(site, x, 0);
  return tern_from(&all, (uint32_t)__builtin_ctzll(all.active));
}
uint32_t tern_amdgcn_readlane_i32(uint32_t site, uint32_t x, uint32_t lane) {
  const struct tern_exchanged all = tern_exchange(site, x, 0);
  lane %= kWave;
  return tern_is_active(&all, lane) ? tern_from(&all, lane) : UINT32_MAX;  // an older value of the lane
}
uint32_t tern_amdgcn_writelane_i32(uint32_t site, uint32_t x, uint32_t lane, uint32_t old) {
  return tern_lane() == lane % kWave ? x : old;
}
uint32_t tern_amdgcn_readfirstlane(uint32_t site, uint32_t x) {
  return tern_amdgcn_readfirstlane_i32(site, x);
}
uint32_t tern_amdgcn_readlane(uint32_t site, uint32_t x, uint32_t lane) {
  return tern_amdgcn_readlane_i32(site, x, lane);
}

// "DS_BPERMUTE_B32: backward permute: D[i] = source[address[i] / 4 % 64]".
uint32_t tern_amdgcn_ds_bpermute(uint32_t site, uint32_t address, uint32_t x) {
  const struct tern_exchanged all = tern_exchange(site, x, 0);
  return tern_from(&all, address / 4 % kWave);
}
// "DS_PERMUTE_B32: forward permute: D[address[i] / 4 % 64] = source[i]; the last lane wins, others get 0".
uint32_t tern_amdgcn_ds_permute(uint32_t site, uint32_t address, uint32_t x) {
  const struct tern_exchanged all = tern_exchange(site, x, address / 4 % kWave);
  uint32_t result = 0;
  for (uint32_t i = 0; i < kWave; ++i) {
    if (tern_is_active(&all, i) && all.wave[i].taken[1] == all.lane) result = (uint32_t)all.wave[i].taken[0];
  }
  return result;
}
// "DS_SWIZZLE_B32: offset[15] = 1: full data sharing within 4 lanes, two bits for each; 0: in groups of 32,
// j = (((i & offset[4:0]) | offset[9:5]) ^ offset[14:10])".
uint32_t tern_amdgcn_ds_swizzle(uint32_t site, uint32_t x, uint32_t offset) {
  if ((offset & 0xFFFF) >= 0xC000) tern_fail("ds_swizzle rotates, which the emulator lacks");
  const struct tern_exchanged all = tern_exchange(site, x, 0);
  const uint32_t lane = all.lane;
  if (offset >> 15 & 1) return tern_from(&all, (lane & ~3u) | (offset >> (2 * (lane & 3)) & 3));
  const uint32_t within = (((lane & 31 & offset) | (offset >> 5 & 31)) ^ (offset >> 10)) & 31;
  return tern_from(&all, (lane & 32) | within);
}

// The source lane by a control word of DPP; -1 outside of the row or the wave.
static int tern_dpp_source(uint32_t control, int lane) {
  const int row = lane & ~15, within = lane & 15, n = (int)(control & 15);
  if (control <= 0x0FF) return (lane & ~3) | (int)(control >> (2 * (lane & 3)) & 3);  // quad_perm
  if (control >= 0x101 && control <= 0x10F) return within + n < 16 ? lane + n : -1;   // row_shl
  if (control >= 0x111 && control <= 0x11F) return within >= n ? lane - n : -1;       // row_shr
  if (control >= 0x121 && control <= 0x12F) return row | ((within - n) & 15);         // row_ror
  if (control >= 0x150 && control <= 0x15F) return row | n;                           // row_newbcast
  switch (control) {
    case 0x130: return lane < 63 ? lane + 1 : -1;       // wave_shl
    case 0x134: return (lane + 1) & 63;                 // wave_rol
    case 0x138: return lane - 1;                        // wave_shr
    case 0x13C: return (lane - 1) & 63;                 // wave_ror
    case 0x140: return row | (15 - within);             // row_mirror
    case 0x141: return (lane & ~7) | (7 - (lane & 7));  // row_half_mirror
    case 0x142: return row - 1;                         // row_bcast:15, the last lane of the row before
    case 0x143: return lane >= 32 ? 31 : -1;            // row_bcast:31
    default: tern_fail("a control word of DPP that the emulator lacks");
  }
}
// "Row and bank masks: lanes of disabled rows and banks keep the old value"; "BOUND_CTRL: 1: an invalid source gives 0,
// else the lane is not written".
uint32_t tern_amdgcn_update_dpp_i32(uint32_t site, uint32_t old, uint32_t x, uint32_t control, uint32_t rows,
                                    uint32_t banks, uint32_t zero) {
  const struct tern_exchanged all = tern_exchange(site, x, 0);
  const int lane = (int)all.lane, source = tern_dpp_source(control, lane);
  if (!(rows >> (lane / 16) & 1) || !(banks >> (lane % 16 / 4) & 1)) return old;
  if (source >= 0 && tern_is_active(&all, (uint32_t)source)) return tern_from(&all, (uint32_t)source);
  return zero ? 0 : old;
}
uint32_t tern_amdgcn_mov_dpp_i32(uint32_t site, uint32_t x, uint32_t control, uint32_t rows, uint32_t banks,
                                 uint32_t zero) {
  return tern_amdgcn_update_dpp_i32(site, x, x, control, rows, banks, zero);
}

// The active lanes with a true condition.
uint64_t tern_amdgcn_ballot_i64(uint32_t site, uint32_t condition) {
  const struct tern_exchanged all = tern_exchange(site, condition, 0);
  uint64_t mask = 0;
  for (uint32_t i = 0; i < kWave; ++i) mask |= (uint64_t)(tern_from(&all, i) & 1) << i;
  return mask;
}
uint32_t tern_amdgcn_ballot_i32(uint32_t site, uint32_t condition) {
  return (uint32_t)tern_amdgcn_ballot_i64(site, condition);
}

// Conditions are numbered as llvm::CmpInst::Predicate.
static bool tern_compare_integers(uint64_t a, uint64_t b, int64_t sa, int64_t sb, uint32_t predicate) {
  switch (predicate) {
    case 32: return a == b;
    case 33: return a != b;
    case 34: return a > b;
    case 35: return a >= b;
    case 36: return a < b;
    case 37: return a <= b;
    case 38: return sa > sb;
    case 39: return sa >= sb;
    case 40: return sa < sb;
    default: return sa <= sb;
  }
}
uint64_t tern_amdgcn_icmp_i64_i32(uint32_t site, uint32_t a, uint32_t b, uint32_t predicate) {
  return tern_amdgcn_ballot_i64(site, tern_compare_integers(a, b, (int32_t)a, (int32_t)b, predicate));
}
uint64_t tern_amdgcn_icmp_i64_i16(uint32_t site, uint32_t a, uint32_t b, uint32_t predicate) {
  return tern_amdgcn_ballot_i64(site, tern_compare_integers(a, b, (int16_t)a, (int16_t)b, predicate));
}
uint64_t tern_amdgcn_icmp_i64_i1(uint32_t site, uint32_t a, uint32_t b, uint32_t predicate) {
  return tern_amdgcn_ballot_i64(site, tern_compare_integers(a, b, -(int64_t)a, -(int64_t)b, predicate));
}
uint64_t tern_amdgcn_icmp_i64_i64(uint32_t site, uint64_t a, uint64_t b, uint32_t predicate) {
  return tern_amdgcn_ballot_i64(site, tern_compare_integers(a, b, (int64_t)a, (int64_t)b, predicate));
}
// Bits: 1 equal, 2 greater, 4 less, 8 unordered.
static bool tern_compare_floats(double a, double b, uint32_t predicate) {
  const uint32_t is = a == b ? 1 : a > b ? 2 : a < b ? 4 : 8;
  return (predicate & is) != 0;
}
uint64_t tern_amdgcn_fcmp_i64_f32(uint32_t site, float a, float b, uint32_t predicate) {
  return tern_amdgcn_ballot_i64(site, tern_compare_floats((double)a, (double)b, predicate));
}
uint64_t tern_amdgcn_fcmp_i64_f64(uint32_t site, double a, double b, uint32_t predicate) {
  return tern_amdgcn_ballot_i64(site, tern_compare_floats(a, b, predicate));
}

#endif
