# Tests of the compiler and its cache.

plait_tests(compile
  SOURCES cache_test.cpp cache_trust_test.cpp compile_test.cpp compile_trouble_test.cpp
  DEPENDS codegen_compile
)
