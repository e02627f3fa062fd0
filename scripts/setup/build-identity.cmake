# Writes build-identity.cc: the commit of the sources, and ns-3's release, for --version.
#
#     cmake -D TOP=clone -D FILE=build-identity.cc [-D NS3=3.37] -P build-identity.cmake
#
# Without git, or in an archive, the commit is "unknown". Changes are those of what programs are made of.
cmake_minimum_required(VERSION 3.18)
set(sources CMakeLists.txt collectives contrib reports scenarios scratch topologies)
set(ENV{GIT_OPTIONAL_LOCKS} 0)
set(commit unknown)
execute_process(
  COMMAND git -C ${TOP} rev-parse --show-prefix --short=8 HEAD
  OUTPUT_VARIABLE said RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
)
# (An archive that was unpacked inside another repository has a prefix: that repository's commit is not ours.)
if(NOT failed AND said MATCHES "^\n([0-9a-f]+)$")
  set(commit ${CMAKE_MATCH_1})
  execute_process(
    COMMAND git -C ${TOP} status --porcelain --untracked-files=no -- ${sources} OUTPUT_VARIABLE changes ERROR_QUIET
  )
  if(changes)
    string(APPEND commit " with changes")
  endif()
endif()
file(
  CONFIGURE OUTPUT ${FILE} @ONLY
  CONTENT "#include \"scenarios/installation/build-identity.h\"
const char* const scenario::BUILD_COMMIT = \"@commit@\";
const char* const scenario::BUILD_NS3 = \"@NS3@\";
"
)
