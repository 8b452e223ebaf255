# CUDA text: on the emulated device, or with PLAIT_TEST_DEVICE=gpu on a GPU.
plait_tests(cuda_print
  SOURCES cuda_columns_test.cpp kernel_oracle.cpp run_printed.cpp ../backends/device_under_test.cpp
  ALONE cuda_print_test.cpp
  DEPENDS codegen_cuda backends cuda_emulated)
plait_tests(cuda_product
  SOURCES cuda_product_test.cpp cuda_product_element_test.cpp
          cuda_product_together_test.cpp cuda_product_long_test.cpp
          ../backends/device_under_test.cpp
  ALONE cuda_product_shape_test.cpp
  DEPENDS codegen_cuda backends backends_cuda cuda_emulated)
