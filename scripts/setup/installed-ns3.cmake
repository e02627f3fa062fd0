# The modules of contrib/ and the programs of scratch/, against an installed ns-3 (Debian's libns3-dev).
#
# ns-3's own CMake files give a module build_lib, libcore, libnetwork, CMAKE_OUTPUT_DIRECTORY. The functions below have the
# same names and arguments, so that one CMakeLists.txt of a module serves an ns-3 source tree and an installed ns-3.
include_guard(GLOBAL)

set(CMAKE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_OUTPUT_DIRECTORY}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_OUTPUT_DIRECTORY}/bin)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_INSTALL_INCLUDEDIR include)
set(ENABLE_MPI OFF)

# ---- ns-3's libraries
find_path(NS3_HEADERS ns3/core-config.h REQUIRED)
file(GLOB ns3_version_file /usr/lib/*/cmake/ns3/ns3ConfigVersion.cmake ${NS3_HEADERS}/../lib*/cmake/ns3/ns3ConfigVersion.cmake)
foreach(file ${ns3_version_file})
  file(STRINGS ${file} version REGEX "^set\\(PACKAGE_VERSION \"[0-9.]+\"\\)")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" version "${version}")
  set(DLTRAIN_NS3_VERSION ${version} CACHE INTERNAL "Of the installed ns-3")
endforeach()
if(DLTRAIN_NS3_VERSION VERSION_GREATER_EQUAL 3.41) # its headers
  set(CMAKE_CXX_STANDARD 20)
