#include "tools/train/interrupt.h"

#include <array>
#include <csignal>

namespace tern::train {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM};
volatile std::sig_atomic_t asked_to_stop = 0;
std::array<struct sigaction, kSignals.size()> before;

void remember(int) {
  asked_to_stop = 1;
}

}  // namespace

Interrupt::Interrupt() {
  asked_to_stop = 0;
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &before[i]);
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before[i], nullptr);
}

bool Interrupt::asked() const {
  return asked_to_stop != 0;
}

}  // namespace tern::train
