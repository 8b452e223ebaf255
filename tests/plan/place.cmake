# Tests of plan/place and plan/timeline.

plait_tests(place
  SOURCES place_test.cpp place_search_test.cpp timeline_test.cpp
  DEPENDS plan_place
)
