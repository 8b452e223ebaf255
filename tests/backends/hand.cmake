plait_tests(hand
  SOURCES hand_test.cpp hand_attention_test.cpp hand_wkv_test.cpp contract_emulated.cpp
  DEPENDS cpu_hand cpu_pool)
