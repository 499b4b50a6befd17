#include "schema/op.h"

namespace tern {

std::string_view attr_name(AttrKey key) {
  switch (key) {
#define TERN_ATTR_NAME(number, name) \
  case AttrKey::name: return #name;
    TERN_ATTRS(TERN_ATTR_NAME)
#undef TERN_ATTR_NAME
  }
  return "unknown";
}

}  // namespace tern
