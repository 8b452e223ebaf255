# The prelude of generated kernels: its headers for our own C++, and its text for the printer.

include(${CMAKE_CURRENT_LIST_DIR}/embed.cmake)
set(prelude_parts)
foreach(part bits ops exp trig double random)
  list(APPEND prelude_parts ${CMAKE_CURRENT_SOURCE_DIR}/prelude_${part}.h)
endforeach()
plait_embed(${CMAKE_CURRENT_BINARY_DIR}/prelude_text.cpp prelude_text codegen/prelude_text.h
  PARTS ${prelude_parts})
plait_room(codegen_prelude SOURCES ${CMAKE_CURRENT_BINARY_DIR}/prelude_text.cpp)
