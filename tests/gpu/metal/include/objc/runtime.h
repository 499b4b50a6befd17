#pragma once
#include <TargetConditionals.h>
#include <math.h> /* metal-cpp reads INFINITY */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct objc_class* Class;
typedef struct objc_selector* SEL;
struct objc_object {
  Class isa;
};
typedef struct objc_object* id;

SEL sel_registerName(const char* name);
const char* sel_getName(SEL selector);
id objc_lookUpClass(const char* name);
id objc_getProtocol(const char* name);

#ifdef __cplusplus
}
#endif
