# The emulated device, and CUDA's hand kernels: on it, or with PLAIT_TEST_DEVICE=gpu on a GPU.
plait_tests(cuda_emulated
  SOURCES cuda_emulated_test.cpp
  DEPENDS cuda_emulated)
plait_tests(cuda_hand
  SOURCES cuda_hand_test.cpp device_under_test.cpp
  DEPENDS backends_cuda backends cuda_emulated)
