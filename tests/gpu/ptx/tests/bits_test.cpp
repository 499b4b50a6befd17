// Intrinsics on the bits of integers, against loops of the host.
#include <algorithm>

#include "tests/gpu/ptx/tests/expressions.h"

namespace tern::emulated {
namespace {

using U = std::uint32_t;
using L = std::uint64_t;

template <class T>
T ones(T x) {
  T n = 0;
  for (; x != 0; x &= x - 1) ++n;
  return n;
}

template <class T>
T leading_zeros(T x) {
  T n = sizeof(T) * 8;
  for (; x != 0; x >>= 1) --n;
  return n;
}

template <class T>
T reversed(T x) {
  T y = 0;
  for (unsigned i = 0; i < sizeof(T) * 8; ++i) y |= (x >> i & 1) << (sizeof(T) * 8 - 1 - i);
  return y;
}

template <class T>
T first_set(T x) {  // counted from 1; 0 if none
  for (unsigned i = 0; i < sizeof(T) * 8; ++i) {
    if (x >> i & 1) return i + 1;
  }
  return 0;
}

U byte_of(L value, unsigned i) {
  return static_cast<U>(value >> (i * 8) & 255);
}

// __byte_perm without the sign-replicating mode.
U permuted(U a, U b, U selector) {
  U y = 0;
  for (unsigned i = 0; i < 4; ++i) y |= byte_of(L{b} << 32 | a, selector >> (4 * i) & 7) << (8 * i);
  return y;
}

template <class A, class B>
U dot(U a, U b, U c) {
  for (unsigned i = 0; i < 4; ++i) {
    c += static_cast<U>(static_cast<A>(byte_of(a, i))) * static_cast<U>(static_cast<B>(byte_of(b, i)));
  }
  return c;
}

U low24(U x) {
  return x & 0xFFFFFF;
}
U signed24(U x) {
  return x & 0x800000 ? x | 0xFF000000 : x & 0xFFFFFF;
}

TEST(Bits, Words) {
  const auto s32 = [](U x) { return static_cast<std::int32_t>(x); };
  expect_same_bits<U>(
      "unsigned",
      {
          {"__popc(a)", [](U a, U, U) { return ones(a); }},
          {"__clz(a)", [](U a, U, U) { return leading_zeros(a); }},
          {"__ffs(a)", [](U a, U, U) { return first_set(a); }},
          {"__brev(a)", [](U a, U, U) { return reversed(a); }},
          {"__byte_perm(a, b, c & 0x7777)", [](U a, U b, U c) { return permuted(a, b, c & 0x7777); }},
          {"__byte_perm(a, b, 0x5140)", [](U a, U b, U) { return permuted(a, b, 0x5140); }},
          {"__funnelshift_l(a, b, c)",
           [](U a, U b, U c) { return static_cast<U>((L{b} << 32 | a) << (c & 31) >> 32); }},
          {"__funnelshift_r(a, b, c)", [](U a, U b, U c) { return static_cast<U>((L{b} << 32 | a) >> (c & 31)); }},
          {"__funnelshift_lc(a, b, c)",
           [](U a, U b, U c) { return c >= 32 ? a : static_cast<U>((L{b} << 32 | a) << c >> 32); }},
          {"__funnelshift_rc(a, b, c)",
           [](U a, U b, U c) { return c >= 32 ? b : static_cast<U>((L{b} << 32 | a) >> c); }},
          {"__dp4a(a, b, c)", dot<std::uint8_t, std::uint8_t>},
          {"__dp4a((int)a, (int)b, (int)c)", dot<std::int8_t, std::int8_t>},
          {"__umul24(a, b)", [](U a, U b, U) { return low24(a) * low24(b); }},
          {"__mul24(a, b)", [](U a, U b, U) { return signed24(a) * signed24(b); }},
          {"__umulhi(a, b)", [](U a, U b, U) { return static_cast<U>(L{a} * b >> 32); }},
          {"__mulhi(a, b)",
           [=](U a, U b, U) { return static_cast<U>(std::int64_t{s32(a)} * std::int64_t{s32(b)} >> 32); }},
          {"__usad(a, b, c)", [](U a, U b, U c) { return (a > b ? a - b : b - a) + c; }},
          {"__sad(a, b, c)", [=](U a, U b, U c) { return (s32(a) > s32(b) ? a - b : b - a) + c; }},
          {"abs((int)a)", [=](U a, U, U) { return s32(a) < 0 ? 0 - a : a; }},
          {"__hadd(a, b)", [=](U a, U b, U) { return static_cast<U>((std::int64_t{s32(a)} + s32(b)) >> 1); }},
          {"(unsigned)(((unsigned long long)a * b + c) >> 32)",
           [](U a, U b, U c) { return static_cast<U>((L{a} * b + c) >> 32); }},
      });
}

TEST(Bits, LongWords) {
  using Wide = unsigned __int128;
  expect_same_bits<L>(
      "unsigned long long",
      {
          {"__popcll(a)", [](L a, L, L) { return ones(a); }},
          {"__clzll(a)", [](L a, L, L) { return leading_zeros(a); }},
          {"__ffsll(a)", [](L a, L, L) { return first_set(a); }},
          {"__brevll(a)", [](L a, L, L) { return reversed(a); }},
          {"__umul64hi(a, b)", [](L a, L b, L) { return static_cast<L>(Wide{a} * b >> 64); }},
          {"__mul64hi(a, b)",
           [](L a, L b, L) {
             return static_cast<L>(static_cast<__int128>(static_cast<std::int64_t>(a)) * static_cast<std::int64_t>(b) >>
                                   64);
           }},
          {"(unsigned long long)(((unsigned __int128)a * b + c) >> 64)",
           [](L a, L b, L c) { return static_cast<L>((Wide{a} * b + c) >> 64); }},
          {"(unsigned long long)(((unsigned __int128)a << 64 | b) - c >> 64)",
           [](L a, L b, L c) { return static_cast<L>(((Wide{a} << 64 | b) - c) >> 64); }},
      });
}

// PTX clamps shifts: "Shift amounts greater than the register width N are clamped to N."
TEST(Bits, ShiftsOfPtxAreClamped) {
  const auto with = [](const std::string& opcode) {
    return "[=] { unsigned y; asm(\"" + opcode + " %0, %1, %2;\" : \"=r\"(y) : \"r\"(a), \"r\"(b % 70)); return y; }()";
  };
  const std::string left = with("shl.b32"), right = with("shr.u32"), arithmetic = with("shr.s32");
  expect_same_bits<U>("unsigned", {
                                      {left.c_str(), [](U a, U b, U) { return b % 70 > 31 ? 0 : a << b % 70; }},
                                      {right.c_str(), [](U a, U b, U) { return b % 70 > 31 ? 0 : a >> b % 70; }},
                                      {arithmetic.c_str(),
                                       [](U a, U b, U) {
                                         const U by = std::min<U>(b % 70, 31);
                                         return static_cast<U>(static_cast<std::int32_t>(a) >> by);
                                       }},
                                  });
}

// bfe, bfi, lop3, prmt's mode of signs, bfind, szext and bmsk have no intrinsic.
TEST(Bits, InstructionsWithoutAnIntrinsic) {
  const auto with = [](const std::string& text) {
    return "[=] { unsigned y; asm(\"" + text + "\" : \"=r\"(y) : \"r\"(a), \"r\"(b), \"r\"(c)); return y; }()";
  };
  // "pos = b & 0xff, len = c & 0xff; bits beyond the sign are the sign": here both are below 32.
  const std::string extract = with("bfe.u32 %0, %1, 7, 12;"), extract_signed = with("bfe.s32 %0, %1, 25, 12;"),
                    insert = with("bfi.b32 %0, %1, %2, 9, 5;"), table = with("lop3.b32 %0, %1, %2, %3, 0xCA;"),
                    sign = with("prmt.b32 %0, %1, %2, 0xF840;"), find = with("bfind.s32 %0, %1;");
  expect_same_bits<U>(
      "unsigned",
      {
          {extract.c_str(), [](U a, U, U) { return a >> 7 & 0xFFF; }},
          {extract_signed.c_str(), [](U a, U, U) { return static_cast<U>(static_cast<std::int32_t>(a) >> 25); }},
          {insert.c_str(), [](U a, U b, U) { return (b & ~(31u << 9)) | (a & 31) << 9; }},
          {table.c_str(), [](U a, U b, U c) { return (a & b) | (~a & c); }},
          {sign.c_str(),
           [](U a, U b, U) {
             return (a & 255) | (b & 255) << 8 | (a & 128 ? 255u : 0) << 16 | (b >> 31 ? 255u : 0) << 24;
           }},
          {find.c_str(), [](U a, U, U) { return 31 - leading_zeros(a >> 31 ? ~a : a); }},
      });
}

}  // namespace
}  // namespace tern::emulated
