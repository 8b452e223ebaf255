# The pool of threads.

find_package(Threads REQUIRED)
plait_room(cpu_pool
  SOURCES pool.cpp
  DEPENDS base Threads::Threads
)
