# The program: a client of centra.h with its own copy of base, linked statically so that it runs from where it lies.
file(GLOB_RECURSE app_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/app/*.c)
file(GLOB api_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/api/*.c)
if(app_sources AND api_sources)
    # Looked at in every build, since a commit changes no file that a compiler reads.
    set(commit_source ${CMAKE_BINARY_DIR}/commit.c)
    add_custom_target(centra-commit BYPRODUCTS ${commit_source} COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR}
        -DOUT=${commit_source} -DCENTRA_COMMIT=${CENTRA_COMMIT} -P ${CMAKE_SOURCE_DIR}/cmake/commit.cmake VERBATIM)
    set_source_files_properties(${commit_source} PROPERTIES GENERATED ON)
    add_executable(centra ${app_sources} ${commit_source} $<TARGET_OBJECTS:objects-base> $<TARGET_OBJECTS:objects-serve>)
    add_dependencies(centra centra-commit)
    target_link_libraries(centra PRIVATE centra-static centra-flags centra-serve)
    target_compile_definitions(centra PRIVATE CENTRA_BUILD_TYPE="${CMAKE_BUILD_TYPE}")
endif()
