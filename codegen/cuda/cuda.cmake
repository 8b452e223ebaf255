# Loop kernels and contractions as CUDA C++ text. Included from codegen/.

set(cuda_room ${CMAKE_CURRENT_LIST_DIR})
include(${cuda_room}/../embed.cmake)
plait_embed(${CMAKE_CURRENT_BINARY_DIR}/cuda_types_text.cpp cuda_types_text
  codegen/cuda/prelude_text.h PARTS ${cuda_room}/prelude_types.h)
set(cuda_parts)
foreach(part device mma tile product pair reduce)
  list(APPEND cuda_parts ${cuda_room}/prelude_${part}.h)
endforeach()
plait_embed(${CMAKE_CURRENT_BINARY_DIR}/cuda_device_text.cpp cuda_device_text
  codegen/cuda/prelude_text.h PARTS ${cuda_parts})

plait_room(codegen_cuda
  SOURCES
    ${cuda_room}/body.cpp ${cuda_room}/body_inner.cpp ${cuda_room}/body_loads.cpp
    ${cuda_room}/columns.cpp ${cuda_room}/header.cpp
    ${cuda_room}/print.cpp ${cuda_room}/product.cpp
    ${cuda_room}/product_element.cpp ${cuda_room}/product_form.cpp ${cuda_room}/product_guess.cpp
    ${cuda_room}/product_shape.cpp
    ${cuda_room}/rows.cpp ${cuda_room}/schedule.cpp
    ${CMAKE_CURRENT_BINARY_DIR}/cuda_types_text.cpp ${CMAKE_CURRENT_BINARY_DIR}/cuda_device_text.cpp
  ALONE ${cuda_room}/columns_gather.cpp ${cuda_room}/prepare.cpp
  DEPENDS codegen loop codegen_prelude
)
