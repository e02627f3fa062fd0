# dltrain_pure_library(<name> <library>... [ROOMS <folder>...]): every *.cc below the current folder, or in these folders
# of it, as one library.
#
# An algorithm, a topology or a model is added by adding its file. A shared library, or, in an ns-3 source tree, an OBJECT
# library that becomes part of the module's: algorithms register themselves, and an archive would drop every object that
# nothing names.
include_guard(GLOBAL)
set(DLTRAIN_SETUP_DIR ${CMAKE_CURRENT_LIST_DIR})
include(${DLTRAIN_SETUP_DIR}/../../contrib/rdma/compile-together.cmake)

function(dltrain_pure_library name)
  cmake_parse_arguments(pure "" "" "ROOMS" ${ARGN})
  if(pure_ROOMS)
    list(TRANSFORM pure_ROOMS REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/\\1/*.cc")
    file(GLOB sources CONFIGURE_DEPENDS ${pure_ROOMS})
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  endif()
  compile_together(sources ${sources})
  if(NOT sources)
    # CMake refuses a library without sources; a folder may hold headers or data only.
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/${name}-empty.cc)
    file(WRITE ${sources} "")
  endif()
  if(DLTRAIN_PURE_OBJECTS)
    add_library(${name} OBJECT ${sources})
  else()
    add_library(${name} SHARED ${sources})
    string(REPLACE "_" "-" file ${name})
    set_target_properties(${name} PROPERTIES OUTPUT_NAME ${file})
  endif()
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
  # Nothing here hears of each packet: less time to compile.
  target_compile_options(${name} PRIVATE -Wall -Wextra $<$<CONFIG:RELEASE>:-O2>)
  # Ahead of ns-3's own folder, which has copies of some headers: files of the same names make the same objects.
  get_filename_component(top ${DLTRAIN_SETUP_DIR}/../.. ABSOLUTE)
  target_include_directories(${name} BEFORE PRIVATE ${top})
  target_link_libraries(${name} PUBLIC ${pure_UNPARSED_ARGUMENTS})
endfunction()
