# Offsets in one arena, and the picture of it.

set(place_folder ${CMAKE_CURRENT_LIST_DIR})
plait_room(plan_place
  SOURCES ${place_folder}/greedy.cpp ${place_folder}/order.cpp ${place_folder}/place.cpp
    ${place_folder}/problem.cpp ${place_folder}/timeline.cpp
  ALONE ${place_folder}/search.cpp
  DEPENDS base
)