endif()
file(GLOB installed_modules ${NS3_HEADERS}/ns3/*-module.h)
set(ns3_installed_libraries "")
foreach(header ${installed_modules})
  get_filename_component(module ${header} NAME)
  string(REPLACE "-module.h" "" module ${module})
  find_library(NS3_LIBRARY_${module} NAMES ns3-${module})
  mark_as_advanced(NS3_LIBRARY_${module})
  if(NS3_LIBRARY_${module})
    set(lib${module} ns3-${module})
    add_library(ns3-${module} SHARED IMPORTED)
    set_target_properties(
      ns3-${module} PROPERTIES IMPORTED_LOCATION ${NS3_LIBRARY_${module}} INTERFACE_INCLUDE_DIRECTORIES ${NS3_HEADERS}
    )
    list(APPEND ns3_installed_libraries ns3-${module})
  endif()
endforeach()
if(NOT TARGET ns3-core OR NOT TARGET ns3-network)
  message(FATAL_ERROR "No installed ns-3. Debian: apt-get install libns3-dev; or build ns-3 from source: ./ns3 configure --source")
endif()

# ns-3's module mpi is in no package. ./ns3 puts its sources here when a run wants several processes.
set(DLTRAIN_NS3_MPI_SOURCE "" CACHE PATH "Folder src/mpi of the ns-3 release that is installed")
if(DLTRAIN_NS3_MPI_SOURCE)
  find_package(MPI REQUIRED COMPONENTS CXX)
  file(GLOB mpi_sources ${DLTRAIN_NS3_MPI_SOURCE}/model/*.cc)
  add_library(ns3-mpi SHARED EXCLUDE_FROM_ALL ${mpi_sources})
  foreach(name mpi-interface mpi-receiver parallel-communication-interface)
    configure_file(${DLTRAIN_NS3_MPI_SOURCE}/model/${name}.h ${CMAKE_OUTPUT_DIRECTORY}/include/ns3/${name}.h COPYONLY)
  endforeach()
  target_include_directories(ns3-mpi PUBLIC ${CMAKE_OUTPUT_DIRECTORY}/include)
  target_compile_definitions(ns3-mpi PUBLIC NS3_MPI)
  target_link_libraries(ns3-mpi PUBLIC ns3-core ns3-network MPI::MPI_CXX)
  set(libmpi ns3-mpi)
endif()

# public_headers(<module> <header>...): as "ns3/x.h", and all of them as "ns3/<module>-module.h". The files name the real
# ones by a relative path: a clone that is moved needs no new ones.
function(public_headers module)
  set(folder ${CMAKE_OUTPUT_DIRECTORY}/include/ns3)
  set(all "")
  set(stubs "")
  foreach(header ${ARGN})
    get_filename_component(name ${header} NAME)
    file(RELATIVE_PATH path ${folder} ${CMAKE_CURRENT_SOURCE_DIR}/${header})
    file(CONFIGURE OUTPUT ${folder}/${name} CONTENT "#include \"${path}\"\n")
    string(APPEND all "#include \"${name}\"\n")
    list(APPEND stubs ${folder}/${name})
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/${module}-module.h CONTENT "${all}" @ONLY)
  # The header of a file that has gone would hide that somebody still includes it.
  foreach(old ${DLTRAIN_STUBS_${module}})
    if(NOT old IN_LIST stubs)
      file(REMOVE ${old})
    endif()
  endforeach()
  set(DLTRAIN_STUBS_${module} ${stubs} CACHE INTERNAL "Headers of ${module} in include/ns3")
endfunction()

# build_lib(LIBNAME x SOURCE_FILES ... HEADER_FILES ... LIBRARIES_TO_LINK ... TEST_SOURCES ...): targets ${libx}, its objects
# ${libx}-obj, and ${libx}-test, which the native test-runner links.
macro(build_lib)
  cmake_parse_arguments(
    BLIB "IGNORE_PCH" "LIBNAME" "SOURCE_FILES;HEADER_FILES;LIBRARIES_TO_LINK;TEST_SOURCES;PRIVATE_HEADER_FILES" ${ARGN}
  )
  set(lib${BLIB_LIBNAME} lib${BLIB_LIBNAME} CACHE INTERNAL "")
  module_library(${BLIB_LIBNAME})
endmacro()

function(module_library name)
  public_headers(${name} ${BLIB_HEADER_FILES})
  add_library(lib${name}-obj OBJECT ${BLIB_SOURCE_FILES})
  set_target_properties(lib${name}-obj PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(lib${name}-obj PUBLIC ${CMAKE_OUTPUT_DIRECTORY}/include ${NS3_HEADERS})
  add_library(lib${name} SHARED $<TARGET_OBJECTS:lib${name}-obj>)
  target_include_directories(lib${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_OUTPUT_DIRECTORY}/include>)
  target_link_libraries(lib${name} PUBLIC ${BLIB_LIBRARIES_TO_LINK})
  set_target_properties(lib${name} PROPERTIES OUTPUT_NAME ns3-${name})
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/examples/CMakeLists.txt)
    add_subdirectory(examples)
  endif()
  if(DLTRAIN_TESTS AND BLIB_TEST_SOURCES)
    # Most of the time that a test takes to compile goes into its headers: groups of tests read them once. Compiled once
    # and run for seconds, tests are not optimized.
    set(groups ${CMAKE_CURRENT_BINARY_DIR}/test-groups)
    execute_process(
      COMMAND /usr/bin/python3 ${PROJECT_SOURCE_DIR}/tests/unit/groups.py ${CMAKE_CURRENT_SOURCE_DIR}/test ${groups}
      RESULT_VARIABLE failed
    )
    if(failed)
      message(FATAL_ERROR "tests/unit/groups.py failed")
    endif()
    file(GLOB grouped ${groups}/*.cc)
    add_library(lib${name}-test SHARED EXCLUDE_FROM_ALL ${grouped})
    # A class of an included test may use an unnamed namespace of that test: each is in one group alone.
    target_compile_options(lib${name}-test PRIVATE -O0 -Wno-subobject-linkage)
    if(DLTRAIN_NS3_VERSION VERSION_GREATER_EQUAL 3.42)
      # It deprecates TestSuite::UNIT and TestCase::QUICK; 3.37 has not yet what replaces them.
      target_compile_options(lib${name}-test PRIVATE -Wno-deprecated-declarations)
    endif()
    if(${name}_test_header)
      target_precompile_headers(lib${name}-test PRIVATE ${${name}_test_header})
    endif()
    target_link_libraries(lib${name}-test PRIVATE lib${name} ${BLIB_LIBRARIES_TO_LINK})
    target_compile_definitions(lib${name}-test PRIVATE NS_TEST_SOURCEDIR="contrib/${name}/test")
    set_target_properties(lib${name}-test PROPERTIES OUTPUT_NAME ns3-${name}-test)
    set_property(GLOBAL APPEND PROPERTY DLTRAIN_NATIVE_TESTS lib${name}-test)
  endif()
endfunction()

# build_lib_example(NAME x SOURCE_FILES ... LIBRARIES_TO_LINK ...): bin/x, when it is asked for.
function(build_lib_example)
  cmake_parse_arguments(EXAMPLE "" "NAME" "SOURCE_FILES;LIBRARIES_TO_LINK" ${ARGN})
  add_executable(${EXAMPLE_NAME} EXCLUDE_FROM_ALL ${EXAMPLE_SOURCE_FILES})
  target_link_libraries(${EXAMPLE_NAME} PRIVATE ${EXAMPLE_LIBRARIES_TO_LINK})
endfunction()

# Programs: scratch/x.cc becomes bin/x. Ours need dltrain alone. A user's own script may include any module of ns-3; the
# linker keeps the libraries that the script uses.
function(add_installed_ns3_programs)
  file(GLOB sources CONFIGURE_DEPENDS scratch/*.cc)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(scratch_${name} EXCLUDE_FROM_ALL ${source})
    set_target_properties(scratch_${name} PROPERTIES OUTPUT_NAME ${name})
    target_link_libraries(scratch_${name} PRIVATE ${libdltrain})
    if(name MATCHES "^dl(plan|goodput)$") # they run dltrain
      add_dependencies(scratch_${name} scratch_dltrain)
    endif()
    file(STRINGS ${source} uses_ns3 REGEX "^#include [<\"]ns3/")
    if(uses_ns3)
      target_link_options(scratch_${name} PRIVATE -Wl,--as-needed)
      target_link_libraries(scratch_${name} PRIVATE ${libordinary} ${ns3_installed_libraries})
      target_compile_options(scratch_${name} PRIVATE -include ${PROJECT_SOURCE_DIR}/scripts/setup/user-log.h)
    endif()
  endforeach()
  if(DLTRAIN_TESTS)
    get_property(suites GLOBAL PROPERTY DLTRAIN_NATIVE_TESTS)
    add_executable(test-runner EXCLUDE_FROM_ALL tests/native/test-runner.cc)
    target_link_libraries(test-runner PRIVATE -Wl,--no-as-needed ${suites} ${libdltrain})
  endif()
endfunction()
