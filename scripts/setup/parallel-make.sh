#!/bin/sh
# "cmake --build build" without -j runs a plain make, one compiler at a time. The top CMakeLists.txt
# makes this the make program; a -j given by the user comes later on the command line and wins.
exec make -j"$(nproc)" "$@"
