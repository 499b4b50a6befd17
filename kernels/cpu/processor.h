// What a processor is called by what was measured on it.
#pragma once

#include <tern/precision.h>

#include <string>

namespace tern::cpu {

/// Its maker, family, model and stepping, and what Tern takes of it: "AuthenticAMD 25.17.1 avx512". Processors of one
/// name have the same instructions, not the same clock.
std::string processor();
/// What `automatic` is here.
Precision resolved(Precision precision);

}  // namespace tern::cpu
