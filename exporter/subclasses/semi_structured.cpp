// torch.sparse's SparseSemiStructuredTensorCUTLASS: the kept elements of a 2:4 sparse matrix, and their places.
#include "exporter/subclasses/families.h"
#include "exporter/two_of_four.h"

namespace tern::subclasses {

ValueId dequantize_semi_structured(Builder& b, const QuantizedTensor& q) {
  return dense_of_two_in_four(b, q.value("packed"), q.value("meta"));
}

}  // namespace tern::subclasses
