# Hand kernels. The lanes_*.cpp files are one source compiled per instruction set.
plait_room(cpu_hand
  SOURCES hand/arg.cpp hand/hand.cpp hand/lanes.cpp hand/lanes_avx2.cpp hand/lanes_avx512.cpp
    hand/lanes_sse2.cpp hand/random.cpp hand/scan.cpp hand/scatter.cpp hand/wkv.cpp
  DEPENDS ops)
# No flag here changes a result: traps and errno are not looked at, omp simd says what is independent.
set(lanes_options -O3 -fopenmp-simd -fno-math-errno -fno-trapping-math)
set_source_files_properties(hand/arg.cpp hand/random.cpp hand/scan.cpp hand/scatter.cpp
  hand/lanes_sse2.cpp PROPERTIES COMPILE_OPTIONS "${lanes_options}")
set_source_files_properties(hand/lanes_avx2.cpp
  PROPERTIES COMPILE_OPTIONS "${lanes_options};-mavx2")
set_source_files_properties(hand/lanes_avx512.cpp
  PROPERTIES COMPILE_OPTIONS "${lanes_options};-mavx512f;-mavx512vl;-mavx512dq;-mavx512bw")
