# How a room, its tests and the benches become targets.
# A list without sources is allowed: it makes an interface library, or no executable.
#
# Reading headers is most of a compilation, so up to eight sources are compiled as one unit. Sources
# under ALONE stay by themselves: a name in their anonymous namespace, or one that they import, means
# something else in a sibling. -DPLAIT_UNITY=OFF compiles every source by itself: a full build takes
# 2.5 times as long, a changed file less.
option(PLAIT_UNITY "compile sources in groups" ON)

include(GoogleTest)

# room names become targets (ir -> plait_ir); names with :: are targets of a package already.
function(plait_targets out)
  set(targets)
  foreach(name IN LISTS ARGN)
    if(name MATCHES "::")
      list(APPEND targets ${name})
    else()
      list(APPEND targets plait_${name})
    endif()
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# Groups a target's sources, but for those named behind it.
function(plait_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PLAIT_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# plait_room(NAME [SOURCES a.cpp ...] [ALONE b.cpp ...] [DEPENDS room ... package::target ...])
function(plait_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;ALONE;DEPENDS")
  plait_targets(depends ${arg_DEPENDS})
  if(arg_SOURCES)
    add_library(plait_${name} STATIC ${arg_SOURCES} ${arg_ALONE})
    plait_unity(plait_${name} ${arg_ALONE})
    target_link_libraries(plait_${name} PUBLIC plait_flags ${depends})
  else()
    add_library(plait_${name} INTERFACE)
    target_link_libraries(plait_${name} INTERFACE plait_flags ${depends})
  endif()
endfunction()

# plait_tests(ROOM [SOURCES a_test.cpp ...] [ALONE b_test.cpp ...] [DEPENDS room ...])
# One executable per room; every case is its own ctest test, run from the repository root.
function(plait_tests room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;ALONE;DEPENDS")
  if(NOT arg_SOURCES)
    return()
  endif()
  plait_targets(depends ${arg_DEPENDS})
  add_executable(test_${room} ${arg_SOURCES} ${arg_ALONE})
  plait_unity(test_${room} ${arg_ALONE})
  target_link_libraries(test_${room} PRIVATE plait_flags ${depends} GTest::gtest_main)
  gtest_discover_tests(test_${room}
    TEST_PREFIX ${room}.
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    NO_PRETTY_VALUES  # names as they are: a value may be an address
    PROPERTIES TIMEOUT 300 LABELS ${room})
endfunction()
