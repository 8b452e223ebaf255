# Files and tables of a profile, the former read back by io/megengine and reported on.

plait_tests(profile
  SOURCES megengine_test.cpp peaks_test.cpp table_test.cpp trace_test.cpp
  DEPENDS profile io_megengine report_megengine
)
