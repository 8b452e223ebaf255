# The hand kernels of the CUDA backend: their text and plans. No CUDA is needed to build them.
set(hand_room ${CMAKE_CURRENT_LIST_DIR})
plait_room(cuda_hand
  SOURCES ${hand_room}/arg.cpp ${hand_room}/hand.cpp ${hand_room}/parts.cpp
    ${hand_room}/scatter_lists_text.cpp ${hand_room}/scatter_text.cpp ${hand_room}/wkv.cpp
    ${hand_room}/wkv_backward_chunk.cpp ${hand_room}/wkv_backward_text.cpp
    ${hand_room}/wkv_forward_text.cpp ${hand_room}/wkv_text.cpp
  ALONE ${hand_room}/random.cpp ${hand_room}/scan.cpp ${hand_room}/scatter.cpp
  DEPENDS ops)
