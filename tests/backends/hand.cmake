plait_tests(hand
  SOURCES hand_test.cpp hand_wkv_test.cpp
  DEPENDS cpu_hand)
