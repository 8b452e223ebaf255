# Tests of plan/save.

plait_tests(save
  SOURCES save_test.cpp save_damage_test.cpp save_check_test.cpp
  DEPENDS run models
)
