// Cancelled threads.
#pragma once

#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif

namespace tern::platform {

/// Exception that unwinds a thread after pthread_cancel; a handler must throw it on. libstdc++ alone has such an
/// exception: with other libraries nothing throws this type.
#ifdef __GLIBCXX__
using ThreadCancelled = abi::__forced_unwind;
#else
struct ThreadCancelled {};
#endif

}  // namespace tern::platform
