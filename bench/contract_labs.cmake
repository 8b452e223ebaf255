# Labs of the contraction engine: lab_matmul and lab_conv, from plain loops to the engine.

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(contract_lab_avx2.cpp PROPERTIES COMPILE_OPTIONS "-O3;-mavx2;-mfma")
  set_source_files_properties(contract_lab_avx512.cpp PROPERTIES COMPILE_OPTIONS "-mavx512f")
  foreach(lab lab_matmul lab_conv)
    add_executable(${lab} ${lab}.cpp contract_lab_avx2.cpp contract_lab_avx512.cpp)
    target_link_libraries(${lab} PRIVATE plait_flags plait_cpu_contract)
    set_target_properties(${lab} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  endforeach()
endif()
