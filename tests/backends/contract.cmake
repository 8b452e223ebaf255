# The contraction engine on its own: test_contract.

plait_tests(contract
  SOURCES contract_test.cpp contract_variant_test.cpp winograd_test.cpp contract_long_test.cpp
    contract_emulated.cpp
  DEPENDS cpu_contract
)
# Its kernels write every step out for sixteen lanes one at a time: checked by a sanitizer too, the file
# takes longer than ten minutes to compile. Its memory is fenced by the tests themselves.
set_source_files_properties(contract_emulated.cpp PROPERTIES COMPILE_OPTIONS "-fno-sanitize=all")
