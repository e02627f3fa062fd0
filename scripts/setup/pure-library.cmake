# dltrain_pure_library(<name> [FLAT] <library>...): every *.cc below the current folder as one library; FLAT: in it alone.
#
# Used by the standalone build and by contrib/dltrain inside ns-3, so that an algorithm, a topology or a
# model is added by adding its file. An OBJECT library, because algorithms register themselves: an
# archive would drop every object that nothing names.
include_guard(GLOBAL)
set(DLTRAIN_SETUP_DIR ${CMAKE_CURRENT_LIST_DIR})

function(dltrain_pure_library name)
  cmake_parse_arguments(pure "FLAT" "" "" ${ARGN})
  if(pure_FLAT)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  endif()
  list(SORT sources)
  if(NOT sources)
    # CMake refuses a library without sources; a folder may hold headers or data only.
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/${name}-empty.cc)
    file(WRITE ${sources} "")
  endif()
  add_library(${name} OBJECT ${sources})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
  target_compile_options(${name} PRIVATE -Wall -Wextra)
  # Ahead of ns-3's own folder, which has copies of some headers: files of the same names make the same objects.
  get_filename_component(top ${DLTRAIN_SETUP_DIR}/../.. ABSOLUTE)
  target_include_directories(${name} BEFORE PRIVATE ${top})
  target_link_libraries(${name} PUBLIC ${pure_UNPARSED_ARGUMENTS})
endfunction()

# dltrain_compile_together(<target> <folder>...): the sources of a folder that belong to the target are compiled some five
# to eight at a time. Most of what compiling one takes is reading what it includes (ns-3's headers, nlohmann's and its own
# folder's), which they then share: contrib/dltrain/model takes a third of the time. A file's name chooses its group, so
# that a new file changes one. Names without linkage are a folder's own then, not a file's.
option(DLTRAIN_COMPILE_TOGETHER "Compile sources of a folder some at a time: faster by a third" ON)
function(dltrain_compile_together target)
  if(NOT DLTRAIN_COMPILE_TOGETHER)
    return()
  endif()
  foreach(folder ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cc)
    list(LENGTH sources count)
    set(groups 1) # a power of two: few numbers of files have another one than their neighbours
    set(room 8)
    while(count GREATER room)
      math(EXPR groups "2 * ${groups}")
      math(EXPR room "2 * ${room}")
    endwhile()
    get_filename_component(folder_name ${folder} NAME)
    foreach(source ${sources})
      get_filename_component(name ${source} NAME_WE)
      string(MD5 hash ${name})
      string(SUBSTRING ${hash} 0 6 digits)
      math(EXPR group "0x${digits} % ${groups}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder_name}-${group})
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
