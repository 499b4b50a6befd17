#include "tests/gpu/amd/ir/intrinsics.h"

#include <algorithm>
#include <iterator>

namespace tern::gpu::amd {
namespace {

// Names without the suffix of their types, by kind.
constexpr std::string_view kPlain[] = {
    // positions: runtime/places.h
    "workitem.id.x", "workitem.id.y", "workitem.id.z", "workgroup.id.x", "workgroup.id.y", "workgroup.id.z",
    "implicitarg.ptr", "dispatch.ptr", "kernarg.segment.ptr", "dispatch.id", "groupstaticsize", "wavefrontsize",
    "mbcnt.lo", "mbcnt.hi", "is.shared", "is.private", "s.memtime", "s.memrealtime",
    // floats: runtime/floats.h
    "rcp", "rsq", "sqrt", "fract", "frexp.mant", "frexp.exp", "class", "exp2", "log", "fmed3", "fma.legacy",
    "fmul.legacy", "trig.preop", "cvt.pkrtz", "sin", "cos", "ldexp",
    // bits: runtime/bits.h
    "ubfe", "sbfe", "perm", "alignbit", "alignbyte", "mul.u24", "mul.i24", "mulhi.u24", "mulhi.i24", "sffbh", "sad.u8",
    "msad.u8", "lerp", "cvt.f32.ubyte0", "cvt.f32.ubyte1", "cvt.f32.ubyte2", "cvt.f32.ubyte3",
    // dot products: runtime/dots.h
    "fdot2", "sdot2", "udot2", "sdot4", "udot4", "sdot8", "udot8",
    // atomics: runtime/atomics.h
    "global.atomic.fadd", "flat.atomic.fadd", "ds.fadd"};
constexpr std::string_view kWave[] = {
    // runtime/exchange.h
    "readfirstlane", "readlane", "writelane", "ds.bpermute", "ds.permute", "ds.swizzle", "update.dpp", "mov.dpp",
    "ballot", "icmp", "fcmp", "wave.barrier",
    // runtime/matrices.h
    "mfma.f32.32x32x8f16", "mfma.f32.16x16x16f16", "mfma.f32.32x32x8bf16.1k", "mfma.f32.16x16x16bf16.1k",
    "mfma.f32.32x32x2f32", "mfma.f32.16x16x4f32", "smfmac.f32.16x16x32.f16", "smfmac.f32.16x16x32.bf16"};
constexpr std::string_view kBarrier[] = {"s.barrier"};
constexpr std::string_view kNothing[] = {
    "s.waitcnt",    "sched.barrier", "sched.group.barrier", "iglp.opt",       "s.setprio",      "s.sleep", "s.sendmsg",
    "s.dcache.inv", "s.dcache.wb",   "buffer.wbinvl1",      "s.incperflevel", "s.decperflevel", "s.nop"};

// True if `name` is `base`, or `base` followed by operand types: rcp and rcp.f32, but not exp2 and exp.
bool is_overload(std::string_view name, std::string_view base) {
  if (!name.starts_with(base)) return false;
  std::string_view rest = name.substr(base.size());
  while (!rest.empty()) {
    if (rest.size() < 2 || rest[0] != '.') return false;
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find('.'), rest.size());
    const std::string_view type = rest.substr(0, end);
    if (type.find_first_of("ifvbp") != 0 || type.find_first_of("0123456789") == std::string_view::npos) return false;
    rest.remove_prefix(end);
  }
  return true;
}

}  // namespace

Intrinsic find_intrinsic(std::string_view name) {
  const auto among = [&](const auto& names) {
    return std::any_of(std::begin(names), std::end(names),
                       [&](std::string_view base) { return is_overload(name, base); });
  };
  if (among(kPlain)) return Intrinsic::plain;
  if (among(kWave)) return Intrinsic::wave;
  if (among(kBarrier)) return Intrinsic::barrier;
  return among(kNothing) ? Intrinsic::nothing : Intrinsic::unknown;
}

std::string runtime_function(std::string_view name) {
  std::string function = "tern_amdgcn_" + std::string(name);
  std::replace(function.begin(), function.end(), '.', '_');
  return function;
}

}  // namespace tern::gpu::amd
