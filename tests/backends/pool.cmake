# Tests of the pool of threads.

plait_tests(pool
  SOURCES pool_test.cpp
  DEPENDS cpu_pool
)
