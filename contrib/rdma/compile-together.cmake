# compile_together(<variable> <source>...): sets the variable to files that each include some of the sources.
#
# Most of the time that a source takes to compile goes into its headers: ns-3's, nlohmann's, those of its own folder.
# Sources of a group read them once, which makes the first build about three times as fast. A group has sources of one
# folder with the same COMPILE_OPTIONS, which are to be set before; folders in the list `compile_rooms`, with those below
# them, are as one. Compiled alone are a source with COMPILE_DEFINITIONS and one that git does not have yet: who writes a
# new law waits for that law.
#
# Groups with COMPILE_OPTIONS come last: of a function that several objects have, the linker takes the first, which is the
# one with the target's own options.
#
# A name in an unnamed namespace is its folder's, then, not its file's. The g_log of NS_LOG_COMPONENT_DEFINE is its file's
# all the same: a group renames it.
include_guard(GLOBAL)
option(DLTRAIN_COMPILE_TOGETHER "Compile sources in groups; OFF shows a forgotten include" ON)

function(compile_together variable)
  if(NOT DLTRAIN_COMPILE_TOGETHER)
    set(${variable} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  # Bytes of the sources of a group. Above the least, a hash of a source's name decides whether its group ends there: a
  # new source changes its own group and perhaps the next, not all.
  set(least 300000)
  set(most 420000)
  execute_process(
    COMMAND git ls-files --others --exclude-standard -- CMakeLists.txt "*.cc"
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE new ERROR_QUIET
  )
  string(REGEX REPLACE "\n" ";" new "${new}")
  if(CMakeLists.txt IN_LIST new)
    set(new "") # a copy in a repository of somebody else's: none of it is more recent than the rest
  endif()
  list(TRANSFORM new PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  get_filename_component(base ${CMAKE_CURRENT_SOURCE_DIR} DIRECTORY)
  set(sources ${ARGN})
  list(SORT sources)
  set(compiled "")
  set(compiled_with_options "")
  set(groups "")
  foreach(source ${sources})
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(definitions OR source IN_LIST new)
      list(APPEND compiled ${source})
      continue()
    endif()
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_filename_component(name ${source} NAME_WE)
    get_filename_component(folder ${source} DIRECTORY)
    file(RELATIVE_PATH room ${CMAKE_CURRENT_SOURCE_DIR} ${folder})
    string(REGEX REPLACE "/.*" "" first "${room}")
    if(NOT room)
      set(room top)
      set(first top)
    endif()
    if(first IN_LIST compile_rooms OR room IN_LIST compile_rooms)
      set(room rooms)
    endif()
    string(MD5 kind "${room} ${options}")
    if(NOT group_${kind})
      set(group_${kind} together/${room}/from-${name}.cc)
      list(APPEND groups ${group_${kind}})
      set(options_${group_${kind}} ${options})
      set(size_${kind} 0)
    endif()
    file(RELATIVE_PATH path ${base} ${source})
    file(STRINGS ${source} logs REGEX "^NS_LOG_COMPONENT_DEFINE" LIMIT_COUNT 1)
    if(logs)
      string(MAKE_C_IDENTIFIER "g_log_${name}" log)
      string(APPEND text_${group_${kind}} "#define g_log ${log}\n#include \"${path}\"\n#undef g_log\n")
    else()
      string(APPEND text_${group_${kind}} "#include \"${path}\"\n")
    endif()
    file(SIZE ${source} size)
    math(EXPR size_${kind} "${size_${kind}} + ${size}")
    string(MD5 hash ${name})
    if(size_${kind} GREATER most OR (size_${kind} GREATER least AND hash MATCHES "^[0-3]"))
      set(group_${kind} "")
    endif()
  endforeach()
  foreach(group ${groups})
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${group})
    file(CONFIGURE OUTPUT ${file} CONTENT "${text_${group}}" @ONLY)
    set_source_files_properties(${file} PROPERTIES INCLUDE_DIRECTORIES ${base})
    if(options_${group})
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${options_${group}}")
      list(APPEND compiled_with_options ${file})
    else()
      list(APPEND compiled ${file})
    endif()
  endforeach()
  set(${variable} ${compiled} ${compiled_with_options} PARENT_SCOPE)
endfunction()
