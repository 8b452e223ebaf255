# lab_reduce: one reduction, from naive to fast.

set(lab_reduce_vectors)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(lab_reduce_vectors lab_reduce_avx2.cpp)
  set_source_files_properties(lab_reduce_avx2.cpp PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
endif()
add_executable(lab_reduce lab_reduce.cpp ${lab_reduce_vectors})
target_link_libraries(lab_reduce PRIVATE plait_profile)
set_target_properties(lab_reduce PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
