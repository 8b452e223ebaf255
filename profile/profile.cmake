# The room's one library. The loops that need an instruction set are compiled for it, and called
# where the processor has it.

set(profile_fma)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(profile_fma fma_avx2.cpp fma_avx512.cpp dot_avx512bf16.cpp dot_amx.cpp)
  set_source_files_properties(fma_avx2.cpp PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
  set_source_files_properties(fma_avx512.cpp PROPERTIES COMPILE_OPTIONS "-mavx512f")
  set_source_files_properties(dot_avx512bf16.cpp PROPERTIES
    COMPILE_OPTIONS "-mavx512f;-mavx512bf16")
  set_source_files_properties(dot_amx.cpp PROPERTIES COMPILE_OPTIONS "-mamx-tile;-mamx-bf16")
endif()
find_package(Threads REQUIRED)
plait_room(profile
  SOURCES clocks.cpp measures.cpp megengine.cpp peaks.cpp sequence.cpp table.cpp trace.cpp ${profile_fma}
  DEPENDS base nlohmann_json::nlohmann_json Threads::Threads
)
