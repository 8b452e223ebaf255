# The contraction engine. Each kernels_*.cpp is compiled for its own instruction set and shares no
# inline code with the others; isa.cpp decides at run time which of them may be called.

plait_room(cpu_contract
  SOURCES
    contract/blocking.cpp
    contract/contract.cpp
    contract/definition.cpp
    contract/finish.cpp
    contract/isa.cpp
    contract/kernels_portable.cpp
    contract/pack.cpp
    contract/sliding.cpp
    contract/stencil.cpp
    contract/variant.cpp
    contract/walk.cpp
    contract/winograd.cpp
    contract/winograd_forward.cpp
    contract/winograd_weights.cpp
  DEPENDS base
)
set_source_files_properties(contract/kernels_portable.cpp PROPERTIES COMPILE_OPTIONS "-O3")

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_sources(plait_cpu_contract PRIVATE
    contract/kernels_avx2.cpp contract/kernels_avx512.cpp contract/kernels_avx512bf16.cpp
    contract/kernels_amx.cpp)
  set(avx2 -O3 -mavx2 -mfma -mf16c)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND avx512 -Wno-maybe-uninitialized)  # g++ 12's own AVX-512 header
  endif()
  set_source_files_properties(contract/kernels_avx2.cpp PROPERTIES COMPILE_OPTIONS "${avx2}")
  set_source_files_properties(contract/kernels_avx512.cpp PROPERTIES COMPILE_OPTIONS "${avx512}")
  set_source_files_properties(contract/kernels_avx512bf16.cpp PROPERTIES
    COMPILE_OPTIONS "${avx512};-mavx512bf16")
  set_source_files_properties(contract/kernels_amx.cpp PROPERTIES
    COMPILE_OPTIONS "${avx512};-mavx512bf16;-mamx-tile;-mamx-bf16")
endif()
