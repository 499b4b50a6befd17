// The only file with metal-cpp's definitions: selectors and classes, looked up when the library is loaded.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include "devices/metal/metal_cpp.h"
