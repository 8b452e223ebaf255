# The emulated device, and CUDA's hand kernels: on it, or with PLAIT_TEST_DEVICE=gpu on a GPU.
plait_tests(cuda_emulated
  SOURCES cuda_emulated_test.cpp
  DEPENDS cuda_emulated)
plait_tests(cuda_hand
  SOURCES cuda_hand_test.cpp cuda_attention_test.cpp device_under_test.cpp
  DEPENDS backends_cuda backends cuda_emulated)
plait_tests(cuda_whole
  SOURCES cuda_whole_test.cpp device_under_test.cpp
  DEPENDS codegen_cuda backends backends_cuda cuda_emulated)
plait_tests(cuda_feeds
  SOURCES cuda_ahead_test.cpp device_under_test.cpp
  ALONE cuda_feeds_test.cpp
  DEPENDS train run backends_cuda backends cuda_emulated)
plait_tests(cuda_autotuner
  SOURCES cuda_autotuner_test.cpp
  DEPENDS backends_cuda)
