/* What metal-cpp asks of Apple's headers, for compilers elsewhere: this file and those beside it. */
#pragma once
#define TARGET_OS_OSX 1
#define __MAC_OS_X_VERSION_MIN_REQUIRED 130000
