# Hand kernels. The lanes_*.cpp files are one source compiled per instruction set.
plait_room(cpu_hand
  SOURCES hand/arg.cpp hand/attention.cpp hand/attention_avx2.cpp hand/attention_avx512.cpp
    hand/attention_avx512bf16.cpp hand/attention_backward.cpp hand/attention_forward.cpp
    hand/attention_portable.cpp hand/attention_rows.cpp hand/attention_tiles.cpp hand/hand.cpp
    hand/lanes.cpp hand/lanes_avx2.cpp hand/lanes_avx512.cpp hand/lanes_sse2.cpp hand/random.cpp
    hand/scan.cpp hand/scatter.cpp hand/wkv.cpp
  DEPENDS ops cpu_contract)
# No flag here changes a result: traps and errno are not looked at, omp simd says what is independent.
set(lanes_options -O3 -fopenmp-simd -fno-math-errno -fno-trapping-math)
set_source_files_properties(hand/arg.cpp hand/random.cpp hand/scan.cpp hand/scatter.cpp
  hand/lanes_sse2.cpp PROPERTIES COMPILE_OPTIONS "${lanes_options}")
set_source_files_properties(hand/lanes_avx2.cpp
  PROPERTIES COMPILE_OPTIONS "${lanes_options};-mavx2")
set_source_files_properties(hand/lanes_avx512.cpp
  PROPERTIES COMPILE_OPTIONS "${lanes_options};-mavx512f;-mavx512vl;-mavx512dq;-mavx512bw")
# Attention's passes, beside the tiles of the contraction engine and with its flags.
set(attention_avx2 -O3 -mavx2 -mfma -mf16c)
set(attention_avx512 ${attention_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl
  -mprefer-vector-width=512)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND attention_avx512 -Wno-maybe-uninitialized)  # g++ 12's own AVX-512 header
endif()
set_source_files_properties(hand/attention_portable.cpp hand/attention_tiles.cpp
  PROPERTIES COMPILE_OPTIONS "-O3")
set_source_files_properties(hand/attention_avx2.cpp
  PROPERTIES COMPILE_OPTIONS "${attention_avx2}")
set_source_files_properties(hand/attention_avx512.cpp
  PROPERTIES COMPILE_OPTIONS "${attention_avx512}")
set_source_files_properties(hand/attention_avx512bf16.cpp
  PROPERTIES COMPILE_OPTIONS "${attention_avx512};-mavx512bf16")
