# What "cmake --install --component dltrain" writes: PREFIX/bin, PREFIX/lib/dltrain.
#
# DT_RPATH, not the linker's own choice of DT_RUNPATH: in a wheel and a tarball it also holds for the libraries of Debian
# that lie beside ours and have none.
set(libraries ${libdltrain} ${librdma} ${libordinary} dltrain_reports dltrain_scenarios dltrain_collectives dltrain_topologies
              dltrain-part-tcp)
set(programs "")
file(GLOB sources CONFIGURE_DEPENDS scratch/*.cc)
foreach(source ${sources})
  get_filename_component(name ${source} NAME_WE)
  list(APPEND programs scratch_${name})
endforeach()
list(REMOVE_ITEM programs scratch_timeline) # for scripts/timeline alone

set_target_properties(${libraries} scratch_timeline PROPERTIES INSTALL_RPATH "$ORIGIN")
set_target_properties(${programs} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/dltrain")
foreach(target ${libraries} ${programs} scratch_timeline)
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endforeach()
add_custom_target(dltrain-package DEPENDS ${libraries} ${programs} scratch_timeline)
install(TARGETS ${programs} RUNTIME DESTINATION bin COMPONENT dltrain)
install(TARGETS ${libraries} LIBRARY DESTINATION lib/dltrain COMPONENT dltrain)
install(TARGETS scratch_timeline RUNTIME DESTINATION lib/dltrain COMPONENT dltrain)
