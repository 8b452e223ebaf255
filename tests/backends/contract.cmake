# The contraction engine on its own: test_contract.

plait_tests(contract
  SOURCES contract_test.cpp contract_variant_test.cpp winograd_test.cpp contract_emulated.cpp
  DEPENDS cpu_contract
)
