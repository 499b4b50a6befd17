/* Stand-ins for Apple's headers used by metal-cpp, for compilers elsewhere: this file and its neighbours. */
#pragma once
#define TARGET_OS_OSX 1
#define __MAC_OS_X_VERSION_MIN_REQUIRED 130000
