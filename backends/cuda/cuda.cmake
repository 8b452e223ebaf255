# CUDA, included from backends/. The target itself is a room that needs nothing of NVIDIA's and runs
# in tests on an emulated device; libplait_cuda.so adds the driver and NVIDIA's libraries, is built
# when their headers are found, and links none of them: all are opened when the program runs.

set(cuda_room ${CMAKE_CURRENT_LIST_DIR})

include(${cuda_room}/hand/hand.cmake)
set(cuda_texts)
foreach(source ceilings placer sweep)
  plait_embed(${CMAKE_CURRENT_BINARY_DIR}/cuda_${source}.cpp cuda_${source}
    backends/cuda/sources.h PARTS ${cuda_room}/${source}.cuh)
  list(APPEND cuda_texts ${CMAKE_CURRENT_BINARY_DIR}/cuda_${source}.cpp)
endforeach()
plait_room(backends_cuda
  SOURCES ${cuda_room}/binding.cpp ${cuda_room}/code.cpp ${cuda_room}/autotuner.cpp ${cuda_room}/fused.cpp
    ${cuda_room}/feed_staging.cpp ${cuda_room}/library_guess.cpp ${cuda_room}/runtime.cpp ${cuda_room}/target.cpp ${cuda_room}/candidate_timer.cpp
    ${cuda_room}/units.cpp ${cuda_room}/single_kernel.cpp ${cuda_texts}
  ALONE ${cuda_room}/ceilings.cpp ${cuda_room}/placer.cpp
  DEPENDS ops program backends_tuning codegen codegen_cuda cuda_hand
)

# Rooms that a library is made of, with all they depend on: code for any address, calls as direct as
# in a program.
function(plait_position_independent target)
  if(NOT TARGET ${target})
    return()
  endif()
  get_target_property(type ${target} TYPE)
  get_target_property(imported ${target} IMPORTED)
  if(type STREQUAL "STATIC_LIBRARY" AND NOT imported)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-semantic-interposition>)
  endif()
  get_target_property(depends ${target} INTERFACE_LINK_LIBRARIES)
  foreach(name IN LISTS depends)
    if(name MATCHES "^plait_")
      plait_position_independent(${name})
    endif()
  endforeach()
endfunction()

find_package(CUDAToolkit QUIET)
set(cuda_missing)
set(cuda_includes)
foreach(header cuda.h nvrtc.h cublasLt.h cudnn.h)
  string(MAKE_C_IDENTIFIER ${header} name)
  find_path(PLAIT_${name} ${header} HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDNN_HOME
    PATH_SUFFIXES include)
  mark_as_advanced(PLAIT_${name})
  if(PLAIT_${name})
    list(APPEND cuda_includes ${PLAIT_${name}})
  else()
    list(APPEND cuda_missing ${header})
  endif()
endforeach()

if(cuda_missing)
  list(JOIN cuda_missing ", " cuda_missing)
  message(STATUS "CUDA: there is no ${cuda_missing}; building without --backend cuda")
  return()
endif()
list(REMOVE_DUPLICATES cuda_includes)

plait_position_independent(plait_backends_cuda)
file(GLOB library_sources CONFIGURE_DEPENDS ${cuda_room}/library/*.cpp)
add_library(plait_cuda MODULE
  ${cuda_room}/plugin.cpp
  ${cuda_room}/driver/api.cpp
  ${cuda_room}/driver/build.cpp
  ${cuda_room}/driver/context.cpp
  ${cuda_room}/driver/driver_device.cpp
  ${cuda_room}/driver/facts.cpp
  ${cuda_room}/driver/feed_stream.cpp
  ${cuda_room}/driver/findings.cpp
  ${cuda_room}/driver/kept_version.cpp
  ${cuda_room}/driver/nvrtc.cpp
  ${cuda_room}/driver/shared_library.cpp
  ${cuda_room}/driver/staging.cpp
  ${cuda_room}/driver/tensor_maps.cpp
  ${library_sources})
target_include_directories(plait_cuda SYSTEM PRIVATE ${cuda_includes})
target_link_libraries(plait_cuda PRIVATE plait_backends_cuda)
# The program sees the entry points only: whatever else both have, each keeps to its own.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/plait_cuda.map "{ global: plait_cuda_*; local: *; };\n")
target_link_options(plait_cuda PRIVATE
  -Wl,--version-script=${CMAKE_CURRENT_BINARY_DIR}/plait_cuda.map
  $<$<NOT:$<CONFIG:Sanitize>>:-Wl,-z,defs>)
set_target_properties(plait_cuda PROPERTIES
  PREFIX lib OUTPUT_NAME plait_cuda
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
  BUILD_RPATH "$ORIGIN;${CUDAToolkit_LIBRARY_DIR}")
# Whoever builds the program has the library of the same build.
cmake_language(DEFER DIRECTORY ${PROJECT_SOURCE_DIR} CALL add_dependencies plait plait_cuda)
