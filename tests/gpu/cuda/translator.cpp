#include "tests/gpu/cuda/translator.h"

#include <exception>

#include "tests/gpu/machine/status.h"

#ifdef TERN_EMULATOR_PTX
#include "tests/gpu/ptx/translate.h"
#endif

namespace tern::emulator::cuda {

std::string library_of_ptx(const std::string& ptx, bool counts) {
#ifdef TERN_EMULATOR_PTX
  try {
    return emulated::compile_ptx_c(emulated::to_c(ptx, counts ? emulated::Counts::on : emulated::Counts::off));
  } catch (const std::exception& error) {
    refuse(Status::invalid_text, "%s", error.what());
  }
#else
  static_cast<void>(ptx), static_cast<void>(counts);
  refuse(Status::invalid_text, "this build of the emulated driver has no translator of PTX (tests/gpu/ptx)");
#endif
}

}  // namespace tern::emulator::cuda
