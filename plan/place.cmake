# Offsets in one arena, and the picture of it.

plait_room(plan_place
  SOURCES place.cpp place_greedy.cpp place_order.cpp place_problem.cpp timeline.cpp
  ALONE place_search.cpp
  DEPENDS base
)
