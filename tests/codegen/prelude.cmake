# Tests of the prelude.

plait_tests(prelude
  SOURCES prelude_bits_test.cpp prelude_math_test.cpp prelude_ops_test.cpp
  ALONE prelude_vector_test.cpp
  DEPENDS codegen_prelude loop base
)
target_link_libraries(test_prelude PRIVATE ${CMAKE_DL_LIBS})
