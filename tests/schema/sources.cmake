# Written by ./dev sources.
set(sources
  contraction_rules_test.cpp
  dead_code_test.cpp
  def_use_test.cpp
  forms_test.cpp
  linalg_rules_test.cpp
  linear_test.cpp
  movement_rules_test.cpp
  op_record_test.cpp
  pointwise_check_test.cpp
  pointwise_rules_test.cpp
  quantized_rules_test.cpp
  reduction_rules_test.cpp
  training_rules_test.cpp)
