# The hand kernels of the CUDA backend: their sources (*.cuh), which are embedded as texts, and their
# plans. No CUDA is needed to build them.

set(hand_room ${CMAKE_CURRENT_LIST_DIR})
include(${PROJECT_SOURCE_DIR}/codegen/embed.cmake)
set(hand_texts)
set(before_wkv ${hand_room}/wkv_chunks.cuh)
set(before_attention_plain ${hand_room}/attention.cuh)
set(before_attention_forward ${hand_room}/attention.cuh ${hand_room}/attention_tile.cuh)
set(before_attention_backward ${before_attention_forward})
foreach(source arg attention_backward attention_bounds attention_forward attention_plain parts random
    scan scatter wkv)
  plait_embed(${CMAKE_CURRENT_BINARY_DIR}/hand_${source}.cpp hand_${source}
    backends/cuda/hand/sources.h PARTS ${before_${source}} ${hand_room}/${source}.cuh)
  list(APPEND hand_texts ${CMAKE_CURRENT_BINARY_DIR}/hand_${source}.cpp)
endforeach()
plait_room(cuda_hand
  SOURCES ${hand_room}/arg.cpp ${hand_room}/hand.cpp ${hand_room}/parts.cpp ${hand_room}/wkv.cpp
    ${hand_texts}
  ALONE ${hand_room}/attention.cpp ${hand_room}/random.cpp ${hand_room}/scan.cpp
    ${hand_room}/scatter.cpp
  DEPENDS ops)
