#include "platform/thread.h"

#include "platform/windows/system.h"

namespace tern::platform {

std::uint32_t thread_number() {
  return ::GetCurrentThreadId();
}

std::string thread_name() {
  wchar_t* text = nullptr;
  if (FAILED(::GetThreadDescription(::GetCurrentThread(), &text)) || text == nullptr) return {};
  std::string name = narrow(text);
  ::LocalFree(text);
  return name;
}

void set_thread_name(const char* name) {
  ::SetThreadDescription(::GetCurrentThread(), wide(name).c_str());
}

void lower_priority() {
  ::SetThreadPriority(::GetCurrentThread(), THREAD_PRIORITY_LOWEST);
}

int current_processor() {
  PROCESSOR_NUMBER number{};
  ::GetCurrentProcessorNumberEx(&number);
  constexpr int kGroupSize = 64;
  return number.Group * kGroupSize + number.Number;
}

void leave_processor(int busy) {
  constexpr int kGroupSize = 64;
  if (busy < 0 || current_processor() != busy) return;
  GROUP_AFFINITY all{};
  if (::GetThreadGroupAffinity(::GetCurrentThread(), &all) == 0) return;
  GROUP_AFFINITY others = all;
  others.Mask &= ~(KAFFINITY{1} << (busy % kGroupSize));
  if (others.Mask == 0 || ::SetThreadGroupAffinity(::GetCurrentThread(), &others, nullptr) == 0) return;
  ::SetThreadGroupAffinity(::GetCurrentThread(), &all, nullptr);
}

struct SignalsBlocked::SavedSignals {};

SignalsBlocked::SignalsBlocked() = default;
SignalsBlocked::~SignalsBlocked() = default;

}  // namespace tern::platform
