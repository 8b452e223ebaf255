# The default text: sources and documentation of a tree, one after the other in the order of their
# paths' bytes, each behind a line `// ==== path`. A script: it needs neither git nor a shell.
#
#   cmake -DROOT=tree -DOUT=corpus.txt "-DFOLDERS=base;ir;docs" -P corpus.cmake
#
# Files of ROOT itself that end in .md belong to it too. OUT is written only when it changes.

foreach(name ROOT OUT FOLDERS)
  if(NOT DEFINED ${name} OR "${${name}}" STREQUAL "")
    message(FATAL_ERROR "corpus.cmake: -D${name}=... is missing")
  endif()
endforeach()

file(GLOB files LIST_DIRECTORIES false RELATIVE ${ROOT} ${ROOT}/*.md)
foreach(folder IN LISTS FOLDERS)
  if(NOT IS_DIRECTORY ${ROOT}/${folder})
    message(FATAL_ERROR "corpus.cmake: ${ROOT} has no folder ${folder}")
  endif()
  file(GLOB_RECURSE found LIST_DIRECTORIES false RELATIVE ${ROOT}
    ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.md)
  list(APPEND files ${found})
endforeach()
list(REMOVE_DUPLICATES files)
list(SORT files COMPARE STRING)
if(NOT files)
  message(FATAL_ERROR "corpus.cmake: no sources below ${ROOT}")
endif()

# What a list or a bracket is to CMake stays text as long as it is only ever quoted.
file(WRITE ${OUT}.new "")
foreach(path IN LISTS files)
  file(READ ${ROOT}/${path} text)
  file(APPEND ${OUT}.new "// ==== ${path}\n")
  file(APPEND ${OUT}.new "${text}")
  if(NOT text MATCHES "\n$")
    file(APPEND ${OUT}.new "\n")
  endif()
endforeach()
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUT}.new)
