# How a room, its tests and the benches become targets.
# A list without sources is allowed: it makes an interface library, or no executable.

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

# plait_room(NAME [SOURCES a.cpp ...] [DEPENDS room ... package::target ...])
function(plait_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  plait_targets(depends ${arg_DEPENDS})
  if(arg_SOURCES)
    add_library(plait_${name} STATIC ${arg_SOURCES})
    target_link_libraries(plait_${name} PUBLIC plait_flags ${depends})
  else()
    add_library(plait_${name} INTERFACE)
    target_link_libraries(plait_${name} INTERFACE plait_flags ${depends})
  endif()
endfunction()

# plait_tests(ROOM [SOURCES a_test.cpp ...] [DEPENDS room ...])
# One executable per room; every case is its own ctest test, run from the repository root.
function(plait_tests room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  if(NOT arg_SOURCES)
    return()
  endif()
  plait_targets(depends ${arg_DEPENDS})
  add_executable(test_${room} ${arg_SOURCES})
  target_link_libraries(test_${room} PRIVATE plait_flags ${depends} GTest::gtest_main)
  gtest_discover_tests(test_${room}
    TEST_PREFIX ${room}.
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    NO_PRETTY_VALUES  # names as they are: a value may be an address
    PROPERTIES TIMEOUT 300 LABELS ${room})
endfunction()
