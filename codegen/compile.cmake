# The system's C compiler behind a cache.

find_package(Threads REQUIRED)
plait_room(codegen_compile
  SOURCES cache.cpp compile.cpp compiler.cpp library.cpp places.cpp trusted.cpp
  DEPENDS base Threads::Threads
)
target_link_libraries(plait_codegen_compile PUBLIC ${CMAKE_DL_LIBS})
