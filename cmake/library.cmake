# The library: object files by folder, then libcentra.so, libcentra.a and the internal archive that the tests link.

# Objects from sources; a folder that has no sources yet makes no target. Extra arguments are compile options.
function(centra_objects name sources)
    if(sources)
        add_library(${name} OBJECT ${sources})
        target_link_libraries(${name} PRIVATE centra-flags)
        target_compile_options(${name} PRIVATE ${ARGN})
        set_property(GLOBAL APPEND PROPERTY centra_object_targets ${name})
    endif()
endfunction()

file(GLOB_RECURSE base_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/base/*.c)
file(GLOB_RECURSE plain_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*.c)
# base is apart because the program has its own copy; the others because they are clients or compiled more than once
list(FILTER plain_sources EXCLUDE REGEX "/src/(base|app|serve|cuda|mpi|cpu/prims|cpu/portable|cpu/simd)/")
centra_filter_pictures(plain_sources)
if(NOT centra_onednn STREQUAL "library")
    list(FILTER plain_sources EXCLUDE REGEX "/src/cpu/onednn\\.c$")
else()
    set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/api/session.c APPEND PROPERTY COMPILE_DEFINITIONS CENTRA_HAVE_ONEDNN)
    list(APPEND centra_picture_libraries ${CENTRA_ONEDNN_LIBRARY})
    list(APPEND centra_picture_names dnnl)
endif()
file(GLOB real_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cpu/prims/*.c ${CMAKE_SOURCE_DIR}/src/cpu/portable/*.c)
file(GLOB simd_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cpu/simd/*.c)
if(NOT simd_sources)
    set(centra_isas "")
endif()

# roots that need not set errno are vectors of roots
set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/cpu/prims/optimise.c APPEND PROPERTY COMPILE_OPTIONS -fno-math-errno)

# where an installed library looks for its plug-ins, besides its own folder
set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/api/plugin.c APPEND PROPERTY
    COMPILE_DEFINITIONS CENTRA_PLUGIN_DIR="${CMAKE_INSTALL_FULL_LIBDIR}/centra")

set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/api/model_find.c APPEND PROPERTY
    COMPILE_DEFINITIONS CENTRA_MODEL_DIR="${CMAKE_INSTALL_FULL_DATADIR}/centra/models")

centra_objects(objects-base "${base_sources}")
centra_objects(objects-plain "${plain_sources}")
target_link_libraries(objects-plain PRIVATE centra-pictures)
foreach(real 32 64)
    centra_objects(objects-f${real} "${real_sources}" -DCENTRA_REAL=${real})
    foreach(isa ${centra_isas})
        centra_objects(objects-${isa}-f${real} "${simd_sources}" -DCENTRA_REAL=${real} ${centra_${isa}_flags})
    endforeach()
endforeach()
foreach(isa ${centra_isas})
    string(TOUPPER ${isa} upper)
    set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/cpu/dispatch.c APPEND PROPERTY COMPILE_DEFINITIONS CENTRA_HAVE_${upper})
endforeach()

get_property(object_targets GLOBAL PROPERTY centra_object_targets)
set(centra_object_files "")
foreach(target ${object_targets})
    list(APPEND centra_object_files $<TARGET_OBJECTS:${target}>)
endforeach()

add_library(centra-internal STATIC EXCLUDE_FROM_ALL ${centra_object_files})
target_link_libraries(centra-internal PUBLIC centra-flags centra-pictures)
set_target_properties(centra-internal PROPERTIES LINKER_LANGUAGE C)

add_library(centra-shared SHARED ${centra_object_files})
target_link_libraries(centra-shared PRIVATE centra-flags ${centra_picture_libraries})
target_include_directories(centra-shared INTERFACE
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_options(centra-shared PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/exports.map)
set_target_properties(centra-shared PROPERTIES OUTPUT_NAME centra EXPORT_NAME centra LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exports.map)

# The static library is one object whose hidden symbols are local: short internal names never meet a user's.
set(centra_archive ${CMAKE_BINARY_DIR}/libcentra.a)
add_custom_command(OUTPUT ${centra_archive}
    COMMAND ${CMAKE_LINKER} -r -o centra.o ${centra_object_files}
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden centra.o
    COMMAND ${CMAKE_COMMAND} -E rm -f ${centra_archive}
    COMMAND ${CMAKE_AR} qcs ${centra_archive} centra.o
    DEPENDS ${object_targets} ${centra_object_files}
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} COMMENT "Linking libcentra.a" COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(centra-archive ALL DEPENDS ${centra_archive})
add_library(centra-static STATIC IMPORTED GLOBAL)
set_target_properties(centra-static PROPERTIES IMPORTED_LOCATION ${centra_archive}
    INTERFACE_INCLUDE_DIRECTORIES ${CMAKE_SOURCE_DIR}/include
    INTERFACE_LINK_LIBRARIES "Threads::Threads;m;${CMAKE_DL_LIBS};${centra_picture_libraries}")
add_dependencies(centra-static centra-archive)
