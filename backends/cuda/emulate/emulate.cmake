# A device for tests that runs kernel text on the CPU.

include(${PROJECT_SOURCE_DIR}/codegen/embed.cmake)
set(emulation_parts)
foreach(part emulation emulation_warp emulation_math emulation_run)
  list(APPEND emulation_parts ${CMAKE_CURRENT_LIST_DIR}/${part}.h)
endforeach()
plait_embed(${CMAKE_CURRENT_BINARY_DIR}/emulation_text.cpp emulation_text
  backends/cuda/emulate/emulation_text.h PARTS ${emulation_parts})
plait_room(cuda_emulated
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/emulated_device.cpp ${CMAKE_CURRENT_LIST_DIR}/fiber.cpp
    ${CMAKE_CURRENT_BINARY_DIR}/emulation_text.cpp
  DEPENDS codegen_compile)
